"""Every loss against its definition, Eq. (7): entropy, divergence, concavity, maxima; and who is proper."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import labelwise as lw
from labelwise.losses import as_loss
from strategies import LOSSES, SMOOTH, loss_id

EVERY = pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
GRID = np.concatenate([10.0 ** np.arange(-8, -2), np.linspace(0.005, 0.995, 199), 1 - 10.0 ** np.arange(-8, -2)])


def risk(loss: lw.Loss, forecast: Any, truth: Any) -> Any:
    """The expected loss φ(forecast, truth) of Eq. (7)."""
    return truth * loss.phi(forecast, 1) + (1 - truth) * loss.phi(forecast, 0)


def size(loss: lw.Loss) -> float:
    return float(np.max(loss.maximum))


# --- definitions -----------------------------------------------------------------------------------------------------------


@EVERY
def test_entropy_is_the_smallest_expected_loss(loss: lw.Loss) -> None:
    table = risk(loss, GRID[None, :], GRID[:, None])
    entropy = loss.entropy(GRID)
    np.testing.assert_allclose(np.diag(table), entropy, rtol=1e-9, atol=1e-13 * size(loss))
    assert np.all(table >= entropy[:, None] - 1e-13 * size(loss))
    np.testing.assert_allclose(table.min(axis=1), entropy, rtol=1e-9, atol=1e-13 * size(loss))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
@example(1.0, 3.0)
@example(3.0, 1.0)
def test_the_decision_is_exact_next_to_the_corner(dtype: Any, a: float, b: float) -> None:
    """Acting pays where t > a/(a+b), in exact arithmetic, for the numbers of the dtype closest to it."""
    loss = lw.CostLoss(false_positive=a, false_negative=b)
    corner = Fraction(a) / (Fraction(a) + Fraction(b))
    for smaller, side in ((corner, "t"), (1 - corner, "c")):
        if smaller > Fraction(1, 2):
            continue
        middle = dtype(float(smaller))
        for x in (np.nextafter(middle, dtype(0)), middle, np.nextafter(middle, dtype(1))):
            t, c = (x, 1 - x) if side == "t" else (1 - x, x)
            act = Fraction(float(x)) > smaller if side == "t" else Fraction(float(x)) < smaller
            if t != c:
                assert bool(loss._should_act(np.array(t), np.array(c))) == act, (x, side)


@EVERY
def test_divergence_is_what_a_wrong_forecast_costs(loss: lw.Loss) -> None:
    t, m = GRID[:, None], GRID[None, :]
    divergence = loss.divergence(t, m)
    np.testing.assert_allclose(divergence, risk(loss, m, t) - loss.entropy(t), atol=1e-12 * np.max(np.abs(risk(loss, m, t))))
    assert np.all(divergence >= 0)
    assert np.all(np.diag(divergence) == 0)


@pytest.mark.parametrize("loss", SMOOTH, ids=loss_id)
def test_strictly_proper_losses_punish_every_wrong_forecast(loss: lw.Loss) -> None:
    divergence = loss.divergence(GRID[:, None], GRID[None, :])
    assert np.all(divergence[~np.eye(GRID.size, dtype=bool)] > 0)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from(LOSSES))
def test_entropy_is_concave_and_not_negative(s: float, t: float, share: float, loss: lw.Loss) -> None:
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
def test_epistemic_part_is_the_expected_divergence(loss: lw.Loss) -> None:
    t = np.random.default_rng(0).random((6, 50))
    mean = t.mean(0)
    epistemic = loss.epistemic(lambda f: f(t, 1 - t, t - mean).mean(0), mean, 1 - mean)
    np.testing.assert_allclose(epistemic, loss.divergence(t, mean).mean(0), rtol=1e-9, atol=1e-14)


@EVERY
def test_python_numbers_are_welcome(loss: lw.Loss) -> None:
    assert float(loss.entropy(0.3)) == pytest.approx(float(loss.entropy(np.array([0.3]))[0]))
    assert float(loss.divergence(0.3, 0.6)) == pytest.approx(float(loss.divergence(np.array([0.3]), np.array([0.6]))[0]))
    assert float(loss.entropy(1)) == 0


@EVERY
@pytest.mark.parametrize("y", [2, -1, 0.5])
def test_outcomes_are_0_or_1(loss: lw.Loss, y: Any) -> None:
    with pytest.raises(ValueError, match=r"`y` must be 0 or 1; got "):
        loss.phi(np.array([0.5]), y)


# --- the losses one by one -------------------------------------------------------------------------------------------------


def test_log_loss() -> None:
    np.testing.assert_allclose(lw.LogLoss().entropy(GRID), -GRID * np.log2(GRID) - (1 - GRID) * np.log2(1 - GRID), rtol=1e-8)
    for base in (2, math.e, 10):
        np.testing.assert_allclose(lw.LogLoss(base=base).entropy(GRID), lw.LogLoss().entropy(GRID) / np.log2(base), rtol=1e-14)
        np.testing.assert_allclose(lw.LogLoss(base).phi(GRID, 1), -np.log(GRID) / np.log(base), rtol=1e-14)
    assert lw.LogLoss() == lw.LogLoss(2.0)
    assert hash(lw.LogLoss()) == hash(lw.LogLoss(2.0))


def test_spherical_loss() -> None:
    norm = np.sqrt(GRID**2 + (1 - GRID) ** 2)
    np.testing.assert_allclose(lw.SphericalLoss().entropy(GRID), 1 - norm, atol=1e-15)
    np.testing.assert_allclose(lw.SphericalLoss().phi(GRID, 0), 1 - (1 - GRID) / norm, atol=1e-15)


@pytest.mark.parametrize(
    ("a", "b", "member", "scale"), [(0, 0, lw.LogLoss(base=math.e), 1.0), (1, 1, lw.SquaredLoss(), 0.5)], ids=["log", "squared"]
)
def test_beta_family_holds_log_and_squared_loss(a: float, b: float, member: lw.Loss, scale: float) -> None:
    beta = lw.BetaLoss(a, b)
    for y in (0, 1):
        np.testing.assert_allclose(beta.phi(GRID, y), scale * member.phi(GRID, y), rtol=1e-8)
    np.testing.assert_allclose(beta.entropy(GRID), scale * member.entropy(GRID), rtol=1e-8)
    pairs = GRID[:, None], GRID[None, :]
    np.testing.assert_allclose(beta.divergence(*pairs), scale * member.divergence(*pairs), rtol=1e-6, atol=1e-14)
    assert beta.maximum == pytest.approx(scale * member.maximum, rel=1e-12)


def test_beta_family_holds_boosting_loss() -> None:
    """φ(f, 1) = 2 √((1−f)/f), whose entropy is 4 √(t(1−t)): the loss of AdaBoost at its best score."""
    boosting = lw.BetaLoss(-0.5, -0.5)
    np.testing.assert_allclose(boosting.phi(GRID, 1), 2 * np.sqrt((1 - GRID) / GRID), rtol=1e-8)
    np.testing.assert_allclose(boosting.phi(GRID, 0), 2 * np.sqrt(GRID / (1 - GRID)), rtol=1e-8)
    np.testing.assert_allclose(boosting.entropy(GRID), 4 * np.sqrt(GRID * (1 - GRID)), rtol=1e-8)


@pytest.mark.parametrize(("a", "b"), [(0.5, 2.0), (3.0, 0.0), (-0.9, 1.5), (0.0, -0.5), (7.0, 11.0)])
def test_beta_family_is_its_integral(a: float, b: float) -> None:
    for f in (0.01, 0.3, 0.8):
        one = quad(lambda s: s ** (a - 1) * (1 - s) ** b, f, 1)[0]
        zero = quad(lambda s: s**a * (1 - s) ** (b - 1), 0, f)[0]
        assert float(lw.BetaLoss(a, b).phi(f, 1)) == pytest.approx(one, rel=1e-6)
        assert float(lw.BetaLoss(a, b).phi(f, 0)) == pytest.approx(zero, rel=1e-6)


def test_zero_one_is_the_cost_of_equal_errors() -> None:
    for t in (0.0, 0.2, 0.5, 0.9, 1.0):
        assert lw.ZeroOneLoss().entropy(t) == lw.CostLoss(1, 1).entropy(t) == min(t, 1 - t)
    assert isinstance(lw.ZeroOneLoss(), lw.CostLoss)


def test_cost_is_that_of_the_better_decision() -> None:
    loss = lw.CostLoss(false_positive=2, false_negative=6)
    assert float(loss.entropy(0.1)) == pytest.approx(0.6)  # do not act: 6 · 0.1
    assert float(loss.entropy(0.5)) == pytest.approx(1.0)  # act: 2 · 0.5
    assert loss.entropy(0.25) == 1.5 == loss.maximum
    assert [float(loss.phi(f, y)) for f in (0.2, 0.3) for y in (0, 1)] == [0, 6, 2, 0]
    assert float(loss.divergence(0.1, 0.9)) == pytest.approx(2 * 0.9 - 6 * 0.1)
    assert loss.divergence(0.1, 0.2) == 0


def test_costs_by_name() -> None:
    q = lw.Ensemble(np.array([[[0.2, 0.3, 0.5]], [[0.4, 0.5, 0.1]]]), class_names=["a", "b", "c"])
    u = lw.decompose(q, lw.CostLoss({"c": 3, "a": 1, "b": 2}, 4))
    for name, cost in (("a", 1), ("b", 2), ("c", 3)):
        alone = lw.decompose(q, lw.CostLoss(cost, 4))
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_array_equal(getattr(u[name], part), getattr(alone[name], part))
        assert u[name].maximum == pytest.approx(alone[name].maximum)
    for losses in (lw.CostLoss([1, 2, 3], 4), lw.CostLoss(np.array([1.0, 2.0, 3.0]), {"a": 4, "b": 4, "c": 4})):
        np.testing.assert_array_equal(lw.decompose(q, losses).total, u.total)


def test_costs_by_name_of_events() -> None:
    q = lw.Dirichlet(np.array([1.0, 2.0, 3.0]))
    events = {"low": [0], "high": [1, 2]}
    u = lw.decompose(q, lw.CostLoss(1, {"low": 5, "high": 9}), events=events)
    np.testing.assert_array_equal(u["high"].total, lw.decompose(q, lw.CostLoss(1, 9), events=events)["high"].total)


def test_custom_loss_is_what_it_copies(lib: Any) -> None:
    copy = lw.CustomLoss(lambda f, y: (1 - f) ** 2 if y else f**2)
    probs = lib.array(np.random.default_rng(0).dirichlet(np.ones(3), (4, 3)))
    u, v = (lw.decompose(lw.Ensemble(probs), loss) for loss in (copy, lw.SquaredLoss()))
    for part in ("total", "aleatoric", "epistemic"):
        np.testing.assert_allclose(lib.numpy(getattr(u, part)), lib.numpy(getattr(v, part)), rtol=1e-9)
    assert copy.maximum == pytest.approx(0.25)


def test_names_of_losses() -> None:
    assert [type(as_loss(name)) for name in ("log", "squared", "brier", "spherical", "zero_one")] == [
        lw.LogLoss,
        lw.SquaredLoss,
        lw.SquaredLoss,
        lw.SphericalLoss,
        lw.ZeroOneLoss,
    ]
    loss = lw.BetaLoss(1, 2)
    assert as_loss(loss) is loss


# --- who is proper ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("loss", STRICT, ids=lambda loss: loss_id(loss)[:30] if isinstance(loss, lw.Loss) else None)
def test_strictly_proper(loss: Any) -> None:
    report = lw.check_proper(loss)
    assert report.proper
    assert report.strict
    assert bool(report)
    assert str(report) == "strictly proper: the true probability is the only best forecast"


@pytest.mark.parametrize(
    "loss",
    [lw.ZeroOneLoss(), lw.CostLoss(1, 9), lw.CostLoss(2.5, 0.1), lw.CostLoss(1, 0), lambda f, y: 0 * f],
    ids=lambda x: repr(x) if isinstance(x, lw.Loss) else None,
)
def test_proper_but_not_strictly(loss: Any) -> None:
    report = lw.check_proper(loss)
    assert report.proper
    assert not report.strict
    assert report.truth is not None
    assert report.forecast is not None
    assert abs(report.truth - report.forecast) > 0.02
    assert report.honest_loss == pytest.approx(report.best_loss, abs=1e-12)
    assert str(report).startswith(f"proper, not strictly: when the truth is {report.truth:.6g}, forecasting {report.forecast:.6g} costs ")


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
    "log, optimum off by 1e-4": lambda f, y: -np.log(f) + 1e-4 * f if y else -np.log1p(-f) + 1e-4 * f,
    "log tempered by 1e-4": lambda f, y: -np.log(f) if y else -(1 + 1e-4) * np.log1p(-f),
    "wrong in the middle": lambda f, y: (f + 0.05 * np.exp(-(((f - 0.5) / 0.05) ** 2)) - y) ** 2,
    "wrong near 1 only": lambda f, y: (np.where(f > 0.97, 0.97, f) - y) ** 2 + np.where(f > 0.97, 1e-3, 0) * (f - 0.97),
}


@pytest.mark.parametrize("name", IMPROPER)
def test_improper(name: str) -> None:
    phi = IMPROPER[name]
    report = lw.check_proper(phi)
    assert not report.proper
    assert not report.strict
    assert not report
    truth, forecast = report.truth, report.forecast
    assert truth is not None
    assert forecast is not None
    honest, best = (truth * phi(np.array(f), 1) + (1 - truth) * phi(np.array(f), 0) for f in (truth, forecast))
    assert honest > best  # the place that is shown does fail
    assert report.honest_loss == pytest.approx(float(honest))
    assert report.best_loss == pytest.approx(float(best))
    assert str(report).startswith("not proper: when the truth is ")
    with pytest.raises(ValueError, match="`phi` must be a proper loss; it is not proper: when the truth is"):
        lw.CustomLoss(phi)


def test_the_place_of_failure_points_the_right_way() -> None:
    report = lw.check_proper(lambda f, y: (f - 0.05 - y) ** 2)
    assert report.truth is not None
    assert report.forecast == pytest.approx(report.truth + 0.05, abs=2e-3)


@settings(max_examples=8)
@given(st.floats(-0.9, 5), st.floats(-0.9, 5))
def test_the_whole_beta_family_is_proper(a: float, b: float) -> None:
    assert lw.check_proper(lw.BetaLoss(a, b)).strict


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
    np.testing.assert_allclose(lw.decompose(lw.Dirichlet(alpha), step).aleatoric, expected.aleatoric, rtol=1e-9)
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (4, 2)))
    with pytest.raises(ValueError, match="has a kink"):
        lw.decompose(q, step, correction="jackknife")
    for smooth in (lambda f, y: -np.log(f) if y else -np.log1p(-f), lambda f, y: (1 - f) ** 2 if y else f**2):
        assert lw.CustomLoss(smooth).smooth


def test_costs_changed_in_place_do_not_change_the_loss() -> None:
    costs = np.array([1.0, 9.0])
    loss, same = lw.CostLoss(costs, 1.0), lw.CostLoss(costs.copy(), 1.0)
    costs[:] = costs[::-1].copy()
    t, m = np.array([0.3, 0.3]), np.array([0.6, 0.6])
    np.testing.assert_array_equal(loss.entropy(t), same.entropy(t))
    np.testing.assert_array_equal(loss.divergence(t, m), same.divergence(t, m))
