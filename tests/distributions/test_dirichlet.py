"""Dirichlet distributions against closed forms and quadratures in 25 to 60 digits, for α from 1e-3
to 1e6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import labelwise as lw
from beta_oracle import ALPHA, OTHERS, Truth, betas, boosting, cost, log_loss, squared
from labelwise._errors import InputError
from labelwise.distributions.marginals import Marginal
from oracle import ENTROPY
from wrong_input import refused


@pytest.mark.parametrize("k", ALPHA)
@pytest.mark.parametrize(("name", "truth"), [("log", log_loss), ("squared", squared)])
def test_closed_forms(name: str, truth: Callable[[Any, Any], Truth], k: int) -> None:
    u = lw.decompose(lw.Dirichlet(ALPHA[k]), name)
    closed, epistemic = (
        (5e-16 if name == "log" else 1e-15, 2e-14) if k <= 10 else (1e-13, 1e-13)
    )  # sums of 1000 are rounded too
    with mpmath.workdps(60):
        for where, a, b in betas(ALPHA[k]):
            total, aleatoric = truth(a, b)
            assert abs(u.total[where] - total) <= closed * total, (a, b)
            assert abs(u.aleatoric[where] - aleatoric) <= closed * aleatoric, (a, b)
            assert abs(u.epistemic[where] - (total - aleatoric)) <= epistemic * (
                total - aleatoric
            ), (a, b)


@pytest.mark.parametrize(
    ("a", "b"), [(1e-10, 100), (1e-12, 1e6), (1e-6, 20), (0.9, 15), (1e-3, 1e6)]
)
def test_tiny_beside_large_concentrations(a: float, b: float) -> None:
    found = lw.decompose(lw.Dirichlet(np.array([a, b]))).epistemic
    with mpmath.workdps(60):
        total, aleatoric = log_loss(mpf(a), mpf(b))
        np.testing.assert_allclose(found, float(total - aleatoric), rtol=1e-14)


@pytest.mark.parametrize("name", OTHERS)
def test_quadrature(name: str) -> None:
    loss, truth = OTHERS[name]
    for k in (2, 10):
        alpha = ALPHA[k][::3] if name == "spherical" else ALPHA[k]
        u = lw.decompose(lw.Dirichlet(alpha), loss)
        with mpmath.workdps(60):
            for where, a, b in list(betas(alpha))[:: 5 if name == "spherical" else 1]:
                total, aleatoric = truth(a, b)
                assert abs(u.total[where] - total) <= 1e-12 * total, (a, b)
                assert abs(u.aleatoric[where] - aleatoric) <= 1e-11 * total, (
                    a,
                    b,
                )  # promised: 1e-8
                assert abs(u.epistemic[where] - (total - aleatoric)) <= 1e-11 * total, (a, b)
                assert u.aleatoric[where] >= 0
                assert u.epistemic[where] >= 0


def test_quadrature_agrees_with_the_closed_forms() -> None:
    """The same integrals by quadrature, with no closed form to help."""
    q = lw.Dirichlet(ALPHA[3])
    for loss in (lw.LogLoss(), lw.SquaredLoss()):
        u = lw.decompose(q, loss)
        _, aleatoric, epistemic, _ = Marginal.split(q.marginal(), loss)
        np.testing.assert_allclose(aleatoric, u.aleatoric, rtol=0, atol=1e-11 * u.total.max())
        np.testing.assert_array_less(abs(epistemic - u.epistemic), 1e-11 * u.total + 1e-300)


def test_single_precision() -> None:
    """float32 loses no more than a few dozen of its own steps of TU, at the same extreme α."""
    alpha = ALPHA[2].astype(np.float32)
    for loss in ("log", "squared", *(loss for loss, _ in OTHERS.values())):
        single, double = (lw.decompose(lw.Dirichlet(x), loss) for x in (alpha, alpha.astype(float)))
        assert single.total.dtype == single.epistemic.dtype == np.float32
        for part in ("total", "aleatoric", "epistemic"):
            found, exact = getattr(single, part), getattr(double, part)
            assert np.all(found >= 0)
            np.testing.assert_array_less(
                abs(found - exact), 5e-6 * double.total, err_msg=f"{loss} {part}"
            )


@pytest.mark.parametrize("weights", [None, [0.2, 0.0, 5.0], [1e-9, 1.0, 1e3]])
@pytest.mark.parametrize(
    ("loss", "truth", "accuracy"),
    [
        ("log", log_loss, 1e-8),
        ("squared", squared, 1e-8),
        (lw.BetaLoss(-0.5, -0.5), boosting, None),
        (lw.ZeroOneLoss(), cost(1, 1), None),
    ],
)
def test_mixture_is_what_it_is_defined_to_be(
    loss: Any, truth: Callable[[Any, Any], Truth], accuracy: float | None, weights: Any
) -> None:
    """TU = G(Σ w m), AU = Σ w AU, EU = TU − AU; members that nearly agree among them."""
    rng = np.random.default_rng(3)
    alpha = 10 ** rng.uniform(-3, 6, (3, 6, 3))
    alpha[:, 0] = alpha[:1, 0] * (1 + 1e-7 * rng.normal(size=(3, 3)))
    u = lw.decompose(lw.DirichletMixture(alpha, weights), loss)
    names = {lw.BetaLoss: "boosting", lw.ZeroOneLoss: "zero_one"}
    g = ENTROPY[loss if isinstance(loss, str) else names[type(loss)]]
    with mpmath.workdps(60):
        w = [mpf(x) for x in weights or [1, 1, 1]]
        w = [x / mp.fsum(w) for x in w]
        laws = [{where: (a, b) for where, a, b in betas(alpha[m])} for m in range(3)]
        for where in laws[0]:
            members = [law[where] for law in laws]
            t = mp.fsum(x * a / (a + b) for x, (a, b) in zip(w, members, strict=True))
            c = mp.fsum(x * b / (a + b) for x, (a, b) in zip(w, members, strict=True))
            total = g(t, c)
            aleatoric = mp.fsum(x * truth(a, b)[1] for x, (a, b) in zip(w, members, strict=True))
            epistemic = total - aleatoric
            assert abs(u.total[where] - total) <= 1e-11 * total
            assert abs(u.aleatoric[where] - aleatoric) <= 1e-11 * (aleatoric if accuracy else total)
            assert abs(u.epistemic[where] - epistemic) <= (
                accuracy * epistemic if accuracy else 1e-11 * total
            )


@pytest.mark.parametrize("make", [lw.Dirichlet, lambda alpha: lw.DirichletMixture(alpha[None])])
def test_alpha(lib: Any, make: Any) -> None:
    for bad in (0.0, -1.0):
        with refused(
            ValueError,
            f"`alpha` must be positive; the lowest is {bad:g}",
            "From evidence e ≥ 0, alpha is e + 1",
        ):
            make(lib.array([[bad, 1.0]]))
    for bad, word in ((np.inf, "infinity"), (np.nan, "NaN")):
        with refused(ValueError, f"`alpha` must be finite; got {word} at index"):
            make(lib.array([[bad, 1.0]]))


@pytest.mark.parametrize("make", [lw.Dirichlet, lambda alpha: lw.DirichletMixture(alpha[None])])
def test_sums_of_concentrations_do_not_overflow(make: Any) -> None:
    with refused(
        ValueError,
        "`alpha` is too large to be summed over the classes; the highest is 5e+307 for shape",
    ):
        make(np.full((1, 3), 5e307))
    assert np.isfinite(lw.decompose(make(np.full((1, 3), 1e307))).total).all()


def test_alpha_of_wrong_shape(lib: Any) -> None:
    with refused(
        ValueError, "`alpha` must have at least 1 axis (..., classes); got a single number"
    ):
        lw.Dirichlet(lib.array(2.0))
    with refused(
        ValueError,
        "`alpha` of a mixture must have at least 2 axes (members, ..., classes); got shape (3,)",
    ):
        lw.DirichletMixture(lib.array([1.0, 1.0, 1.0]))


def test_probabilities_are_no_concentrations() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    with pytest.raises(InputError) as error:
        lw.Dirichlet(probs)
    assert str(error.value) == (
        "`alpha` of shape (50, 3) sums to 1 over the classes everywhere: it holds probabilities. "
        "Use lw.Ensemble. If they are concentrations all "
        "the same, give them as a mixture of one: lw.DirichletMixture(alpha[None])"
    )
    with pytest.raises(InputError, match="it holds probabilities"):
        lw.DirichletMixture(np.stack([probs, probs]))
    np.testing.assert_allclose(lw.DirichletMixture(probs[None]).mean(), probs)
    lw.Dirichlet(np.full((50, 3), 1 / 3))  # one prior for all
    lw.Dirichlet(np.array([[0.2, 0.8], [0.3, 0.7], [0.1, 0.9]]))  # so few may do so by chance


def test_networks_on_the_first_axis_are_said() -> None:
    alpha = 1 + np.random.default_rng(0).random((5, 100, 3))
    with pytest.warns(UserWarning, match="interpreted") as caught:
        lw.Dirichlet(alpha)
    assert caught[0].filename == __file__
    assert str(caught[0].message) == (
        "`alpha` of shape (5, 100, 3) is interpreted as 5 × 100 instances. If the first axis is 5 "
        "networks, use lw.DirichletMixture(alpha)"
    )
    lw.DirichletMixture(alpha)
    lw.Dirichlet(1 + np.random.default_rng(0).random((64, 64, 3)))  # an image
