"""The stored comparison with Table 1 stands, and a changed number in each part of it is found."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from labelwise_lab.paper.audit import TOLERANCE
from labelwise_lab.paper.audit.fingerprint import fingerprint

FOLDER = Path(__file__).parents[3] / "results" / "fingerprint"


@pytest.fixture(scope="module")
def stored():
    found = json.loads((FOLDER / "fingerprint.json").read_text(encoding="utf-8"))
    numbers = found["numbers"]
    numbers["by members"] = {
        key: cell for key, cell in numbers["by members"].items() if key.endswith("| 5")
    }  # the others take long
    found["about"]["shuffles"] = 1
    return found


def wrong(stored, numbers) -> set[str]:
    checks = [
        check
        for check in fingerprint(FOLDER, numbers, stored["about"])
        if "members, " not in check[0]
    ]
    assert len(checks) > 100
    return {
        name for name, a, b in checks if abs(a - b) > (0.05 if "distance" in name else TOLERANCE)
    }


def test_it_stands(stored) -> None:
    assert wrong(stored, stored["numbers"]) == set()


def test_changed_numbers_are_found(stored) -> None:
    numbers = copy.deepcopy(stored["numbers"])
    numbers["trainings"]["fashion-mnist-code"]["mnist | variance"] += 1e-4
    numbers["distance"]["fashion-mnist-code"]["kmnist | entropy"] += 0.1
    numbers["ours − paper's"]["fashion-mnist-paper"]["mnist | entropy"]["low"] -= 1e-4
    assert wrong(stored, numbers) == {
        "fashion-mnist-code, mnist | variance",
        "fashion-mnist-code, distance of kmnist | entropy",
        "fashion-mnist-paper, ours − paper's mnist | entropy, low",
    }
