"""The measures to 60 and more digits, straight from their definitions: what the library's numbers
are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

DIGITS = {"squared": 360}
"""Digits that leave enough of TU − AU: 100, except where EU may be as small beside TU as floating
point numbers get.
"""
FALSE_POSITIVE, FALSE_NEGATIVE = 0.3, 9.0
Entropy = Callable[[Any, Any], Any]


def _x_log_x(x: Any, rest: Any) -> Any:
    """x ln x with x = 1 − rest."""
    return mpf(0) if x == 0 else x * (mp.log1p(-rest) if rest < 0.5 else mp.log(x))


def _spherical(t: Any, c: Any) -> Any:
    return 2 * t * c / (1 + mp.sqrt(t * t + c * c))


ENTROPY: dict[str, Entropy] = {
    "log": lambda t, c: -(_x_log_x(t, c) + _x_log_x(c, t)) / mp.log(2),
    "squared": lambda t, c: t * c,
    "spherical": _spherical,
    "zero_one": min,
    "cost": lambda t, c: min(mpf(FALSE_NEGATIVE) * t, mpf(FALSE_POSITIVE) * c),
    "boosting": lambda t, c: 4 * mp.sqrt(t * c),  # BetaLoss(−½, −½)
    "one-sided log": lambda t, c: -_x_log_x(t, c),  # BetaLoss(0, 1)
    "custom": lambda t, c: 4 * t * c,
}
"""G(t) of each loss, given t and c = 1 − t."""


@mpmath.workdps(max(DIGITS.values()))
def ensemble(
    p: Sequence[float], weights: Sequence[float] | None, entropy: dict[str, Entropy]
) -> dict[str, tuple[Any, Any, Any]]:
    """TU = G(Σ w p), AU = Σ w G(p) and EU = TU − AU of one label's member vector, for each
    entropy.
    """
    w = [mpf(1)] * len(p) if weights is None else [mpf(float(x)) for x in weights]
    members: dict[float, Any] = {}  # weight of each different probability
    whole = sum(w)
    for x, wi in zip(p, w, strict=True):
        members[float(x)] = members.get(float(x), mpf(0)) + wi / whole
    laws = [(wi, mpf(x), 1 - mpf(x)) for x, wi in members.items() if wi > 0]
    t = sum(wi * x for wi, x, _ in laws)
    c = sum(wi * rest for wi, _, rest in laws)
    result = {}
    for name, g in entropy.items():
        with mpmath.workdps(DIGITS.get(name, 100)):
            total = g(t, c)
            aleatoric = sum(wi * g(x, rest) for wi, x, rest in laws)
            result[name] = total, aleatoric, total - aleatoric if len(laws) > 1 else mpf(0)
    return result


@mpmath.workdps(60)
def regularized_beta(x: Any, c: Any, a: Any, b: Any) -> Any:
    """The distribution function of Beta(a, b) at x = 1 − c, by its continued fraction (Lentz), for
    all a and b.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - regularized_beta(c, x, b, a)
    front = (
        mp.exp(a * mp.log(x) + b * mp.log(c) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b))
        / a
    )
    numerator, denominator = mpf(1), 1 / (1 - (a + b) * x / (a + 1))
    value, step, m = denominator, mpf(0), 0
    while abs(step - 1) > mpf(10) ** -40:
        m += 1
        for term in (m * (b - m) / (a + 2 * m - 1), -(a + m) * (a + b + m) / (a + 2 * m + 1)):
            factor = term * x / (a + 2 * m)
            denominator, numerator = 1 / (1 + factor * denominator), 1 + factor / numerator
            step = denominator * numerator
            value *= step
    return front * value


def beta_expectation(
    g: Callable[[Any, Any], Any], a: Any, b: Any, corner: float | None = None
) -> Any:
    """E g(Θ, 1 − Θ) for Θ ~ Beta(a, b) and a g that is 0 at both ends like t and 1 − t, by
    quadrature in the log-odds.
    """
    with mpmath.workdps(25):
        log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

        def integrand(x: Any) -> Any:
            small = mp.exp(-abs(x))
            t, c = (
                (1 / (1 + small), small / (1 + small))
                if x >= 0
                else (small / (1 + small), 1 / (1 + small))
            )
            log_t, log_c = (
                (-mp.log1p(small), -x - mp.log1p(small))
                if x >= 0
                else (x - mp.log1p(small), -mp.log1p(small))
            )
            return mp.exp(a * log_t + b * log_c - log_beta) * g(t, c)

        center, spread = mp.log((a + 1) / (b + 1)), mp.sqrt(1 / (a + 1) + 1 / (b + 1))
        low, high = max(60 / (a + 1), 12 * spread), max(60 / (b + 1), 12 * spread)
        ends = [
            center + x
            for x in (
                -low,
                -low / 3,
                -low / 10,
                -2 * spread,
                0,
                2 * spread,
                high / 10,
                high / 3,
                high,
            )
        ]
        if corner is not None:
            ends.append(mp.log(mpf(corner) / (1 - mpf(corner))))
        return mp.quad(integrand, sorted(ends), maxdegree=6)


SLOPES: dict[str, Entropy] = {
    "log": lambda t, c: mp.log(c / t, 2),
    "squared": lambda t, c: c - t,
    "spherical": lambda t, c: (c - t) / mp.sqrt(t * t + c * c),
    "zero_one": lambda t, c: mpf(-1 if t > c else 1),
    "cost": lambda t, c: (
        -mpf(FALSE_POSITIVE)
        if mpf(FALSE_NEGATIVE) * t > mpf(FALSE_POSITIVE) * c
        else mpf(FALSE_NEGATIVE)
    ),
}
"""G' of each loss, from a probability and its complement."""


def exact_slopes(p: np.ndarray, loss: str) -> np.ndarray:
    """dTU/dp, dAU/dp and dEU/dp (3, M, N, K), with the slopes of the nearest number inside at 0 and
    1.
    """
    info, m = np.finfo(p.dtype), len(p)
    result = np.zeros((3, *p.shape))

    def slope(t: Any) -> Any:
        return SLOPES[loss](
            t if t > 0 else mpf(float(info.smallest_normal)),
            1 - t if t < 1 else mpf(float(info.epsneg)),
        )

    with mpmath.workdps(360):  # 1 − t of a subnormal t is not 1
        for n, k in np.ndindex(p.shape[1:]):
            members = [mpf(float(x)) for x in p[:, n, k]]
            of_mean = slope(sum(members) / m if len(set(members)) > 1 else members[0])
            for j, own in enumerate(map(slope, members)):
                result[:, j, n, k] = of_mean / m, own / m, (of_mean - own) / m
    return result
