"""Small statistics, against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from labelwise_lab.statistics import (
    bootstrap_error,
    group_codes,
    holm,
    mean_over_runs,
    sign_flip_p,
    t_quantile,
)


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


def test_sign_flips_are_those_of_scipy() -> None:
    values = np.random.default_rng(0).normal(0.4, size=9)
    expected = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(values) == pytest.approx(expected.pvalue)
    assert sign_flip_p(np.zeros(5)) == 1
    with pytest.raises(ValueError, match="1 to 16 units; got 17"):
        sign_flip_p(np.ones(17))


@pytest.mark.parametrize("heavy", [False, True])
def test_sign_flips_keep_their_level(heavy) -> None:
    """At most 5 % of experiments without an effect, with normal or heavy-tailed units."""
    rng = np.random.default_rng(1)
    units = rng.standard_t(2, (1000, 10)) if heavy else rng.normal(size=(1000, 10))
    share = np.mean([sign_flip_p(each) <= 0.05 for each in units])
    assert 0.03 < share < 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


def test_holm_keeps_the_level_of_a_family() -> None:
    rng = np.random.default_rng(2)
    families = [holm(rng.random(7)) for _ in range(2000)]
    share = np.mean([min(adjusted) <= 0.05 for adjusted in families])
    assert share < 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5
