"""Estimates as text, and the draws of the bootstrap."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from labelwise._resampling import (
    Estimate,
    Resampling,
    binomial_interval,
    mean_over_groups,
    share_estimate,
    t_interval,
    t_interval_with_extremes,
)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(0.5), "0.500"),
        (Estimate(0.5, 0.4, 0.6, 0.9), "0.500 (90 % interval 0.400 to 0.600)"),
        (Estimate(0.000321, 0.0003, 0.0004), "0.00032 (95 % interval 0.00030 to 0.00040)"),
        (Estimate(0.0, 0.0, 0.1), "0.000 (95 % interval 0.000 to 0.100)"),
        (Estimate(float("nan")), "nan"),
        (
            Estimate(np.array([0.1, 0.2]), np.array([0.0, 0.1]), np.array([0.2, 0.3])),
            "0.100 (95 % interval 0.000 to 0.200)\n0.200 (95 % interval 0.100 to 0.300)",
        ),
        (Estimate(np.array([0.1, 0.2])), "0.100\n0.200"),
    ],
)
def test_estimates_read_well(estimate, words):
    assert str(estimate) == words


def test_draws_are_whole_groups():
    groups = np.array(["b", "a", "b", "c", "a", "b"])
    resampling = Resampling(6, groups, 200, 0.95, 0)
    counts = np.concatenate(list(resampling.counts()))
    assert counts.shape == (200, 6)
    for members in ([1, 4], [0, 2, 5]):
        assert np.all(counts[:, members] == counts[:, members[:1]])
    assert np.all(counts[:, [1, 0, 3]].sum(axis=1) == 3)  # three groups are drawn
    assert counts[:, 3].mean() == pytest.approx(1, abs=0.25)


def test_parts_do_not_change_the_draws(monkeypatch):
    whole = np.concatenate(list(Resampling(50, None, 30, 0.95, 1).counts()))
    monkeypatch.setattr("labelwise._resampling.COUNTS_PER_BLOCK", 170)
    parts = list(Resampling(50, None, 30, 0.95, 1).counts())
    assert len(parts) == 10
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_shares_of_independent_cases_are_exact():
    hits = np.arange(50) < 3
    for code in (None, np.arange(50)):  # a group for each case
        found = share_estimate(hits, code, 0.9)
        reference = stats.binomtest(3, 50).proportion_ci(0.9, method="exact")
        assert (found.low, found.high) == pytest.approx((reference.low, reference.high))
        assert found.method == "Clopper–Pearson"
    assert binomial_interval(0, 0, 0.95) == (0, 1)
    assert np.isnan(float(share_estimate(hits[:0], None, 0.95)))


def test_groups_that_are_all_alike_are_as_many_independent_cases():
    groups = np.repeat(np.arange(12), 4)
    for hits in (np.ones(48, bool), np.zeros(48, bool)):
        found = share_estimate(hits, groups, 0.95)
        exact = stats.binomtest(int(hits[::4].sum()), 12).proportion_ci(0.95, method="exact")
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
        assert (
            found.method == "exact for 12 independent groups that are all alike, of a random case"
        )
    third = share_estimate(np.arange(48) % 4 == 0, groups, 0.95)  # one of four in each group
    unseen = 1 - 0.025 ** (1 / 12)
    assert (third.low, third.high) == pytest.approx((0.25 * (1 - unseen), 0.25 + 0.75 * unseen))
    rounded = mean_over_groups(np.full(48, 0.1) + 1e-17, groups, 0.95, bounds=(0.0, 1.0))
    assert rounded.high - rounded.low > 0.2  # equal up to rounding is equal
    one = share_estimate(np.arange(4) < 2, np.zeros(4, int), 0.95)
    assert (one.low, float(one), one.high) == (0, 0.5, 1)


def test_bootstrap_replicates_that_are_all_alike_are_no_point():
    resampling = Resampling(300, None, 50, 0.95, 0)
    found = resampling.estimate(1.0, np.ones(50), (0.0, 1.0))
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 300), 1))
    columns = resampling.estimate(
        np.array([1.0, 0.5]), np.stack([np.ones(50), np.linspace(0.4, 0.6, 50)], axis=1), (0.0, 1.0)
    )
    assert columns.low == pytest.approx(
        [0.025 ** (1 / 300), np.quantile(np.linspace(0.4, 0.6, 50), 0.025)]
    )


def test_one_more_case_at_either_bound():
    x = np.array([0.0, 0.0, 1.0, 0.0, -2.0, 0.0])
    low, high = t_interval_with_extremes(x.mean(), stats.sem(x), 5, 0.95, (-10.0, 10.0), 6)
    variance = (6 * x.var(ddof=1) + 2 * 10**2 + 2 * (x.sum() / 8) ** 2) / 8**2
    assert (low, high) == pytest.approx(
        x.sum() / 8 + np.array([-1, 1]) * stats.t.ppf(0.975, 5) * variance**0.5
    )
    assert t_interval_with_extremes(0.3, 0.0, 0, 0.95, (0.0, 1.0), 1) == (
        0,
        1,
    )  # one case: all that is possible
    low, high = t_interval_with_extremes(np.array([0.0, 1.0]), 0.0, 99, 0.95, (0.0, 1.0), 100)
    assert low[0] == 0
    assert high[1] == 1
    assert high[0] == pytest.approx(1 - low[1])
    assert 2.5 / 100 < high[0] < 3.5 / 100
    large, _ = t_interval_with_extremes(1.0, 0.01, 1e6, 0.95, (-10.0, 10.0), 1_000_000)
    assert large == pytest.approx(
        t_interval(1.0, 0.01, 1e6, 0.95, (-np.inf, np.inf), 1)[0], rel=1e-3
    )


@pytest.mark.parametrize("share", [0.003, 0.02, 0.1])
def test_rare_extremes_are_covered(share):
    """Values of 20 with this probability, else 0 or −1: whatever n, at least .93."""
    rng = np.random.default_rng(1)
    for n in (20, 50, 300):
        u = rng.random((2000, n))
        x = np.where(u < share, 20.0, np.where(u < 0.5, -1.0, 0.0))
        expected = 20 * share - (0.5 - share)
        se = x.std(axis=1, ddof=1) / n**0.5
        low, high = t_interval_with_extremes(x.mean(axis=1), se, n - 1, 0.95, (-20.0, 20.0), n)
        assert np.mean((low <= expected) & (expected <= high)) > 0.93


def test_an_estimate_without_bounds_can_be_indexed():
    estimates = Estimate(np.array([0.25, 0.5]))
    assert estimates[1].value == 0.5
    assert np.isnan(estimates[1].low)
    assert str(estimates[0]) == "0.250"


def test_evaluation_and_calibration_import_lightly():
    script = (
        "import sys, labelwise.evaluation, labelwise.calibration; print(*(m for m in ('scipy', "
        "'torch', 'jax', 'matplotlib', 'sklearn') if m in sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == ""
