"""Means of clustered cases, and intervals of few groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from labelwise._resampling import Resampling, t_interval
from labelwise.evaluation import clustered_mean, rank_agreement


def test_clustered_mean_without_groups_is_the_plain_t_interval():
    x = np.random.default_rng(2).normal(size=12)
    found = clustered_mean(x)
    usual = student.interval(0.95, 11, x.mean(), x.std(ddof=1) / 12**0.5)
    np.testing.assert_allclose([found.value, found.low, found.high], [x.mean(), *usual])
    groups = np.repeat(np.arange(12), 3)  # three copies of each case say no more
    for estimand in ("case", "group"):
        copied = clustered_mean(np.repeat(x, 3), groups, estimand=estimand)
        np.testing.assert_allclose([copied.low, copied.high], usual)


def test_estimands_differ_where_the_size_of_a_group_matters():
    wrong, groups = np.r_[np.ones(8), np.zeros(2)], np.r_[np.zeros(8), 1, 2]
    assert float(clustered_mean(wrong, groups)) == pytest.approx(0.8)
    by_group = clustered_mean(wrong, groups, estimand="group")
    assert float(by_group) == pytest.approx(1 / 3)
    assert "of a random group" in by_group.method
    with pytest.raises(ValueError, match="`estimand` must be 'case'"):
        clustered_mean(wrong, groups, estimand="patient")
    with pytest.raises(
        ValueError, match=r"`values` must lie within `bounds` \(0, 1\); they range from 2 to 4"
    ):
        clustered_mean([2, 3, 4], bounds=(0, 1))
    with pytest.raises(ValueError, match="at least 2 groups"):
        clustered_mean(wrong, np.zeros(10))


def test_scales_of_the_t_interval():
    t = student.ppf(0.975, 5)
    low, high = t_interval(0.9, 0.05, 5, 0.95, (0.0, 1.0), 6)
    np.testing.assert_allclose(
        np.log([low / (1 - low), high / (1 - high)]),
        np.log(9) + np.array([-1, 1]) * t * 0.05 / 0.09,
    )
    low, high = t_interval(2.0, 0.5, 5, 0.95, (0.0, np.inf), 6)
    np.testing.assert_allclose([low, high], 2 * np.exp(np.array([-1, 1]) * t * 0.25))
    np.testing.assert_allclose(
        t_interval(0.5, 0.1, 5, 0.95, (-np.inf, np.inf), 6), [0.5 - 0.1 * t, 0.5 + 0.1 * t]
    )
    np.testing.assert_allclose(
        t_interval(1.0, 0.0, 5, 0.95, (0.0, 1.0), 6), [0.025 ** (1 / 6), 1]
    )  # six of six
    np.testing.assert_allclose(
        t_interval(0.0, 0.0, 5, 0.95, (0.0, 1.0), 6), [0, 1 - 0.025 ** (1 / 6)]
    )
    np.testing.assert_allclose(
        t_interval(np.nextafter(1, 0), 0.1, 5, 0.95, (-1.0, 1.0), 6), [2 * 0.025 ** (1 / 6) - 1, 1]
    )  # 1 but for rounding
    low, high = t_interval(
        np.array([0.5, 1.0, 0.0]), 0.1, 5, 0.95, (0.0, np.array([1.0, 2.0, 0.0])), 6
    )
    np.testing.assert_allclose(
        [low[1], high[1]], 2 * np.asarray(t_interval(0.5, 0.05, 5, 0.95, (0.0, 1.0), 6))
    )
    assert (low[2], high[2]) == (0, 0)  # nothing else is possible


def test_percentiles_only_with_enough_groups():
    again = np.random.default_rng(3).normal(size=400)
    for n, words in (
        (99, "bootstrap over 99 groups, Student's t"),
        (100, "bootstrap over 100 groups"),
    ):
        found = Resampling(200, np.arange(200) % n, 400, 0.95, 0).estimate(0.0, again)
        assert found.method == words
        expected = (
            np.quantile(again, [0.025, 0.975])
            if n == 100
            else np.array([-1, 1]) * student.ppf(0.975, 98) * again.std(ddof=1) * (99 / 98) ** 0.5
        )
        np.testing.assert_allclose([found.low, found.high], expected)


def test_ten_class_means_have_a_wide_interval_within_the_bounds():
    a = np.arange(10.0)
    found = rank_agreement(a, np.r_[a[:8], 9, 8], n_bootstrap=500, rng=0)
    assert float(found) > 0.98
    assert found.low < 0.95
    assert float(found) < found.high <= 1
