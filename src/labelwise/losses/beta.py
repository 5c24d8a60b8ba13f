"""The beta family of proper losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import ClassVar

import numpy as np

from .._arrays import Array, like, namespace, smallest, without_gradient
from .base import Loss, complete, complete_two, maximum_entropy, not_negative, pick


@dataclass(frozen=True)
class BetaLoss(Loss):
    r"""The two-parameter family of Buja, Stuetzle and Shen (2005), a, b > −1.

    .. math:: \varphi(\hat\theta, 1) = \int_{\hat\theta}^1 s^{a-1} (1-s)^b ds, \qquad
              \varphi(\hat\theta, 0) = \int_0^{\hat\theta} s^a (1-s)^{b-1} ds, \qquad -G''(t) = t^{a-1} (1-t)^{b-1}

    (0, 0) is the log loss in nats, (1, 1) half the squared loss, (−½, −½) boosting loss; a ≠ b weighs the two kinds of
    error unequally. Relative accuracy 1e-10 for a, b ≤ 20.

    >>> float(BetaLoss(1, 1).entropy(0.3))  # 0.3 · 0.7 / 2
    0.105
    """

    a: float
    b: float
    name: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        for key, value in (("a", self.a), ("b", self.b)):
            if not (isinstance(value, int | float) and isfinite(value) and value > -1):
                raise ValueError(f"`{key}` must be a finite number greater than -1, or the loss has no finite entropy; got {value!r}")
            if value > 100:
                raise ValueError(f"`{key}` must be at most 100 (the integrals lose their accuracy beyond); got {value!r}")

    @cached_property
    def _rules(self) -> tuple[_UpperIntegral, _UpperIntegral]:
        return _UpperIntegral.prepare(self.a, self.b), _UpperIntegral.prepare(self.b, self.a)

    def _partial(self, t: Array, c: Array) -> tuple[Array, Array]:
        """φ(t, 1) and φ(t, 0)."""
        one, zero = self._rules
        tiny, half_eps = smallest(t)
        xp = namespace(t)
        t = xp.where(t > tiny, t, like(tiny, t))
        c = xp.where(c > tiny, c, xp.where(c > 0, like(tiny, t), like(half_eps, t)))
        return one(t, c), zero(c, t)

    def phi(self, forecast: Array, y: int) -> Array:
        one, zero = self._partial(*complete(forecast, None))
        return pick(y, one, zero)

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = complete(t, c)
        one, zero = self._partial(t, c)
        return _zero_at_the_ends(t, c, t * one + c * zero)

    def divergence(self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None) -> Array:
        r""":math:`\int_m^t (t-s)\, s^{a-1}(1-s)^{b-1} ds`: by quadrature where t and m are close, else from φ."""
        t, m, c, mc, d = complete_two(t, m, c, mc, d)
        xp = namespace(t)
        one, zero = self._partial(t, c)
        one_m, zero_m = self._partial(m, mc)
        far = not_negative(t * (one_m - one) + c * (zero_m - zero))
        near = xp.abs(d) < 0.5 * xp.minimum(m, mc)
        half = xp.ones_like(m) / 2
        m, mc, step = xp.where(near, m, half), xp.where(near, mc, half), xp.where(near, d, 0 * d)
        close = xp.zeros_like(t)
        for v, w in zip(*_gauss_legendre(10), strict=True):
            close = close + (w * (1 - v)) * (m + v * step) ** (self.a - 1) * (mc - v * step) ** (self.b - 1)
        return xp.where(near, step * step * close, far)

    @cached_property
    def maximum(self) -> float:
        return maximum_entropy(self)


@dataclass(frozen=True)
class _UpperIntegral:
    """∫_t^1 s^(a−1) (1−s)^b ds, by Gauss–Jacobi rules that hold t^a or (1−t)^b as their weight."""

    a: float
    b: float
    constant: float
    low: tuple[np.ndarray, np.ndarray]  # nodes and weights for v^a on [0, 1]
    high: tuple[np.ndarray, np.ndarray]  # the same for v^b

    @classmethod
    def prepare(cls, a: float, b: float) -> _UpperIntegral:
        from scipy.special import roots_jacobi

        def rule(power: float) -> tuple[np.ndarray, np.ndarray]:
            x, w = roots_jacobi(24, 0, power)
            return (x + 1) / 2, w / 2 ** (power + 1)

        low, high = rule(a), rule(b)
        self = cls(a, b, 0.0, low, high)
        half = np.asarray(0.5)
        return replace(self, constant=float(self._above(half) - self._below(half)))

    def _below(self, t: Array) -> Array:
        """∫_0^t s^(a−1) [1 − (1−s)^b] ds for t ≤ ½."""
        xp = namespace(t)
        total = xp.zeros_like(t)
        for v, w in zip(*self.low, strict=True):
            s = t * float(v)
            total = total - float(w) * xp.expm1(self.b * xp.log1p(-s)) / s
        return total * t ** (self.a + 1)

    def _above(self, c: Array) -> Array:
        """∫_0^c r^b (1−r)^(a−1) dr for c ≤ ½."""
        total = 0 * c
        for v, w in zip(*self.high, strict=True):
            total = total + float(w) * (1 - c * float(v)) ** (self.a - 1)
        return total * c ** (self.b + 1)

    def __call__(self, t: Array, c: Array) -> Array:
        xp = namespace(t)
        half = xp.ones_like(t) / 2
        low = xp.where(t <= half, t, half)
        log_2t = xp.log(2 * low)
        power = -log_2t if self.a == 0 else -xp.expm1(self.a * log_2t) / (self.a * 2**self.a)  # ∫_t^½ s^(a−1) ds
        below = power + self._below(low) + self.constant
        return xp.where(t <= half, below, self._above(xp.where(t <= half, half, c)))


def _zero_at_the_ends(t: Array, c: Array, value: Array) -> Array:
    """``value``, but 0 at t = 0 and t = 1 (its slope there stays)."""
    xp = namespace(t)
    return value - without_gradient(xp.where((t <= 0) | (c <= 0), value, 0 * value))


def _gauss_legendre(n: int) -> tuple[list[float], list[float]]:
    x, w = np.polynomial.legendre.leggauss(n)
    return ((x + 1) / 2).tolist(), (w / 2).tolist()
