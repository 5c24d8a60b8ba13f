"""The beta family: log, squared and boosting loss are members, and the general one is an incomplete
beta function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.integrate import quad

import labelwise as lw
from loss_cases import GRID
from wrong_input import refused

FORECASTS = np.array(
    [
        1e-200,
        1e-30,
        1e-9,
        1e-3,
        0.1,
        0.3,
        0.4999,
        0.5,
        0.5001,
        0.6,
        0.9,
        0.999,
        1 - 1e-9,
        1 - 2**-53,
    ]
)
GENERAL = [
    (-0.9, -0.9),
    (-0.9, 3),
    (-0.3, 12),
    (0.3, -0.2),
    (0.5, 0.5),
    (0.49, 3),
    (2, 0.5),
    (2, 9),
    (12, 12),
    (12, 0.1),
    (11, 3),
]


class Boosting(lw.Loss):
    """exp(−½ · log-odds) for an outcome of 1: the exponential loss that AdaBoost minimizes."""

    name = "boosting"

    def phi(self, forecast: Any, y: int) -> Any:
        return np.sqrt((1 - forecast) / forecast) if y else np.sqrt(forecast / (1 - forecast))

    def entropy(self, t: Any, c: Any = None) -> Any:
        return 2 * np.sqrt(t * (1 - t))

    def divergence(self, t: Any, m: Any, c: Any = None, mc: Any = None, d: Any = None) -> Any:
        return t * self.phi(m, 1) + (1 - t) * self.phi(m, 0) - self.entropy(t)


@pytest.mark.parametrize(
    ("a", "b", "loss", "scale"),
    [
        (0, 0, lw.LogLoss(base=np.e), 1),
        (1, 1, lw.SquaredLoss(), 1 / 2),
        (-0.5, -0.5, Boosting(), 2),
    ],
    ids=["log", "squared", "boosting"],
)
def test_members_up_to_scale(a: float, b: float, loss: Any, scale: float) -> None:
    """φ itself, the entropy, the divergence and the label-wise decomposition."""
    beta = lw.BetaLoss(a, b)
    f = np.linspace(0.01, 0.99, 99)
    for y in (0, 1):
        np.testing.assert_allclose(beta.phi(f, y), scale * loss.phi(f, y), rtol=1e-13)
    np.testing.assert_allclose(beta.entropy(f), scale * loss.entropy(f), rtol=1e-13)
    t, m = np.meshgrid(f, f)
    np.testing.assert_allclose(
        beta.divergence(t, m), scale * loss.divergence(t, m), rtol=1e-12, atol=1e-14
    )
    if not isinstance(loss, Boosting):
        q = lw.Ensemble(np.random.default_rng(0).dirichlet([0.3] * 4, (5, 20)))
        ours, known = lw.decompose(q, beta), lw.decompose(q, loss)
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_allclose(
                getattr(ours, part), scale * getattr(known, part), rtol=1e-12, atol=1e-15
            )


def partial_losses(a: float, b: float) -> Callable[[float], tuple[Any, Any]]:
    """φ(t, 1) and φ(t, 0) as incomplete beta functions of mpmath."""
    a_, b_ = mpf(a), mpf(b)

    def integral(p: Any, q: Any, x: Any, rest: Any) -> Any:
        """∫_x^1 s^(p−1) (1−s)^(q−1) ds, from the end that is nearer."""
        return (
            mp.beta(p, q) - mp.betainc(p, q, 0, x)
            if p > 0 and x < 0.5
            else mp.betainc(q, p, 0, rest)
        )

    return lambda t: (
        integral(a_, b_ + 1, mpf(t), 1 - mpf(t)),
        integral(b_, a_ + 1, 1 - mpf(t), mpf(t)),
    )


@pytest.mark.parametrize(("a", "b"), GENERAL)
def test_general_members(a: float, b: float) -> None:
    """Entropy and divergence to 1e-10 of the entropy (of the mean, hence of TU), for forecasts at
    all scales.
    """
    loss = lw.BetaLoss(a, b)
    with mpmath.workdps(260):  # 1 − 1e-200 is not 1
        exact = [partial_losses(a, b)(float(t)) for t in FORECASTS]
        entropy = [
            mpf(float(t)) * one + (1 - mpf(float(t))) * zero
            for t, (one, zero) in zip(FORECASTS, exact, strict=True)
        ]
        found = loss.entropy(FORECASTS)
        for g, expected in zip(found, entropy, strict=True):
            assert abs(g - expected) <= 1e-10 * expected + 1e-300
        for j, (one, zero) in enumerate(exact):
            divergence = loss.divergence(FORECASTS, np.full_like(FORECASTS, FORECASTS[j]))
            m, mc = mpf(float(FORECASTS[j])), 1 - mpf(float(FORECASTS[j]))
            for i in range(len(FORECASTS)):
                t, c = mpf(float(FORECASTS[i])), 1 - mpf(float(FORECASTS[i]))
                share = t / m + c / mc  # averaged over an ensemble with mean m this is 2
                assert (
                    abs(divergence[i] - (t * one + c * zero - entropy[i]))
                    <= 1e-10 * share * entropy[j] + 1e-300
                ), (t, m)


def test_near_divergence_keeps_its_digits() -> None:
    """D ≈ ½ d² t^(a−1) (1−t)^(b−1) for forecasts that differ by 1e-9: nothing is left of it in φ(m,
    t) − G(t).
    """
    t = np.array([1e-200, 1e-6, 0.2, 0.5, 0.97])
    for a, b in GENERAL:
        d = 1e-9 * t
        found = lw.BetaLoss(a, b).divergence(t + d, t, 1 - t - d, 1 - t, d)
        half = 0.5 * (d / t) ** 2 * t ** (a + 1) * (1 - t) ** (b - 1)
        np.testing.assert_allclose(found, half, rtol=1e-6)


def test_ends() -> None:
    """A certain forecast that comes true costs nothing; D(1‖m) is then the loss of m."""
    for a, b in GENERAL:
        loss = lw.BetaLoss(a, b)
        for dtype in (np.float32, np.float64):
            ends, m = np.array([0, 1], dtype), np.array([0.3, 0.3], dtype)
            np.testing.assert_array_equal(loss.entropy(ends), 0)
            np.testing.assert_allclose(
                loss.divergence(ends, m), [loss.phi(m, 0)[0], loss.phi(m, 1)[0]], rtol=1e-6
            )


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (-0.9, -0.9),
        (-0.9, 3),
        (0.3, -0.2),
        (0.5, 0.5),
        (0.49, 3),
        (2, 0.5),
        (2, 9),
        (12, 12),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ensembles_are_accurate(a: float, b: float, dtype: Any) -> None:
    """TU, AU and EU from the series against mpmath, beside TU."""
    rng = np.random.default_rng(0)
    p = np.concatenate(
        [
            rng.random((4, 3, 2)),
            10 ** rng.uniform(-25, 0, (4, 4, 2)),
            rng.random((1, 2, 2)) * (1 + 1e-6 * rng.random((4, 2, 2))),
        ],
        1,
    )
    p = p.astype(dtype)
    u = lw.decompose(lw.MultiLabelEnsemble(p), lw.BetaLoss(a, b))
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    with mpmath.workdps(60):
        partial = partial_losses(a, b)

        def entropy(t: Any) -> Any:
            one, zero = partial(t)
            return t * one + (1 - t) * zero

        for n, k in np.ndindex(p.shape[1:]):
            members = [mpf(float(x)) for x in p[:, n, k]]
            total, aleatoric = entropy(sum(members) / 4), sum(map(entropy, members)) / 4
            for found, exact in zip(
                (u.total, u.aleatoric, u.epistemic),
                (total, aleatoric, total - aleatoric),
                strict=True,
            ):
                assert abs(found[n, k] - exact) <= tolerance * total + float(
                    np.finfo(dtype).tiny
                ), (n, k)
    assert np.all(u.epistemic >= 0)


@pytest.mark.parametrize(
    ("a", "b", "member", "scale"),
    [(0, 0, lw.LogLoss(base=math.e), 1.0), (1, 1, lw.SquaredLoss(), 0.5)],
    ids=["log", "squared"],
)
def test_beta_family_holds_log_and_squared_loss(
    a: float, b: float, member: lw.Loss, scale: float
) -> None:
    beta = lw.BetaLoss(a, b)
    for y in (0, 1):
        np.testing.assert_allclose(beta.phi(GRID, y), scale * member.phi(GRID, y), rtol=1e-8)
    np.testing.assert_allclose(beta.entropy(GRID), scale * member.entropy(GRID), rtol=1e-8)
    pairs = GRID[:, None], GRID[None, :]
    np.testing.assert_allclose(
        beta.divergence(*pairs), scale * member.divergence(*pairs), rtol=1e-6, atol=1e-14
    )
    assert beta.maximum == pytest.approx(scale * member.maximum, rel=1e-12)


def test_beta_family_holds_boosting_loss() -> None:
    """φ(f, 1) = 2 √((1−f)/f), whose entropy is 4 √(t(1−t)): the loss of AdaBoost at its best
    score.
    """
    boosting = lw.BetaLoss(-0.5, -0.5)
    np.testing.assert_allclose(boosting.phi(GRID, 1), 2 * np.sqrt((1 - GRID) / GRID), rtol=1e-8)
    np.testing.assert_allclose(boosting.phi(GRID, 0), 2 * np.sqrt(GRID / (1 - GRID)), rtol=1e-8)
    np.testing.assert_allclose(boosting.entropy(GRID), 4 * np.sqrt(GRID * (1 - GRID)), rtol=1e-8)


@pytest.mark.parametrize(
    ("a", "b"), [(0.5, 2.0), (3.0, 0.0), (-0.9, 1.5), (0.0, -0.5), (7.0, 11.0)]
)
def test_beta_family_is_its_integral(a: float, b: float) -> None:
    for f in (0.01, 0.3, 0.8):
        one = quad(lambda s: s ** (a - 1) * (1 - s) ** b, f, 1)[0]
        zero = quad(lambda s: s**a * (1 - s) ** (b - 1), 0, f)[0]
        assert float(lw.BetaLoss(a, b).phi(f, 1)) == pytest.approx(one, rel=1e-6)
        assert float(lw.BetaLoss(a, b).phi(f, 0)) == pytest.approx(zero, rel=1e-6)


@settings(max_examples=8)
@given(st.floats(-0.9, 5), st.floats(-0.9, 5))
def test_the_whole_beta_family_is_proper(a: float, b: float) -> None:
    assert lw.check_proper(lw.BetaLoss(a, b)).strict


@pytest.mark.parametrize("value", [-1, -1.5, math.nan, math.inf])
def test_beta_parameters(value: float) -> None:
    with refused(
        ValueError,
        "`a` must be greater than -1, or the loss has no finite entropy",
        f"got {value!r}",
    ):
        lw.BetaLoss(value, 0)
    with refused(ValueError, "`b` must be greater than -1"):
        lw.BetaLoss(0, value)


def test_beta_parameters_of_other_kinds() -> None:
    with refused(ValueError, "`b` must be greater than -1", "at most 12", "got 13"):
        lw.BetaLoss(1, 13)
    with refused(TypeError, "`a` must be a number greater than -1; got '1'"):
        lw.BetaLoss("1", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("a", "b"), [(-0.5, -0.5), (0, 0), (-0.3, 0.5), (1, -0.9), (0.5, 2.0)])
def test_the_loss_of_being_certain_and_wrong(a: float, b: float) -> None:
    """Infinite where the parameter is not positive, as the regret of such a forecast."""
    loss = lw.BetaLoss(a, b)
    ends = np.array([0.0, 1.0])
    wrong = np.array([loss.phi(ends, 1)[0], loss.phi(ends, 0)[1]])
    np.testing.assert_array_equal(np.isinf(wrong), [a <= 0, b <= 0])
    assert loss.unbounded == (a <= 0, b <= 0)
    assert loss.phi(ends, 1)[1] == loss.phi(ends, 0)[0] == 0
    assert float(loss.phi(0.0, 1)) == wrong[0]
    regret = loss.regret(ends[::-1], ends, ends, ends[::-1], ends[::-1] - ends)
    np.testing.assert_array_equal(np.isinf(regret), np.isinf(wrong))
