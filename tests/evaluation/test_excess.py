"""Realized against expected: the interval is Wilson's for shares, and covers where the outcome that
matters is rare.
"""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.evaluation import clustered_mean
from labelwise.evaluation._excess import mean_excess


def test_for_shares_it_is_wilsons_interval() -> None:
    from scipy import stats

    right = np.repeat([1.0, 0.0], [1970, 30])
    found = mean_excess(right, np.full(2000, 0.98), bounds=(0, 1))
    wilson = stats.binomtest(1970, 2000).proportion_ci(0.95, "wilson")
    t = clustered_mean(right - 0.98)
    assert found.value == pytest.approx(0.005)
    assert found.low == pytest.approx(
        min(wilson.low - 0.98, t.low), abs=2e-5
    )  # Student's t instead of the normal quantile
    assert found.high == pytest.approx(max(wilson.high - 0.98, t.high), abs=2e-5)


def test_what_was_never_seen_may_still_happen() -> None:
    """50 cases without a cost, where 1 in 50 was expected to cost 20: a t-interval has no width."""
    found = mean_excess(np.zeros(50), np.full(50, 0.4), bounds=(0, 20))
    assert found.low == pytest.approx(-0.4)
    assert found.high == pytest.approx(
        -0.4 + 20 * 4.038 / (50 + 4.038), abs=1e-3
    )  # Wilson's, with t² = 4.038


@pytest.mark.parametrize("power", [1.0, 0.6])
def test_the_interval_covers_rare_high_costs(power) -> None:
    """A cost of 20 that happens once in 100 cases: a t-interval covers a half to .92."""
    rng = np.random.default_rng(3)
    runs, covered, covered_by_t = 200, 0, 0
    p = 0.01
    true = p**power
    for _ in range(runs):
        paid = 20.0 * (rng.random(100) < true)
        found = mean_excess(paid, np.full(100, 20 * p), bounds=(0, 20))
        t = clustered_mean(paid - 20 * p)
        covered += found.low <= 20 * (true - p) <= found.high
        covered_by_t += t.low <= 20 * (true - p) <= t.high
    assert covered / runs >= 0.93
    assert covered_by_t < covered


def test_groups_widen_the_interval_and_one_has_none() -> None:
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random(20) < 0.8, 30).astype(float)  # whole groups are right or wrong
    groups = np.repeat(np.arange(20), 30)
    alone, grouped = (
        mean_excess(right, np.full(600, 0.8), bounds=(0, 1), groups=x) for x in (None, groups)
    )
    assert grouped.high - grouped.low > 4 * (alone.high - alone.low)
    same = mean_excess(
        np.ones(60), np.full(60, 0.9), bounds=(0, 1), groups=np.repeat(np.arange(6), 10)
    )
    assert same.low < 0 < same.high  # six groups that were all right
    one = mean_excess([1.0, 0.0], [0.5, 0.5], bounds=(0, 1), groups=["a", "a"])
    assert np.isnan([one.low, one.high]).all()


def test_a_value_at_its_bound_stays_there() -> None:
    found = mean_excess(np.ones(30), np.ones(30), bounds=(0, 1))
    assert found.high == 0
    assert found.low < 0
