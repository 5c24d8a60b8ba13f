"""The sentences for practice follow the numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labelwise_lab.paper.practice import practice
from labelwise_lab.paper.provenance import Results

ROOT = Path(__file__).parents[2]


def test_the_stored_results_give_five_sentences() -> None:
    lines = list(practice(Results(ROOT / "results", ROOT.parent / "docs" / "lab")))
    assert [line[:3] for line in lines] == ["1. ", "2. ", "3. ", "4. ", "5. "]


def test_without_results_there_are_none(tmp_path) -> None:
    assert list(practice(Results(tmp_path, tmp_path))) == []


@pytest.mark.parametrize(
    ("svhn", "words"), [(0.9, "EU was highest on each of ours"), (0.5, "none is always best")]
)
def test_the_best_score_is_named_only_if_it_always_is(tmp_path, svhn, words) -> None:
    for name, other, eu in (("fashion-mnist-paper", "mnist", 0.9), ("cifar10-paper", "svhn", svhn)):
        (tmp_path / name).mkdir()
        values = {"epistemic": eu, "total": 0.8, "aleatoric": 0.7}
        auroc = [
            {"set": other, "measure": "label-wise entropy", "part": part, "mean": x}
            for part, x in values.items()
        ]
        (tmp_path / name / "ood.json").write_text(
            json.dumps({"about": {"runs": 1}, "numbers": {"auroc": auroc}})
        )
    (line,) = practice(Results(tmp_path, tmp_path))
    assert line.startswith("1. To detect")
    assert words in line
    assert f"SVHN EU {svhn:.3f}, TU 0.800, AU 0.700, 1 run" in line


def losses(
    tmp_path: Path, *, squared: float = 0.99, epistemic: float = 0.98, cost: float = 0.97
) -> None:
    """Five runs on FashionMNIST that vary little."""
    levels = {
        ("log", "total"): 0.99,
        ("log", "epistemic"): epistemic,
        ("squared", "total"): squared,
    }
    levels |= {(loss, "total"): 0.99 for loss in ("spherical", "zero-one")} | {
        (f"cost {ratio}", "total"): cost for ratio in ("1 : 9", "9 : 1")
    }
    noise = [0.0, 1e-5, -1e-5, 2e-5, -2e-5]
    value = [
        {"task": "rejection", "loss": loss, "part": part}
        | {"mean": x, "runs": [x + e * (1 + i) for e in noise]}
        for i, ((loss, part), x) in enumerate(levels.items())
    ]
    log = value[0]
    difference = [
        cell
        | {
            "mean": cell["mean"] - log["mean"],
            "runs": [a - b for a, b in zip(cell["runs"], log["runs"], strict=True)],
        }
        for cell in value
        if cell["part"] == "total"
    ]
    (tmp_path / "fashion-mnist-paper").mkdir()
    stored = {"about": {"runs": 5}, "numbers": {"value": value, "difference from log": difference}}
    (tmp_path / "fashion-mnist-paper" / "losses.json").write_text(json.dumps(stored))


def test_words_on_rejection_follow_the_intervals(tmp_path) -> None:
    losses(tmp_path)
    (line,) = practice(Results(tmp_path, tmp_path))
    assert (
        "not by epistemic uncertainty alone: its area under the curve is larger by 0.0100 [" in line
    )
    assert "differ by less than 0.001 in area" in line
    assert "Unequal costs reject errors worse (1 : 9 by 0.0200 [" in line


def test_what_the_intervals_do_not_support_is_not_said(tmp_path) -> None:
    losses(tmp_path, squared=0.95, cost=0.995)
    (line,) = practice(Results(tmp_path, tmp_path))
    assert "differ by less" not in line
    assert "Unequal costs" not in line
    (tmp_path / "other").mkdir()
    losses(tmp_path / "other", epistemic=0.991)
    assert list(practice(Results(tmp_path / "other", tmp_path))) == []


@pytest.mark.parametrize(
    ("low", "high", "n", "words"),
    [
        (-0.05, 0.2, 50, "does not show"),
        (-0.4, -0.1, 50, "lower it"),
        (-0.4, 0.2, 50, None),
        (None, None, 1, None),
        (-0.05, 0.2, 2, None),
    ],
)
def test_advice_on_new_data_needs_a_verdict(tmp_path, low, high, n, words) -> None:
    (tmp_path / "holdout-fashion-mnist-paper").mkdir()
    effect = {"arm": "swap", "control": "no-swap", "among": None}
    effect |= {"mean": 0.0, "low": low, "high": high, "runs": [0.0] * n, "detectable": 0.2}
    stored = {"about": {"runs": n}, "numbers": {"effect": [effect]}}
    (tmp_path / "holdout-fashion-mnist-paper" / "holdout.json").write_text(json.dumps(stored))
    lines = list(practice(Results(tmp_path, tmp_path)))
    assert len(lines) == (words is not None)
    assert words is None or words in lines[0]


@pytest.mark.parametrize(
    ("two", "words"),
    [(0.72, "the measure mattered more"), (0.5, "the number of members mattered more")],
)
def test_members_or_measure(tmp_path, two, words) -> None:
    (tmp_path / "cifar10-paper").mkdir()
    by = [
        {"set": "svhn", "measure": m, "members": size, "value": x + shift}
        for size, x in ((2, two), (5, 0.73))
        for m, shift in (("variance", 0.0), ("label-wise entropy", -0.02), ("entropy", 0.0))
    ]
    stored = {"about": {"runs": 1}, "numbers": {"auroc": [], "auroc by members": by}}
    (tmp_path / "cifar10-paper" / "ood.json").write_text(json.dumps(stored))
    (line,) = practice(Results(tmp_path, tmp_path))
    assert words in line
    assert "up to 0.020 between measures" in line
