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


def test_it_stands_and_changed_numbers_are_found(stored) -> None:
    """All but the changed numbers are those that were recomputed, and so are the changed ones
    without their changes.
    """
    numbers = copy.deepcopy(stored["numbers"])
    code = select(numbers["trainings"], training="fashion-mnist-code", minus=None)
    (level,) = select(code, set="mnist", measure="variance")
    level["value"] += 1e-4
    (level,) = select(code, set="kmnist", measure="entropy")
    level["distance"] += 0.1
    gaps = select(numbers["ours − paper's"], training="fashion-mnist-paper")
    gaps[0]["low"] -= 1e-4
    changes = {
        "fashion-mnist-code, mnist, variance": 1e-4,
        "fashion-mnist-code, kmnist, entropy, distance": 0.1,
        "fashion-mnist-paper, ours − paper's mnist, entropy, low": -1e-4,
    }
    checks = [
        check
        for check in fingerprint(FOLDER, numbers, stored["about"])
        if "members, " not in check.name
    ]
    assert len(checks) > 100
    wrong = {
        check.name for check in checks if abs(check.stored - check.recomputed) > check.tolerance
    }
    assert wrong == set(changes)
    for check in checks:
        unchanged = check.stored - changes.get(check.name, 0)
        assert abs(unchanged - check.recomputed) <= check.tolerance + 1e-12, check.name
