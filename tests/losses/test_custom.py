"""A user's own loss: which are proper, and where they fail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from strategies import SMOOTH, loss_id
from wrong_input import refused


def test_custom_loss_is_what_it_copies(lib: Any) -> None:
    copy = lw.CustomLoss(lambda f, y: (1 - f) ** 2 if y else f**2)
    probs = lib.array(np.random.default_rng(0).dirichlet(np.ones(3), (4, 3)))
    u, v = (lw.decompose(lw.Ensemble(probs), loss) for loss in (copy, lw.SquaredLoss()))
    for part in ("total", "aleatoric", "epistemic"):
        np.testing.assert_allclose(
            lib.numpy(getattr(u, part)), lib.numpy(getattr(v, part)), rtol=1e-9
        )
    assert copy.maximum == pytest.approx(0.25)


STRICT = [
    *SMOOTH,
    lw.LogLoss(base=math.e),
    lw.BetaLoss(0, 0),
    lw.BetaLoss(1, 1),
    lw.BetaLoss(3, 0.5),
    lambda f, y: (f - y) ** 2,
    lambda f, y: -np.log(f) if y else -np.log1p(-f),
    lambda f, y: 1e6 * (f - y) ** 2 + 5,
    lambda f, y: 1e-6 * (f - y) ** 2,
]


@pytest.mark.parametrize(
    "loss", STRICT, ids=lambda loss: loss_id(loss)[:30] if isinstance(loss, lw.Loss) else None
)
def test_strictly_proper(loss: Any) -> None:
    report = lw.check_proper(loss)
    assert report.ok
    assert report.strict
    assert str(report) == "strictly proper: the true probability is the only best forecast"


@pytest.mark.parametrize(
    "loss",
    [
        lw.ZeroOneLoss(),
        lw.CostLoss(1, 9),
        lw.CostLoss(2.5, 0.1),
        lw.CostLoss(1, 0),
        lambda f, y: 0 * f,
    ],
    ids=lambda x: repr(x) if isinstance(x, lw.Loss) else None,
)
def test_proper_but_not_strictly(loss: Any) -> None:
    report = lw.check_proper(loss)
    assert report.ok
    assert not report.strict
    assert report.truth is not None
    assert report.forecast is not None
    assert abs(report.truth - report.forecast) > 0.02
    assert report.honest_loss == pytest.approx(report.best_loss, abs=1e-12)
    assert str(report).startswith(
        f"proper, not strictly: when the truth is {report.truth:.6g}, forecasting "
        f"{report.forecast:.6g} costs "
    )


def _focal(f: Any, y: int) -> Any:
    return -((1 - f) ** 2) * np.log(f) if y else -(f**2) * np.log1p(-f)


IMPROPER = {
    "absolute": lambda f, y: abs(f - y),
    "linear": lambda f, y: 1 - f if y else f,
    "fourth power": lambda f, y: (f - y) ** 4,
    "focal": _focal,
    "squared, errors weighted": lambda f, y: 2 * (1 - f) ** 2 if y else f**2,
    "log of one outcome only": lambda f, y: -np.log(f) if y else 0 * f,
    "hinge": lambda f, y: np.maximum(0, 1 - (2 * f - 1)) if y else np.maximum(0, 1 + (2 * f - 1)),
    "sharpened log": lambda f, y: -np.log((f if y else 1 - f) ** 2 / (f**2 + (1 - f) ** 2)),
    "sign reversed": lambda f, y: -((f - y) ** 2),
    "squared with a price": lambda f, y: (f - y) ** 2 + 1e-3 * f,
    "optimum off by 1e-4": lambda f, y: (f - 1e-4 - y) ** 2,
    "optimum off by -1e-4": lambda f, y: (f + 1e-4 - y) ** 2,
    "log, optimum off by 1e-4": lambda f, y: (
        -np.log(f) + 1e-4 * f if y else -np.log1p(-f) + 1e-4 * f
    ),
    "log tempered by 1e-4": lambda f, y: -np.log(f) if y else -(1 + 1e-4) * np.log1p(-f),
    "wrong in the middle": lambda f, y: (f + 0.05 * np.exp(-(((f - 0.5) / 0.05) ** 2)) - y) ** 2,
    "wrong near 1 only": lambda f, y: (
        (np.where(f > 0.97, 0.97, f) - y) ** 2 + np.where(f > 0.97, 1e-3, 0) * (f - 0.97)
    ),
}


@pytest.mark.parametrize("name", IMPROPER)
def test_improper(name: str) -> None:
    phi = IMPROPER[name]
    report = lw.check_proper(phi)
    assert not report.ok
    assert not report.strict
    truth, forecast = report.truth, report.forecast
    assert truth is not None
    assert forecast is not None
    honest, best = (
        truth * phi(np.array(f), 1) + (1 - truth) * phi(np.array(f), 0) for f in (truth, forecast)
    )
    assert honest > best  # the place that is shown does fail
    assert report.honest_loss == pytest.approx(float(honest))
    assert report.best_loss == pytest.approx(float(best))
    assert str(report).startswith("not proper: when the truth is ")
    with pytest.raises(
        ValueError, match="`phi` must be a proper loss; it is not proper: when the truth is"
    ):
        lw.CustomLoss(phi)


def test_the_place_of_failure_points_the_right_way() -> None:
    report = lw.check_proper(lambda f, y: (f - 0.05 - y) ** 2)
    assert report.truth is not None
    assert report.forecast == pytest.approx(report.truth + 0.05, abs=2e-3)


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_mixtures_of_proper_losses_are_proper(x: float, y: float) -> None:
    log, sphere = lw.LogLoss(), lw.SphericalLoss()
    assert lw.check_proper(lambda f, o: x * log.phi(f, o) + y * sphere.phi(f, o)).strict


def test_the_corner_of_a_custom_loss_is_found() -> None:
    """It is where φ jumps; the quadrature is cut there, and the jackknife refused."""
    step = lw.CustomLoss(lambda f, y: 7.0 * (f < 0.3) if y else 3.0 * (f >= 0.3))
    assert step.kink == pytest.approx(0.3, abs=1e-12)
    assert not step.smooth
    alpha = np.array([[2.0, 3.0, 1.0], [50.0, 20.0, 10.0]])
    expected = lw.decompose(lw.Dirichlet(alpha), lw.CostLoss(3, 7))
    np.testing.assert_allclose(
        lw.decompose(lw.Dirichlet(alpha), step).aleatoric, expected.aleatoric, rtol=1e-9
    )
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (4, 2)))
    with pytest.raises(ValueError, match="has a kink"):
        lw.decompose(q, step, correction="jackknife")
    for smooth in (
        lambda f, y: -np.log(f) if y else -np.log1p(-f),
        lambda f, y: (1 - f) ** 2 if y else f**2,
    ):
        assert lw.CustomLoss(smooth).smooth


def test_improper_custom_loss() -> None:
    place = "when the truth is 0.25, forecasting 1e-06 costs 0.250001 and the truth itself 0.375"
    with refused(ValueError, "`phi` must be a proper loss; it is not proper", place):
        lw.CustomLoss(lambda f, y: abs(f - y))


@pytest.mark.parametrize("shift", [-1.0, -1e-4])
def test_negative_custom_loss(shift: float) -> None:
    with refused(
        ValueError,
        "`phi` must have an entropy φ(t, t) that is never negative",
        f"it is {shift:g} at t = ",
        "Add a constant to it",
    ):
        lw.CustomLoss(lambda f, y: (f - y) ** 2 + shift)


@pytest.mark.parametrize(
    ("phi", "error", "sentence"),
    [
        (
            lambda f, y: 1.0,
            ValueError,
            "`phi` must return one loss per forecast; got shape ()",
        ),
        (
            lambda f, y: f * np.nan,
            ValueError,
            "`phi` must be finite for forecasts strictly between 0 and 1; got NaN",
        ),
        (
            lambda f: f,
            TypeError,
            "`phi` must be a function φ(forecast, y) of an array of forecasts and y = 0 or 1",
        ),
        (lambda f, y: math.log(f), TypeError, "called with a NumPy array it failed"),
        ("log", TypeError, "`phi` must be a function φ(forecast, y), or a Loss; got 'log'"),
        (lw.LogLoss(), TypeError, "got a LogLoss, which is already a loss"),
    ],
)
def test_custom_losses_that_are_no_losses(phi: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.CustomLoss(phi)


def asymmetric(forecast: Any, y: int) -> Any:
    return 4 * (1 - forecast) ** 2 if y else 4 * forecast**2


def test_a_custom_loss_is_called_by_its_function() -> None:
    assert repr(lw.CustomLoss(asymmetric)) == "CustomLoss(asymmetric)"
    assert repr(lw.CustomLoss(lambda f, y: asymmetric(f, y))) == "CustomLoss(lambda)"
