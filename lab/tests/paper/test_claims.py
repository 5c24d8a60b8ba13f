"""Verdicts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labelwise_lab.paper.claims import (
    HELD,
    NOT_HELD,
    NOT_REFUTED,
    UNTESTED,
    _small,
    change,
    claims,
    claims_page,
    unexplained,
)
from labelwise_lab.paper.provenance import Results


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.83, 1.20, "0 % [−17 %, +20 %]"),
        (1.05, 1.45, "+23 % [+5 %, +45 %]"),
        (0.60, 0.90, "−27 % [−40 %, −10 %]"),
    ],
)
def test_changes_in_percent(low, high, words) -> None:
    mean = (np.log(low) + np.log(high)) / 2
    assert change({"mean": mean, "low": np.log(low), "high": np.log(high)}) == words


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((-0.5, 0.5), HELD),
        ((1.5, 2.0), NOT_HELD),
        ((-2.0, -1.5), NOT_HELD),
        ((0.5, 1.5), NOT_REFUTED),
        ((None, None), UNTESTED),
    ],
)
def test_what_is_small_is_decided_by_intervals(ends, verdict) -> None:
    assert (
        _small([{"low": -0.1, "high": 0.1}, dict(zip(("low", "high"), ends, strict=True))], 1.0)
        == verdict
    )


@pytest.mark.parametrize(
    ("n", "low", "high", "verdict"),
    [
        (50, -0.4, -0.1, HELD),
        (50, -0.05, 0.2, NOT_HELD),  # a drop of a tenth is excluded
        (50, -0.4, 0.2, NOT_REFUTED),  # not significant, but not excluded either
        (5, -0.05, 0.2, UNTESTED),
    ],
)
def test_no_effect_is_not_what_is_not_significant(tmp_path, n, low, high, verdict) -> None:
    folder = tmp_path / "holdout-fashion-mnist-paper"
    folder.mkdir()
    effect = {
        "arm": "swap",
        "control": "no-swap",
        "among": None,
        "runs": [0.0] * n,
        "mean": (low + high) / 2,
        "low": low,
        "high": high,
        "detectable": 0.2,
    }
    (folder / "holdout.json").write_text(
        json.dumps({"about": {"runs": n}, "numbers": {"effect": [effect]}})
    )
    (found,) = (
        claim
        for claim in claims(Results(tmp_path, tmp_path))
        if claim.words.startswith("FashionMNIST: the EU of the class")
    )
    assert found.verdict == verdict


def test_the_figure_of_the_paper_is_judged_on_its_own_data(tmp_path) -> None:
    """Fig. 3 is CIFAR-10 and total uncertainty; a single run gives no verdict, and another part
    does not matter.
    """
    for data, runs in (("cifar10", 1), ("fashion-mnist", 3)):
        folder = tmp_path / f"{data}-paper"
        folder.mkdir()

        def cell(x: float, runs: int = runs) -> dict[str, object]:
            values = [x + 1e-5 * r for r in range(runs)]
            ends = (None, None) if runs == 1 else (x - 1e-4, x + 1e-4)
            return {
                "mean": float(np.mean(values)),
                "low": ends[0],
                "high": ends[1],
                "runs": values,
                "sd": None,
            }

        parts = ("total", "aleatoric", "epistemic")
        numbers = {
            "accuracy": cell(0.9),
            "area": [{"measure": "label-wise entropy", "part": "total"} | cell(0.99)],
            "area difference": [
                {"measure": "variance", "minus": "entropy", "part": part}
                | cell(0.01 if part == "epistemic" else 0.0002)
                for part in parts
            ],
            "monotonicity": [{"measure": "variance", "part": part} | cell(0.999) for part in parts],
        }
        (folder / "arc.json").write_text(json.dumps({"about": {"runs": runs}, "numbers": numbers}))
    cifar, fashion = (
        claim for claim in claims(Results(tmp_path, tmp_path)) if "nearly coincide" in claim.words
    )
    assert (cifar.verdict, fashion.verdict) == (UNTESTED, NOT_HELD)
    assert cifar.evidence == "1 run; the largest difference of areas is 0.00020"
    assert fashion.evidence.startswith("3 runs; the largest difference of areas is 0.01001 [")


@pytest.mark.parametrize(("mean", "verdict"), [(0.0029, HELD), (0.0048, NOT_HELD)])
def test_the_next_highest_drop_is_compared_with_the_printed_one(tmp_path, mean, verdict) -> None:
    (tmp_path / "published").mkdir()
    numbers = {"drop": {"absolute": {"next highest": {"mean": mean, "sd": 0.001}}}}
    (tmp_path / "published" / "fmnist.json").write_text(
        json.dumps({"about": {"runs": 5}, "numbers": numbers})
    )
    (found,) = (
        claim
        for claim in claims(Results(tmp_path, tmp_path))
        if claim.words.startswith("FashionMNIST: the next highest")
    )
    assert found.verdict == verdict
    assert ("instead of classes" in found.evidence) == (verdict == NOT_HELD)


FRESH = {"low": -0.1, "high": 0.1, "training": "sgd"}


@pytest.mark.parametrize(
    ("candidates", "gaps", "words"),
    [
        ([], [], "No training that we tried explains"),
        (["sgd"], [FRESH | {"training": "other"}], "which only fresh runs can test"),
        (["sgd"], [FRESH, FRESH | {"low": 0.01}], "Fresh runs refute the one candidate"),
        (["sgd"], [FRESH], "do not refute it"),
    ],
)
def test_the_gap_is_unexplained_until_fresh_runs_judge_a_candidate(
    tmp_path, candidates, gaps, words
) -> None:
    (tmp_path / "fingerprint").mkdir()
    numbers = {"candidates": candidates, "ours − paper's": gaps}
    (tmp_path / "fingerprint" / "fingerprint.json").write_text(
        json.dumps({"about": {}, "numbers": numbers})
    )
    (line,) = unexplained(Results(tmp_path, tmp_path))
    assert words in line


def test_what_could_not_be_tested_is_listed_by_itself(tmp_path) -> None:
    text = claims_page(Results(tmp_path, tmp_path))
    assert "0 could be tested here" in text
    tested, untested = text.split("## Could not be tested")
    assert "Table 1" not in tested
    assert (
        "| FashionMNIST against MNIST and KMNIST (Table 1) | `labelwise-lab reproduce" in untested
    )
