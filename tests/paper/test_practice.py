"""The sentences for practice follow the numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labelwise.paper.practice import practice
from labelwise.paper.provenance import Results

ROOT = Path(__file__).parents[2]


def test_the_stored_results_give_five_sentences() -> None:
    lines = list(practice(Results(ROOT / "results", ROOT / "docs")))
    assert [line[:3] for line in lines] == ["1. ", "2. ", "3. ", "4. ", "5. "]


def test_without_results_there_are_none(tmp_path) -> None:
    assert list(practice(Results(tmp_path, tmp_path))) == []


@pytest.mark.parametrize(("svhn", "words"), [(0.9, "EU was highest on each of ours"), (0.5, "none is always best")])
def test_the_best_score_is_named_only_if_it_always_is(tmp_path, svhn, words) -> None:
    for name, other, eu in (("fashion-mnist-paper", "mnist", 0.9), ("cifar10-paper", "svhn", svhn)):
        (tmp_path / name).mkdir()
        values = {"epistemic": eu, "total": 0.8, "aleatoric": 0.7}
        auroc = {f"{other} | label-wise entropy | {part}": {"mean": x} for part, x in values.items()}
        (tmp_path / name / "ood.json").write_text(json.dumps({"about": {"runs": 1}, "numbers": {"auroc": auroc}}))
    (line,) = practice(Results(tmp_path, tmp_path))
    assert words in line
    assert f"SVHN EU {svhn:.3f}, TU 0.800, AU 0.700, 1 run" in line
