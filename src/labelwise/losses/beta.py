"""The beta family of proper losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf
from typing import ClassVar

import numpy as np

from .._arrays import Array, like, namespace, smallest, without_gradient
from .._errors import InputError
from ._special import log_complement, ratio
from .base import Loss, complete, complete_two, not_negative, pick
from .maxima import maximum_entropy

TABULATED = 12
"""Parameters up to which the kernel has the loss."""


@dataclass(frozen=True)
class BetaLoss(Loss):
    r"""The two-parameter family of Buja, Stuetzle and Shen (2005), a, b > −1.

    .. math:: \varphi(\hat\theta, 1) = \int_{\hat\theta}^1 s^{a-1} (1-s)^b ds, \qquad
              \varphi(\hat\theta, 0) = \int_0^{\hat\theta} s^a (1-s)^{b-1} ds, \qquad -G''(t) =
              t^{a-1} (1-t)^{b-1}

    (0, 0) is the log loss in nats, (1, 1) half the squared loss, (−½, −½) boosting loss; a ≠ b
    weighs the two kinds of error unequally. Entropy and divergence are accurate to 1e-10 of the
    entropy in double precision; with a and b near 100 they are so small that they underflow in
    float32.

    >>> round(float(BetaLoss(1, 1).entropy(0.3)), 12)  # 0.3 · 0.7 / 2
    0.105
    """

    a: float
    b: float
    name: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        for key, value in (("a", self.a), ("b", self.b)):
            if not isinstance(value, int | float | np.number):
                raise TypeError(f"`{key}` must be a number greater than -1; got {value!r}")
            if not -1 < value < inf:
                raise InputError(
                    f"`{key}` must be finite and greater than -1, or the loss has no finite "
                    f"entropy; got {value!r}"
                )
            if value > 100:
                raise InputError(
                    f"`{key}` must be at most 100 (the integrals lose their accuracy beyond); got "
                    f"{value!r}"
                )

    @cached_property
    def _rules(self) -> tuple[_UpperIntegral, _UpperIntegral]:
        return _UpperIntegral.prepare(self.a, self.b), _UpperIntegral.prepare(self.b, self.a)

    def _partial(self, t: Array, c: Array) -> tuple[Array, Array]:
        """φ(t, 1) and φ(t, 0); at the ends the right value with the slope of the nearest number
        inside.
        """
        xp = namespace(t)
        tiny, half_eps = smallest(t)
        t_inside = xp.where(t > 0, t, like(tiny, t))
        c_inside = xp.where(c > 0, c, like(half_eps, c))
        one = self._rules[0](t_inside, c_inside)
        zero = self._rules[1](c_inside, t_inside)
        return (
            xp.where(c > 0, one, one - without_gradient(one)),
            xp.where(t > 0, zero, zero - without_gradient(zero)),
        )

    def phi(self, forecast: Array, y: int) -> Array:
        one, zero = self._partial(*complete(forecast))
        return pick(y, one, zero)

    def entropy(self, t: Array, c: Array = None) -> Array:
        if c is None:
            t, c = complete(t)
        one, zero = self._partial(t, c)
        return t * one + c * zero

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        r""":math:`\int_m^t (t-s)\, s^{a-1}(1-s)^{b-1} ds`: by quadrature where t and m are close,
        else from φ.
        """
        if c is None or mc is None or d is None:
            t, m, c, mc, d = complete_two(t, m, c, mc, d)
        xp = namespace(t)
        one, zero = self._partial(t, c)
        one_m, zero_m = self._partial(m, mc)
        far = not_negative(t * (one_m - one) + c * (zero_m - zero))
        least = xp.minimum(m, mc)
        near = xp.abs(d) < 0.5 * least
        half = xp.ones_like(m) / 2
        m, mc, least, step = (
            xp.where(near, x, safe)
            for x, safe in ((m, half), (mc, half), (least, half), (d, 0 * d))
        )
        up, down = ratio(step, m), ratio(step, mc)
        close = xp.zeros_like(t)
        for v, w in zip(*_gauss_legendre(10), strict=True):
            close = close + (w * (1 - v)) * (1 + v * up) ** (self.a - 1) * (1 - v * down) ** (
                self.b - 1
            )
        # d² m^(a−1) mc^(b−1), with d/min(m, mc) for d: the powers that are left do not overflow
        low = 2 * xp.astype(m <= mc, m.dtype)
        scale = ratio(step, least) ** 2 * m ** (self.a - 1 + low) * mc ** (self.b + 1 - low)
        return xp.where(near, scale * close, far)

    @cached_property
    def maximum(self) -> float:
        return maximum_entropy(self)


@dataclass(frozen=True)
class _UpperIntegral:
    """∫_t^1 s^(a−1) (1−s)^b ds, by Gauss–Jacobi rules that hold the power of s (or of 1−s) as their
    weight.

    Below ½ it is a constant less ∫_0^t. Where a is small or negative that integral is large or
    infinite; then s^(a−1) is taken out of it and integrated by itself.
    """

    a: float
    b: float
    constant: float
    low: tuple[
        np.ndarray, np.ndarray
    ]  # nodes and weights for v^(a−1) on [0, 1], or v^a where s^(a−1) is taken out
    high: tuple[np.ndarray, np.ndarray]  # the same for v^b

    @classmethod
    def prepare(cls, a: float, b: float) -> _UpperIntegral:
        from scipy.special import roots_jacobi

        def rule(power: float) -> tuple[np.ndarray, np.ndarray]:
            x, w = roots_jacobi(14 + int(max(a, b, 0) / 3), 0, power)
            return (x + 1) / 2, w / 2 ** (power + 1)

        self = cls(a, b, 0.0, rule(a if a < 0.5 else a - 1), rule(b))
        half = np.asarray(0.5)
        return replace(self, constant=float(self._above(half) + self._below(half)))

    def _below(self, t: Array) -> Array:
        """∫_0^t s^(a−1) [(1−s)^b − 1] ds for t ≤ ½; without the −1 where a ≥ ½."""
        return self._below_power(t) * t ** (self.a + 1 if self.a < 0.5 else self.a)

    def _below_power(self, t: Array) -> Array:
        """What is left of `_below` without the power of t: analytic on [0, ½]."""
        xp = namespace(t)
        tiny = like(smallest(t)[0], t)
        total = xp.zeros_like(t)
        for v, w in zip(*self.low, strict=True):
            s = xp.maximum(t * float(v), tiny)
            power = self.b * log_complement(s)
            value = ratio(xp.expm1(power), s) if self.a < 0.5 else xp.exp(power)
            total = total + float(w) * value
        return total

    def _above(self, c: Array) -> Array:
        """∫_0^c r^b (1−r)^(a−1) dr for c ≤ ½."""
        return self._above_power(c) * c ** (self.b + 1)

    def _above_power(self, c: Array) -> Array:
        """What is left of `_above` without the power of c: analytic on [0, ½]."""
        total = 0 * c
        for v, w in zip(*self.high, strict=True):
            total = total + float(w) * (1 - c * float(v)) ** (self.a - 1)
        return total

    def _taken_out(self, t: Array) -> Array:
        """∫_t^½ s^(a−1) ds."""
        xp = namespace(t)
        log_2t = xp.log(2 * t)
        if self.a == 0:
            return -log_2t
        return -xp.expm1(self.a * log_2t) / (self.a * 2**self.a)

    def __call__(self, t: Array, c: Array) -> Array:
        xp = namespace(t)
        half = xp.ones_like(t) / 2
        low = xp.where(t <= half, t, half)
        below = self.constant - self._below(low)
        if self.a < 0.5:
            below = below + self._taken_out(low)
        return xp.where(t <= half, below, self._above(xp.where(t <= half, half, c)))


@lru_cache(maxsize=64)
def series(a: float, b: float) -> np.ndarray:
    """The loss as the kernel computes it (``_engine/beta.h``): for either side a, b, C, n and n
    coefficients each of P and Q.

    Chebyshev interpolation, written in powers of 4u − 1. Where a and b are above `TABULATED` its
    accuracy beside the entropy is lost.
    """
    rules = _UpperIntegral.prepare(a, b), _UpperIntegral.prepare(b, a)
    n = 19 + int(max(a, b, 0))
    angles = np.pi * (np.arange(n) + 0.5) / n
    nodes = (1 + np.cos(angles)) / 4
    interpolate = np.cos(np.outer(np.arange(n), angles)) * (2 / n)
    interpolate[0] /= 2
    powers = np.eye(n)  # of the Chebyshev polynomials
    for j in range(2, n):
        powers[j] = -powers[j - 2]
        powers[j, 1:] += 2 * powers[j - 1, :-1]
    sides = []
    for own, other in (rules, rules[::-1]):
        sides += [
            [own.a, own.b, own.constant, n],
            *(powers.T @ (interpolate @ f(nodes)) for f in (own._below_power, other._above_power)),
        ]
    return np.concatenate(sides)


@lru_cache
def _gauss_legendre(n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    x, w = np.polynomial.legendre.leggauss(n)
    return tuple(((x + 1) / 2).tolist()), tuple((w / 2).tolist())
