"""The formulas written out again give what the package computes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation import compare_detection, detection_scores, rejection_curve
from labelwise_lab.paper.audit.formulas import (
    Check,
    all_scores,
    area,
    auroc,
    compare_drops,
    compare_runs,
    complement,
    delong,
    entropy,
    opened,
    read_probs,
)
from labelwise_lab.paper.holdout_drops import drops
from labelwise_lab.paper.holdout_numbers import table_of
from labelwise_lab.paper.records import over_runs

PROBS = np.random.default_rng(0).dirichlet([0.3] * 4, (5, 200))


def test_measures() -> None:
    scores = all_scores(PROBS)
    for measure, u in {
        "label-wise entropy": lw.decompose(lw.Ensemble(PROBS)).sum(),
        "variance": lw.decompose(lw.Ensemble(PROBS), "squared").sum(),
        "entropy": lw.joint.decompose(lw.Ensemble(PROBS)),
    }.items():
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_allclose(scores[measure, part], getattr(u, part), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("log", "log"),
        ("squared", "squared"),
        ("spherical", "spherical"),
        ("zero-one", "zero_one"),
        ("cost 1 : 9", lw.CostLoss(1, 9)),
    ],
)
def test_entropies(name: str, loss: object) -> None:
    expected = lw.decompose(lw.Ensemble(PROBS), loss).total
    mean = PROBS.mean(axis=0)
    np.testing.assert_allclose(
        entropy(name, mean, complement(mean)), expected, rtol=1e-9, atol=1e-15
    )


def test_area_and_auroc_with_ties() -> None:
    rng = np.random.default_rng(1)
    score, correct = rng.integers(0, 7, 300) / 7.0, rng.random(300) < 0.7
    assert area(score, correct) == pytest.approx(
        rejection_curve(score, correct=correct).area, abs=1e-12
    )
    assert auroc(score, score + 0.1) == pytest.approx(
        float(detection_scores(score, score + 0.1).auroc), abs=1e-12
    )


def test_delong_with_ties() -> None:
    rng = np.random.default_rng(2)
    inside = rng.integers(0, 9, (2, 8000)) / 9.0
    outside = rng.integers(2, 12, (2, 5000)) / 9.0
    expected = compare_detection(inside[0], outside[0], inside[1], outside[1])
    value, reach = delong(list(inside), list(outside))
    assert (value, value - reach, value + reach) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-5
    )  # the package has Student's t


def test_files_are_opened_or_named(tmp_path) -> None:
    path = tmp_path / "run-0" / "a.npz"
    path.parent.mkdir()
    np.savez(path, log_probs=np.log(PROBS))
    np.testing.assert_allclose(read_probs(path, 2), PROBS[:2], rtol=1e-5)
    message = r"^run-0/a\.npz: y_true is not a file in the archive$"
    with pytest.raises(ValueError, match=message), opened(path) as file:
        file["y_true"]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"^run-0/a\.npz: File is not a zip file$"):
        read_probs(path)
    path.write_text("x")
    with pytest.raises(ValueError, match=r"^run-0/a\.npz: it is not a \.npz file$"):
        read_probs(path)


def test_runs_without_a_number_have_no_mean() -> None:
    cell = over_runs([0.5, np.nan])
    found = list(compare_runs("x", cell, [0.5, np.nan]))
    assert [check.name for check in found] == [
        "x, run 0",
        "x, run 1",
        "x, mean",
        "x, sd",
        "x, low",
        "x, high",
    ]
    assert all(check.stored is None and np.isnan(check.recomputed) for check in found[2:])


def differ(checks: Iterable[Check]) -> list[str]:
    return [check.name for check in checks if abs(check.stored - check.recomputed) > 1e-9]


def test_comparisons_find_what_differs() -> None:
    cell = over_runs([1.0, 2.0, 4.0]) | {"sd": 1.5}
    assert differ(compare_runs("x", cell, [1.0, 2.0, 4.0])) == ["x, sd"]
    before, after = (
        np.array([[0.4, 0.2, 0.1], [0.3, 0.5, 0.1]]),
        np.array([[0.1, 0.1, 0.2], [0.2, 0.1, 0.05]]),
    )
    found = drops(before, after)
    table = table_of(found)
    assert differ(compare_drops("", table, before, after, found.selected)) == []
    table["drop"]["relative"]["others"]["mean"] += 0.1
    assert differ(compare_drops("", table, before, after, found.selected)) == ["relative, others"]
