"""TU and AU of Beta laws in many digits, and concentrations to test them at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpmath import mp, mpf

import labelwise as lw
from oracle import ENTROPY, beta_expectation, regularized_beta

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
        return min(below, above), below * regularized_beta(
            t, c, a + 1, b
        ) + above * regularized_beta(c, t, b + 1, a)

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


ALPHA = {
    2: np.array(CORNER_PAIRS),
    3: random_alpha(3, 8),
    10: random_alpha(10, 5),
    1000: random_alpha(1000, 1),
}


def betas(alpha: np.ndarray) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """Each label of each instance with the exact parameters of its law."""
    for i in range(len(alpha)):
        own = [mpf(float(x)) for x in alpha[i]]
        whole = mp.fsum(own)
        for k, a in enumerate(own):
            yield (i, k), a, whole - a
