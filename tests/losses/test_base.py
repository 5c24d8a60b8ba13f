"""Every loss against its definition, Eq. (7): entropy, divergence, concavity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from loss_cases import EVERY, GRID
from strategies import LOSSES, SMOOTH, loss_id


def risk(loss: lw.Loss, forecast: Any, truth: Any) -> Any:
    """The expected loss φ(forecast, truth) of Eq. (7)."""
    return truth * loss.phi(forecast, 1) + (1 - truth) * loss.phi(forecast, 0)


def size(loss: lw.Loss) -> float:
    return float(np.max(loss.maximum))


@EVERY
def test_entropy_is_the_smallest_expected_loss(loss: lw.Loss) -> None:
    table = risk(loss, GRID[None, :], GRID[:, None])
    entropy = loss.entropy(GRID)
    np.testing.assert_allclose(np.diag(table), entropy, rtol=1e-9, atol=1e-13 * size(loss))
    assert np.all(table >= entropy[:, None] - 1e-13 * size(loss))
    np.testing.assert_allclose(table.min(axis=1), entropy, rtol=1e-9, atol=1e-13 * size(loss))


@EVERY
def test_divergence_is_what_a_wrong_forecast_costs(loss: lw.Loss) -> None:
    t, m = GRID[:, None], GRID[None, :]
    divergence = loss.divergence(t, m)
    np.testing.assert_allclose(
        divergence,
        risk(loss, m, t) - loss.entropy(t),
        atol=1e-12 * np.max(np.abs(risk(loss, m, t))),
    )
    assert np.all(divergence >= 0)
    assert np.all(np.diag(divergence) == 0)


@pytest.mark.parametrize("loss", SMOOTH, ids=loss_id)
def test_strictly_proper_losses_punish_every_wrong_forecast(loss: lw.Loss) -> None:
    divergence = loss.divergence(GRID[:, None], GRID[None, :])
    assert np.all(divergence[~np.eye(GRID.size, dtype=bool)] > 0)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from(LOSSES))
def test_entropy_is_concave_and_not_negative(
    s: float, t: float, share: float, loss: lw.Loss
) -> None:
    between = share * s + (1 - share) * t
    chord = share * loss.entropy(s) + (1 - share) * loss.entropy(t)
    assert loss.entropy(between) >= chord - 1e-12 * size(loss)
    assert loss.entropy(between) >= 0
    assert loss.entropy(between) <= size(loss) * (1 + 1e-12)


@EVERY
def test_what_is_certain_has_no_entropy(loss: lw.Loss) -> None:
    np.testing.assert_array_equal(loss.entropy(np.array([0.0, 1.0])), 0)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        edges = loss.divergence(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5, 1.0]))
    assert np.all(edges[[0, 3]] == 0)
    assert np.all(np.isfinite(edges))


@EVERY
def test_epistemic_part_is_the_expected_divergence(loss: lw.Loss) -> None:
    t = np.random.default_rng(0).random((6, 50))
    mean = t.mean(0)
    epistemic = loss.epistemic(lambda f: f(t, 1 - t, t - mean).mean(0), mean, 1 - mean)
    np.testing.assert_allclose(epistemic, loss.divergence(t, mean).mean(0), rtol=1e-9, atol=1e-14)


@EVERY
def test_python_numbers_are_welcome(loss: lw.Loss) -> None:
    assert float(loss.entropy(0.3)) == pytest.approx(float(loss.entropy(np.array([0.3]))[0]))
    assert float(loss.divergence(0.3, 0.6)) == pytest.approx(
        float(loss.divergence(np.array([0.3]), np.array([0.6]))[0])
    )
    assert float(loss.entropy(1)) == 0


@EVERY
@pytest.mark.parametrize("y", [2, -1, 0.5])
def test_outcomes_are_0_or_1(loss: lw.Loss, y: Any) -> None:
    with pytest.raises(ValueError, match=r"`y` must be 0 or 1; got "):
        loss.phi(np.array([0.5]), y)


def test_losses_of_a_forecast_that_was_certain_and_wrong() -> None:
    assert lw.LogLoss().unbounded == (True, True)
    assert lw.SquaredLoss().unbounded == lw.CostLoss(1, 9).unbounded == (False, False)
    assert lw.BetaLoss(0.0, 1.0).unbounded == (True, False)
    assert lw.BetaLoss(1.0, -0.5).unbounded == (False, True)
    by_event = lw.CostLoss({"a": 2.0}, 1.0).bind(["a", "b"])
    assert by_event.unbounded == (False, False)


@EVERY
def test_maximum(loss: lw.Loss) -> None:
    t = np.linspace(0, 1, 20001)
    entropy = loss.entropy(t)
    assert entropy.max() <= loss.maximum * (1 + 1e-14)
    assert entropy.max() == pytest.approx(loss.maximum, rel=1e-7)


def test_maxima_in_closed_form() -> None:
    assert lw.LogLoss().maximum == pytest.approx(1)
    assert lw.LogLoss(base=math.e).maximum == pytest.approx(math.log(2))
    assert lw.SquaredLoss().maximum == 0.25
    assert lw.SphericalLoss().maximum == pytest.approx(1 - math.sqrt(0.5))
    assert lw.ZeroOneLoss().maximum == 0.5
    assert lw.CostLoss(1, 9).maximum == pytest.approx(0.9)
    assert lw.BetaLoss(-0.5, -0.5).maximum == pytest.approx(2, rel=1e-12)
    assert lw.CostLoss(0, 1).maximum == 0


@EVERY
def test_the_peak_is_where_the_entropy_is_largest(loss: lw.Loss) -> None:
    peak = np.asarray(loss.peak, float)
    assert loss.entropy(peak) == pytest.approx(loss.maximum, rel=1e-12)


def test_peaks_in_closed_form() -> None:
    assert lw.LogLoss().peak == lw.SphericalLoss().peak == 0.5
    assert lw.BetaLoss(-0.5, -0.5).peak == pytest.approx(0.5, rel=1e-7)  # a flat top, searched
    assert lw.CostLoss(1, 9).peak == pytest.approx(0.1)
    assert lw.BetaLoss(0.0, 1.0).peak == pytest.approx(1 / math.e, rel=1e-6)  # −t ln t
