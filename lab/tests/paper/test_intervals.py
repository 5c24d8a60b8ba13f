"""Intervals behind the verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from labelwise_lab.paper.intervals import excludes_zero, simultaneous, welch


def test_the_difference_from_the_paper_has_welchs_interval() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.85, 0.04, 4), rng.normal(0.89, 0.02, 5)
    found = welch(list(ours), (theirs.mean(), theirs.std()))
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    assert [found["mean"], found["low"], found["high"]] == pytest.approx(
        [ours.mean() - theirs.mean(), expected.low, expected.high]
    )


def test_one_run_is_compared_with_the_spread_of_theirs() -> None:
    found = welch([0.8], (0.9, 0.02), count=5)
    assert found["mean"] == pytest.approx(-0.1)
    for end in (
        "low",
        "high",
    ):  # where a t-test of one against five, all of the same deviation, gives p = 0.05
        assert stats.ttest_ind_from_stats(
            0.8 - found[end], 0.0, 1, 0.9, 0.02 * 1.25**0.5, 5
        ).pvalue == pytest.approx(0.05)
    wider = welch([0.8], (0.9, 0.02), family=3)
    assert wider["low"] < found["low"] < found["high"] < wider["high"]


def test_simultaneous_intervals_miss_in_at_most_one_of_twenty_families() -> None:
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(1500):
        cells = [{"runs": x, "mean": x.mean()} for x in rng.normal(size=(6, 5))]
        found = [simultaneous(cell, 6) for cell in cells]
        missed += any(cell["low"] > 0 or cell["high"] < 0 for cell in found)
    assert 0.03 < missed / 1500 < 0.065  # independent members of the family: just below 0.05
    assert simultaneous({"runs": [1.0], "mean": 1.0}, 3)["low"] is None


def test_without_their_deviation_they_vary_like_ours() -> None:
    """The interval covers the difference of two groups with the same deviation as often as it says,
    rounding included.
    """
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(2000):
        ours, theirs = rng.normal(0.9, 0.002, 4), rng.normal(0.89, 0.002, 5)
        found = welch(list(ours), (round(theirs.mean(), 3), None), rounding=0.001**2 / 12)
        covered += found["low"] <= 0.01 <= found["high"]
    assert 0.935 < covered / 2000 < 0.975
    plain, rounded = (welch([0.1, 0.2], (0.0, None), rounding=x) for x in (0.0, 1e-4))
    assert plain["mean"] == rounded["mean"]
    assert rounded["high"] > plain["high"]


def test_what_excludes_zero() -> None:
    ends = [(-1, 1), (1, 2), (-2, -1), (None, None)]
    assert [excludes_zero({"low": low, "high": high}) for low, high in ends] == [
        False,
        True,
        True,
        False,
    ]
