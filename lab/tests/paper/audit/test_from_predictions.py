"""Every experiment with stored predictions has a check; those of single results are in test_init.py
and cli/test_reproduce.py.
"""

from __future__ import annotations

from pathlib import Path

from labelwise_lab.cli.reproduce import DEFAULT_DATA
from labelwise_lab.paper.audit.from_predictions import CHECKS

ROOT = Path(__file__).parents[3]


def test_every_experiment_has_a_check() -> None:
    assert set(CHECKS) == set(DEFAULT_DATA) - {"human"} | {"fingerprint"}


def test_every_stored_result_has_one() -> None:
    stored = {
        path.stem for path in (ROOT / "results").glob("*/*.json") if path.parent.name != "published"
    }
    assert stored == set(CHECKS) | {"human"}
