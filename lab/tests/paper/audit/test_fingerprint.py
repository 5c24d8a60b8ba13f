"""The stored comparison with Table 1 stands, and a changed number in each part of it is found."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from labelwise_lab.paper.audit.fingerprint import fingerprint
from labelwise_lab.paper.audit.formulas import select

FOLDER = Path(__file__).parents[3] / "results" / "fingerprint"


@pytest.fixture(scope="module")
def stored():
    found = json.loads((FOLDER / "fingerprint.json").read_text(encoding="utf-8"))
    numbers = found["numbers"]
    numbers["by members"] = select(numbers["by members"], members=5)  # the others take long
    found["about"]["shuffles"] = 1
    return found


def wrong(stored, numbers) -> set[str]:
    checks = [
        check
        for check in fingerprint(FOLDER, numbers, stored["about"])
        if "members, " not in check.name
    ]
    assert len(checks) > 100
    return {
        check.name for check in checks if abs(check.stored - check.recomputed) > check.tolerance
    }


def test_it_stands(stored) -> None:
    assert wrong(stored, stored["numbers"]) == set()


def test_changed_numbers_are_found(stored) -> None:
    numbers = copy.deepcopy(stored["numbers"])
    code = select(numbers["trainings"], training="fashion-mnist-code", minus=None)
    (level,) = select(code, set="mnist", measure="variance")
    level["value"] += 1e-4
    (level,) = select(code, set="kmnist", measure="entropy")
    level["distance"] += 0.1
    gaps = select(numbers["ours − paper's"], training="fashion-mnist-paper")
    gaps[0]["low"] -= 1e-4
    assert wrong(stored, numbers) == {
        "fashion-mnist-code, mnist, variance",
        "fashion-mnist-code, kmnist, entropy, distance",
        "fashion-mnist-paper, ours − paper's mnist, entropy, low",
    }
