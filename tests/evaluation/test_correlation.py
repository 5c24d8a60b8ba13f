"""Rank correlations against scipy, and what they should find."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.evaluation import rank_agreement


@pytest.mark.parametrize("levels", [3, 10**9])
def test_equals_scipy_with_and_without_ties(levels):
    from scipy import stats

    rng = np.random.default_rng(0)
    x, noise = rng.random((2, 80))
    a, b = np.floor(levels * x), np.floor(levels * (x + noise))
    result = rank_agreement(a, b)
    assert float(result) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-13)
    assert np.isnan(result.low)


def test_bootstrap_replicates_follow_the_definition():
    from scipy import stats

    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 12, 100), rng.integers(0, 12, 100)
    result = rank_agreement(a, b, n_bootstrap=50, rng=2)
    drawn = np.random.default_rng(2).integers(100, size=(50, 100))
    rho = [stats.spearmanr(a[i], b[i]).statistic for i in drawn]
    np.testing.assert_allclose((result.low, result.high), np.quantile(rho, (0.025, 0.975)))


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(30), 10)
    x, y = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=30)[patient].T
    noise = rng.normal(0, 0.05, (2, 300))
    alone = rank_agreement(x + noise[0], y + noise[1], n_bootstrap=200, rng=1)
    grouped = rank_agreement(x + noise[0], y + noise[1], groups=patient, n_bootstrap=200, rng=1)
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


def test_spearman_interval_covers():
    """Bivariate normal: ρ_S = (6/π) arcsin(ρ/2)."""
    rng = np.random.default_rng(4)
    truth = 6 / np.pi * np.arcsin(0.3)
    held = 0
    for _ in range(60):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=60).T
        interval = rank_agreement(x, y, n_bootstrap=60, rng=rng)
        held += interval.low <= truth <= interval.high
    assert 0.83 <= held / 60 <= 0.99


def test_constant_has_no_rank():
    result = rank_agreement([1, 1, 1], [1, 2, 3], n_bootstrap=5, rng=0)
    assert np.isnan([float(result), result.low, result.high]).all()


def test_all_libraries(lib):
    x, y = np.random.default_rng(5).normal(size=(2, 100))
    reference = rank_agreement(x, y)
    result = rank_agreement(lib.array(x), lib.array(y))
    assert float(result) == pytest.approx(float(reference), abs=1e-6)


def test_lengths_must_be_the_same():
    with pytest.raises(ValueError, match="`b`"):
        rank_agreement([1, 2], [1, 2, 3])


def test_two_instances_agree_or_not() -> None:
    assert float(rank_agreement([1.0, 2.0], [3.0, 7.0])) == pytest.approx(1)
    assert float(rank_agreement([1.0, 2.0], [7.0, 3.0])) == pytest.approx(-1)
