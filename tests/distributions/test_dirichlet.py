"""Dirichlet distributions against closed forms and quadratures in 25 to 60 digits, for α from 1e-3 to 1e6."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import labelwise as lw
from labelwise._engine import dirichlet
from optional_libraries import optional
from oracle import ENTROPY, beta_expectation, regularized_beta
from wrong_input import refused

CORNERS = [1e-3, 1.0, 30.0, 1e3, 1e6]
CORNER_PAIRS = [(a, b) for a in CORNERS for b in CORNERS]
Truth = tuple[Any, Any]


def log_loss(a: Any, b: Any) -> Truth:
    m, s = a / (a + b), a + b
    psi = [mp.psi(0, x + 1) for x in (s, a, b)]
    return ENTROPY["log"](m, b / s), (m * (psi[0] - psi[1]) + b / s * (psi[0] - psi[2])) / mp.log(2)


def squared(a: Any, b: Any) -> Truth:
    s = a + b
    return a * b / s**2, a * b / (s * (s + 1))


def cost(false_positive: float, false_negative: float) -> Callable[[Any, Any], Truth]:
    """E min(b Θ, a (1 − Θ)): each side of the corner is a Beta distribution function."""

    def truth(a: Any, b: Any) -> Truth:
        fp, fn = mpf(false_positive), mpf(false_negative)
        t, c = fp / (fp + fn), fn / (fp + fn)
        below, above = fn * a / (a + b), fp * b / (a + b)
        return min(below, above), below * regularized_beta(t, c, a + 1, b) + above * regularized_beta(c, t, b + 1, a)

    return truth


def boosting(a: Any, b: Any) -> Truth:
    def half_step(x: Any) -> Any:
        return mp.loggamma(x + 0.5) - mp.loggamma(x)

    return 4 * mp.sqrt(a * b) / (a + b), 4 * mp.exp(half_step(a) + half_step(b)) / (a + b)


def one_sided_log(a: Any, b: Any) -> Truth:
    """BetaLoss(0, 1): G = −t ln t."""
    m, s = a / (a + b), a + b
    return ENTROPY["one-sided log"](m, b / s), m * (mp.psi(0, s + 1) - mp.psi(0, a + 1))


def cubic(a: Any, b: Any) -> Truth:
    """BetaLoss(2, 1): −G'' = t, G = (t − t³)/6."""
    m, mc, s = a / (a + b), b / (a + b), a + b
    return m * mc * (1 + m) / 6, (m - m * (a + 1) * (a + 2) / ((s + 1) * (s + 2))) / 6


def four_squared(a: Any, b: Any) -> Truth:
    total, aleatoric = squared(a, b)
    return 4 * total, 4 * aleatoric


def spherical(a: Any, b: Any) -> Truth:
    g = ENTROPY["spherical"]
    return g(a / (a + b), b / (a + b)), beta_expectation(g, a, b)


OTHERS: dict[str, tuple[lw.Loss, Callable[[Any, Any], Truth]]] = {
    "zero_one": (lw.ZeroOneLoss(), cost(1, 1)),
    "cost": (lw.CostLoss(0.3, 9.0), cost(0.3, 9.0)),
    "lopsided cost": (lw.CostLoss(1e4, 1.0), cost(1e4, 1.0)),
    "boosting": (lw.BetaLoss(-0.5, -0.5), boosting),
    "one-sided log": (lw.BetaLoss(0, 1), one_sided_log),
    "cubic": (lw.BetaLoss(2, 1), cubic),
    "custom": (lw.CustomLoss(lambda f, y: 4 * (1 - f) ** 2 if y else 4 * f**2), four_squared),
    "spherical": (lw.SphericalLoss(), spherical),
}


def random_alpha(k: int, n: int) -> np.ndarray:
    """Log-uniform concentrations; in the first instance one class has nearly all of them."""
    alpha = 10 ** np.random.default_rng(k).uniform(-3, 6, (n, k))
    alpha[0], alpha[0, 0] = 1e-3, 1e6
    return alpha


ALPHA = {2: np.array(CORNER_PAIRS), 3: random_alpha(3, 8), 10: random_alpha(10, 5), 1000: random_alpha(1000, 1)}


def betas(alpha: np.ndarray) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """Each label of each instance with the exact parameters of its law."""
    for i in range(len(alpha)):
        own = [mpf(float(x)) for x in alpha[i]]
        whole = mp.fsum(own)
        for k, a in enumerate(own):
            yield (i, k), a, whole - a


@pytest.mark.parametrize("k", ALPHA)
@pytest.mark.parametrize(("name", "truth"), [("log", log_loss), ("squared", squared)])
def test_closed_forms(name: str, truth: Callable[[Any, Any], Truth], k: int) -> None:
    u = lw.decompose(lw.Dirichlet(ALPHA[k]), name)
    closed, epistemic = (5e-16 if name == "log" else 1e-15, 2e-14) if k <= 10 else (1e-13, 1e-13)  # sums of 1000 are rounded too
    with mpmath.workdps(60):
        for where, a, b in betas(ALPHA[k]):
            total, aleatoric = truth(a, b)
            assert abs(u.total[where] - total) <= closed * total, (a, b)
            assert abs(u.aleatoric[where] - aleatoric) <= closed * aleatoric, (a, b)
            assert abs(u.epistemic[where] - (total - aleatoric)) <= epistemic * (total - aleatoric), (a, b)


@pytest.mark.parametrize(("a", "b"), [(1e-10, 100), (1e-12, 1e6), (1e-6, 20), (0.9, 15), (1e-3, 1e6)])
def test_tiny_beside_large_concentrations(a: float, b: float) -> None:
    found = lw.decompose(lw.Dirichlet(np.array([a, b]))).epistemic
    with mpmath.workdps(60):
        total, aleatoric = log_loss(mpf(a), mpf(b))
        np.testing.assert_allclose(found, float(total - aleatoric), rtol=1e-14)


COMPILED = {"zero_one": 1e-11, "cost": 1e-11, "lopsided cost": 1e-11, "spherical": 2e-13}
"""Relative accuracy of EU, however small it is, where the compiled code computes it; that of AU is 1e-14 TU (spherical: AU)."""


@pytest.mark.skipif(dirichlet.native is None, reason="the compiled code is not in use")
@pytest.mark.parametrize("name", COMPILED)
def test_tails_of_the_compiled_losses(name: str) -> None:
    """Relative accuracy far out, where EU is as small as 1e-40 TU."""
    loss, truth = OTHERS[name]
    rng = np.random.default_rng(5)
    alpha = 10 ** rng.uniform(-3, 6, (12 if name == "spherical" else 80, 2))
    alpha[::2] = alpha[::2, :1] * 10 ** rng.normal(0, 0.3, alpha[::2].shape)
    u = lw.decompose(lw.Dirichlet(alpha), loss)
    with mpmath.workdps(60):
        for where, a, b in betas(alpha):
            total, aleatoric = truth(a, b)
            epistemic = total - aleatoric
            assert abs(u.aleatoric[where] - aleatoric) <= 1e-14 * (aleatoric if name == "spherical" else total), (a, b)
            if epistemic > (1e-9 if name == "spherical" else 1e-40) * total:  # the oracle's own digits
                assert abs(u.epistemic[where] - epistemic) <= COMPILED[name] * epistemic, (a, b)


EVENTS = {
    "labels": None,
    "ordinal": lw.events.ordinal(4),
    "groups": lw.events.groups({"some": [0, 2], "all": [0, 1, 2, 3]}),
    "pairs": lw.events.one_vs_one(4),
}
LOSSES = ["log", "squared", "spherical", "zero_one", lw.CostLoss([1, 2, 0, 4], [3, 1, 1, 1e3])]


def both_ways(q: Any, loss: Any, events: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    ours = lw.decompose(q, loss, events=events)
    with monkeypatch.context() as patch:
        patch.setattr(dirichlet, "native", None)
        return ours, lw.decompose(q, loss, events=events)


@pytest.mark.skipif(dirichlet.native is None, reason="the compiled code is not in use")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_compiled_and_general_path_agree(loss: Any, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("groups", "pairs") and isinstance(loss, lw.CostLoss) and np.ndim(loss.false_positive):
        loss = lw.CostLoss(0.3, 9.0)
    elif name == "ordinal" and isinstance(loss, lw.CostLoss) and np.ndim(loss.false_positive):
        loss = lw.CostLoss([1, 2, 4], [3, 1, 1e3])
    rng = np.random.default_rng(0)
    alpha = (10 ** rng.uniform(-2, 4, (3, 5, 2, 4))).astype(dtype)
    weights = rng.dirichlet(np.ones(3), (5, 2)).transpose(2, 0, 1)
    slack = {"float64": 1e-11, "float32": 5e-6}[dtype]
    laws = [
        lw.Dirichlet(alpha[0]),
        lw.Dirichlet(alpha[0].transpose(1, 0, 2)),
        lw.DirichletMixture(alpha),
        lw.DirichletMixture(alpha, weights),
    ]
    for q in (*laws, lw.DirichletMixture(alpha, [0.0, 2, 1])):
        ours, general = both_ways(q, loss, EVENTS[name], monkeypatch)
        for part in ("total", "aleatoric", "epistemic"):
            found, expected = getattr(ours, part), getattr(general, part)
            assert found.dtype == expected.dtype == dtype
            assert found.shape == expected.shape
            np.testing.assert_array_less(abs(found - expected), slack * general.total + 1e-37, err_msg=part)


@pytest.mark.skipif(dirichlet.native is None, reason="the compiled code is not in use")
@pytest.mark.parametrize("loss", ["log", "spherical", "zero_one"])
def test_same_bits_for_any_number_of_threads_and_any_slice(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dirichlet, "SEVERAL", dict.fromkeys(dirichlet.SEVERAL, 1))
    alpha = 10 ** np.random.default_rng(1).uniform(-2, 3, (3, 301, 7))
    for q in (lw.Dirichlet(alpha[0]), lw.DirichletMixture(alpha, [1, 2, 3])):
        one = lw.decompose(q, loss, n_jobs=1)
        for other, rows in (
            *((lw.decompose(q, loss, n_jobs=n), slice(None)) for n in (2, 5)),
            (lw.decompose(q[7:230], loss), slice(7, 230)),
        ):
            for part in ("total", "aleatoric", "epistemic"):
                np.testing.assert_array_equal(getattr(other, part), getattr(one, part)[rows])


@pytest.mark.skipif(dirichlet.native is None, reason="the compiled code is not in use")
def test_epistemic_uncertainty_of_members_that_agree_is_their_own() -> None:
    alpha = np.array([[2.0, 3.0, 0.1]])
    for loss in LOSSES[:4]:
        own, mixed = lw.decompose(lw.Dirichlet(alpha), loss), lw.decompose(lw.DirichletMixture(np.repeat(alpha[None], 4, axis=0)), loss)
        np.testing.assert_allclose(mixed.epistemic, own.epistemic, rtol=1e-15)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_tensors_in_main_memory_use_the_compiled_code_and_gradients_the_general_path(library: str) -> None:
    alpha = 10 ** np.random.default_rng(2).uniform(-1, 2, (5, 3)).astype(np.float32)
    ours = lw.decompose(lw.Dirichlet(alpha))
    if library == "torch":
        torch = optional("torch")
        given = torch.tensor(alpha)
        differentiated = lw.decompose(lw.Dirichlet(given.clone().requires_grad_()))
        differentiated.epistemic.sum().backward()
        np.testing.assert_allclose(differentiated.epistemic.detach(), ours.epistemic, rtol=1e-3, atol=1e-6)
    else:
        given = optional("jax.numpy").asarray(alpha)
    found = lw.decompose(lw.Dirichlet(given))
    assert type(found.epistemic) is type(given)
    if dirichlet.native is not None:
        np.testing.assert_array_equal(np.asarray(found.epistemic), ours.epistemic)


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
                assert abs(u.aleatoric[where] - aleatoric) <= 1e-11 * total, (a, b)  # promised: 1e-8
                assert abs(u.epistemic[where] - (total - aleatoric)) <= 1e-11 * total, (a, b)
                assert u.aleatoric[where] >= 0
                assert u.epistemic[where] >= 0


def test_quadrature_agrees_with_the_closed_forms() -> None:
    """The same integrals by `expect`, with no closed form to help."""
    q = lw.Dirichlet(ALPHA[3])
    for loss in (lw.LogLoss(), lw.SquaredLoss()):
        u = lw.decompose(q, loss)
        mean = q.marginal().mean
        aleatoric = q.expect(lambda t, c, d, loss=loss: loss.entropy(t, c))
        epistemic = q.expect(lambda t, c, d, loss=loss, mean=mean: loss.divergence(t, mean[0], c, mean[1], d))
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
            np.testing.assert_array_less(abs(found - exact), 5e-6 * double.total, err_msg=f"{loss} {part}")


@pytest.mark.parametrize("weights", [None, [0.2, 0.0, 5.0], [1e-9, 1.0, 1e3]])
@pytest.mark.parametrize(
    ("loss", "truth", "accuracy"),
    [("log", log_loss, 1e-8), ("squared", squared, 1e-8), (lw.BetaLoss(-0.5, -0.5), boosting, None), (lw.ZeroOneLoss(), cost(1, 1), None)],
)
def test_mixture_is_what_it_is_defined_to_be(loss: Any, truth: Callable[[Any, Any], Truth], accuracy: float | None, weights: Any) -> None:
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
            assert abs(u.epistemic[where] - epistemic) <= (accuracy * epistemic if accuracy else 1e-11 * total)


@pytest.mark.parametrize("make", [lw.Dirichlet, lambda alpha: lw.DirichletMixture(alpha[None])])
def test_alpha(lib: Any, make: Any) -> None:
    for bad in (0.0, -1.0):
        with refused(ValueError, f"`alpha` must be positive; the lowest is {bad:g}", "From evidence e ≥ 0, alpha is e + 1"):
            make(lib.array([[bad, 1.0]]))
    for bad, word in ((np.inf, "infinity"), (np.nan, "NaN")):
        with refused(ValueError, f"`alpha` must be finite; got {word} at index"):
            make(lib.array([[bad, 1.0]]))


def test_alpha_of_wrong_shape(lib: Any) -> None:
    with refused(ValueError, "`alpha` must have at least 1 axis (..., classes); got a single number"):
        lw.Dirichlet(lib.array(2.0))
    with refused(ValueError, "`alpha` of a mixture must have at least 2 axes (members, ..., classes); got shape (3,)"):
        lw.DirichletMixture(lib.array([1.0, 1.0, 1.0]))
