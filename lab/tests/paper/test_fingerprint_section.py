"""What the page says of the gap to the paper follows from the numbers."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from labelwise_lab.paper.fingerprint import COMPARED, Quantity
from labelwise_lab.paper.fingerprint_section import gap_to_the_paper
from labelwise_lab.paper.provenance import Results
from labelwise_lab.paper.records import select

ROOT = Path(__file__).parents[2]
STORED = json.loads(
    (ROOT / "results" / "fingerprint" / "fingerprint.json").read_text(encoding="utf-8")
)
CANDIDATE = "fashion-mnist-code"


def section(folder: Path, numbers: dict[str, Any]) -> str:
    (folder / "fingerprint").mkdir()
    (folder / "fingerprint" / "fingerprint.json").write_text(
        json.dumps({**STORED, "numbers": numbers})
    )
    return "\n".join(gap_to_the_paper(Results(folder, folder)))


@pytest.fixture
def numbers() -> dict[str, Any]:
    return {**copy.deepcopy(STORED["numbers"]), "candidates": [CANDIDATE]}


KMNIST = Quantity("kmnist", "entropy")


def gaps(
    training: str, low: float, high: float, kmnist: tuple[float, float] | None = None
) -> list[dict[str, Any]]:
    """The same interval for all quantities, but perhaps for the level of KMNIST."""
    found = []
    for quantity in COMPARED:
        ends = kmnist if kmnist and quantity == KMNIST else (low, high)
        interval = {"mean": sum(ends) / 2, "low": ends[0], "high": ends[1]}
        about = {"training": training, "seeds": [1, 2, 3, 4]} | quantity._asdict()
        found.append(about | interval)
    return found


def test_nothing_stored(tmp_path) -> None:
    assert list(gap_to_the_paper(Results(tmp_path, tmp_path))) == [
        "*Not run here.* `labelwise-lab reproduce fingerprint`"
    ]


def test_without_a_candidate_the_gap_is_unexplained(tmp_path, numbers) -> None:
    text = section(tmp_path, {**numbers, "candidates": []})
    assert "the gap is **unexplained**" in text
    assert "candidate" not in text


def test_one_run_makes_a_candidate_and_no_more(tmp_path, numbers) -> None:
    numbers["ours − paper's"] = select(numbers["ours − paper's"], training="fashion-mnist-paper")
    text = section(tmp_path, numbers)
    assert "The first run of *as the published code (Adam, batches of 64, not shuffled)*" in text
    assert "not an explanation until fresh runs confirm it" in text
    assert "refute" not in text


def test_fresh_runs_refute_a_candidate(tmp_path, numbers) -> None:
    numbers["ours − paper's"] += gaps(CANDIDATE, -0.01, 0.02, kmnist=(0.01, 0.03))
    text = section(tmp_path, numbers)
    assert "The fresh runs **refute** it, in KMNIST entropy: the gap is **unexplained**." in text
    assert "| 0.020 [0.010, 0.030] |" in text


def test_fresh_runs_do_not_refute_a_candidate(tmp_path, numbers) -> None:
    own = gaps("fashion-mnist-paper", -0.1, 0.1, kmnist=(-0.03, -0.01))
    numbers["ours − paper's"] = own + gaps(CANDIDATE, -0.01, 0.01)
    numbers["candidate − protocol paper"] = gaps(CANDIDATE, -0.01, 0.05, kmnist=(0.01, 0.03))
    text = section(tmp_path, numbers)
    assert "do **not refute** it" in text
    assert (
        "4 fresh runs would miss a gap of up to 0.010 in MNIST's, 0.010 in KMNIST's level" in text
    )
    assert "It differs from protocol “paper” in KMNIST entropy 0.0200 [0.0100, 0.0300]." in text
    assert "does not follow" in text
    assert "unexplained" not in text
