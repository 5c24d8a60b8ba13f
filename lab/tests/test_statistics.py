"""Small statistics, against SciPy and by hand."""

from __future__ import annotations

import numpy as np
from scipy import stats

from labelwise_lab.statistics import bootstrap_error, group_codes, mean_over_runs, t_quantile


def test_t_quantile_is_scipys() -> None:
    assert abs(t_quantile(4, 0.95) - stats.t.ppf(0.975, 4)) < 1e-12


def test_bootstrap_error_of_few_units_is_unbiased() -> None:
    """The bootstrap variance of a mean of n units is (n - 1)/n of its true one."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1000, 5))
    draws = rng.integers(0, 5, (2000, 5))
    replicates = values[:, draws].mean(-1).T  # (draws, experiments)
    variance = (bootstrap_error(replicates, 5) ** 2).mean()
    assert abs(variance / (1 / 5) - 1) < 0.05


def test_group_codes() -> None:
    assert group_codes(None, 3)[1] == 3
    code, n = group_codes(["b", "a", "b"], 3)
    assert (code.tolist(), n) == ([1, 0, 1], 2)


def test_t_interval_over_runs_is_scipys() -> None:
    runs = np.random.default_rng(0).normal(size=(5, 3))
    mean = mean_over_runs(runs, 0.9)
    low, high = stats.t.interval(0.9, 4, runs.mean(0), stats.sem(runs, axis=0))
    np.testing.assert_allclose(mean.low, low)
    np.testing.assert_allclose(mean.high, high)
