"""The table of failure detection."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.dense.scores import SCORES, detect_segmentation_failures


def rows(n: int) -> list[dict]:
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        dice = float(rng.random())
        scores = {name: float(rng.random()) for name in SCORES}
        scores |= {"eu_per_volume": 1 - dice, "pairwise_dice": dice}
        found.append({"case": str(i), "structure": "liver", "dice": dice} | scores)
    return found


def test_areas_are_those_of_brute_force() -> None:
    cases = rows(30)
    table = detect_segmentation_failures(cases)
    assert [entry["score"] for entry in table] == list(SCORES)
    risk = np.array([1 - row["dice"] for row in cases])
    for entry in table:
        score = np.array([SCORES[entry["score"]] * row[entry["score"]] for row in cases])
        kept = risk[np.argsort(score)]
        area = np.mean([kept[:n].mean() for n in range(1, 31)])
        assert entry["aurc"] == pytest.approx(area)
        assert entry["random"] == pytest.approx(risk.mean())
        assert entry["low"] <= entry["aurc"] <= entry["high"]
        assert entry["cases"] == 30
    best = {entry["score"]: entry["aurc"] for entry in table}
    assert best["eu_per_volume"] == best["pairwise_dice"] == min(best.values())


def test_few_cases_and_no_truth_have_no_table() -> None:
    assert detect_segmentation_failures(rows(4)) == []
    unlabeled = [{key: value for key, value in row.items() if key != "dice"} for row in rows(9)]
    assert detect_segmentation_failures(unlabeled) == []
