"""Numbers of several runs as records."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.typing import Estimate
from labelwise_lab.paper.records import (
    RunNumbers,
    distinct,
    estimate,
    over_runs,
    pick,
    select,
)

RECORDS = [
    {"set": "mnist", "part": "total", "mean": 1.0},
    {"set": "mnist", "part": "epistemic", "mean": 2.0},
    {"set": "kmnist", "part": "total", "mean": 3.0},
]


def test_records_are_found_by_their_fields() -> None:
    assert [each["mean"] for each in select(RECORDS, set="mnist")] == [1.0, 2.0]
    assert select(RECORDS, set="svhn") == []
    assert pick(RECORDS, set="kmnist", part="total")["mean"] == 3.0
    assert distinct(RECORDS, "set") == ["mnist", "kmnist"]
    for fields, n in (({"set": "mnist"}, 2), ({"color": "red"}, 0)):
        with pytest.raises(KeyError, match=f"{n} records instead of one have"):
            pick(RECORDS, **fields)


def test_numbers_over_runs() -> None:
    runs = RunNumbers()
    for value in (1.0, 3.0):
        runs.add("auroc", value, set="mnist", part="total")
        runs.add("accuracy", 2.0)
    found = runs.over_runs()
    (auroc,) = found["auroc"]
    assert (auroc["set"], auroc["part"], auroc["mean"]) == ("mnist", "total", 2)
    assert auroc["sd"] == pytest.approx(np.sqrt(2))
    assert found["accuracy"]["runs"] == [2.0, 2.0]
    assert over_runs([0.5]) == {"mean": 0.5, "sd": None, "low": None, "high": None, "runs": [0.5]}


@pytest.mark.parametrize("runs", [[np.nan], [0.5, np.nan, 0.7]])
def test_a_run_without_the_number_leaves_no_mean(runs) -> None:
    """The possible gain of a run without errors, say: other runs must not be lost with it."""
    found = over_runs(runs)
    assert [found[key] for key in ("mean", "sd", "low", "high")] == [None] * 4
    np.testing.assert_array_equal(found["runs"], runs)


def test_an_estimate_without_an_interval() -> None:
    assert estimate(Estimate(0.5)) == {"value": 0.5, "low": None, "high": None}
