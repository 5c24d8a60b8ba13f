"""Entropies and regrets of an interval, against a grid and many digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf, workdps

import labelwise as lw
from labelwise.distributions.marginals import Interval
from strategies import LOSSES, loss_id

GRID = np.concatenate([[0.0], np.logspace(-9, -3, 40), np.linspace(0.002, 0.998, 4001), [1.0]])


def intervals(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    ends = np.sort(rng.beta(0.5, 0.5, (n, 2)), axis=-1)
    special = [[0, 0], [0, 1], [1, 1], [0, 0.3], [0.6, 1], [0.5, 0.5], [0.2, 0.5], [0.5, 0.7]]
    ends = np.concatenate([ends, special])
    return ends[:, :1], ends[:, 1:]


def law(low: np.ndarray, high: np.ndarray) -> Interval:
    return Interval((low, 1 - low), (high, 1 - high), (low, 1 - low))


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_a_grid(loss: lw.Loss) -> None:
    low, high = intervals()
    total, aleatoric, epistemic, _ = law(low, high).split(loss)
    regret = law(low, high).regret(loss)
    peak = float(np.asarray(loss.peak))
    inner = [low + (high - low) * GRID, np.clip(peak, low, high)]
    t = np.concatenate(inner, axis=-1)
    g = loss.entropy(t)
    width = np.where(high > low, high - low, 1)
    ends = loss.entropy(low), loss.entropy(high)
    chord = ends[0] + (t - low) / width * (ends[1] - ends[0])
    np.testing.assert_allclose(total[:, 0], g.max(-1), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(aleatoric[:, 0], g.min(-1), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(regret[:, 0], (g - chord).max(-1), rtol=2e-6, atol=1e-9)
    assert np.all(total[:, 0] >= g.max(-1) - 1e-12)
    assert np.all(epistemic >= 0)
    assert np.all(regret >= 0)
    assert np.all(epistemic[low == high] == 0)
    assert np.all(regret[low == high] == 0)


@pytest.mark.parametrize("loss", LOSSES[:6], ids=loss_id)
def test_no_forecast_guarantees_less(loss: lw.Loss) -> None:
    """min over forecasts of the largest divergence, by brute force."""
    low, high = np.array([[0.05], [0.4], [0.0]]), np.array([[0.3], [0.95], [0.6]])
    f = low + (high - low) * np.linspace(0.001, 0.999, 3999)
    worst = np.maximum(loss.divergence(low + 0 * f, f), loss.divergence(high + 0 * f, f))
    found = law(low, high).regret(loss)[:, 0]
    np.testing.assert_allclose(found, worst.min(-1), rtol=2e-3)
    assert np.all(found <= worst.min(-1))


@workdps(60)
def exact_log_regret(low: float, high: float) -> float:
    """The gap at the forecast where the entropy is as steep as its chord, in bits."""

    def g(t: mpf) -> mpf:
        return sum((-x * mp.log(x) for x in (t, 1 - t) if x > 0), mpf(0))

    a, b = mpf(low), mpf(high)
    slope = (g(b) - g(a)) / (b - a)
    f = 1 / (1 + mp.exp(slope))
    return float((g(f) - g(a) - slope * (f - a)) / mp.log(2))


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.2, 0.7), (0.0, 1.0), (0.0, 1e-9), (0.3, 0.3 + 1e-7), (1e-300, 1e-12), (0.999, 1 - 1e-12)],
)
def test_log_loss_to_many_digits(low: float, high: float) -> None:
    found = law(np.array([low]), np.array([high])).regret(lw.LogLoss())[0]
    assert found == pytest.approx(exact_log_regret(low, high), rel=1e-7)
    if high - low > 1e-4 and high < 0.99:
        assert found == pytest.approx(exact_log_regret(low, high), rel=1e-13)


def test_closed_forms() -> None:
    low, high = intervals()
    np.testing.assert_allclose(law(low, high).regret(lw.SquaredLoss()), (high - low) ** 2 / 4)
    general = lw.Loss.minimax_regret(lw.SquaredLoss(), low, 1 - low, high, 1 - high)
    np.testing.assert_allclose(general, (high - low) ** 2 / 4, rtol=1e-9, atol=1e-30)
    a, b = 2.0, 6.0
    t = a / (a + b)
    wide = (low < t) & (t < high)
    formula = (a + b) * (high - t) * (t - low) / np.where(high > low, high - low, 1)
    found = law(low, high).regret(lw.CostLoss(a, b))
    np.testing.assert_allclose(found, np.where(wide, formula, 0), atol=1e-14)


def test_one_action_is_best_throughout() -> None:
    """The regret of costs is then 0, which max − min is not."""
    interval = law(np.array([0.6]), np.array([0.9]))
    assert interval.regret(lw.ZeroOneLoss())[0] == 0
    assert interval.split(lw.ZeroOneLoss()).epistemic[0] == pytest.approx(0.3)


def test_single_precision() -> None:
    low, high = [x.astype(np.float32) for x in intervals()]
    for loss in LOSSES:
        found = law(low, high).regret(loss)
        assert found.dtype == np.float32
        assert np.all(found >= 0)
        assert np.all(np.isfinite(found))
