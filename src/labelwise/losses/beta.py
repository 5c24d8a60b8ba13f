"""The beta family of proper losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import ClassVar

import numpy as np
from array_api_compat import is_numpy_array

from .._arrays import Array, dtype_name, like, namespace, not_negative, smallest, without_gradient
from .._errors import InputError
from ._special import ratio
from .base import Loss, loss_of_outcome, with_complement, with_complements

MAX_PARAMETER = 12  # beyond, the accuracy of a series beside the entropy is lost


@dataclass(frozen=True)
class BetaLoss(Loss):
    r"""The two-parameter family of Buja, Stuetzle and Shen (2005), a, b > −1.

    .. math:: \varphi(\hat\theta, 1) = \int_{\hat\theta}^1 s^{a-1} (1-s)^b ds, \qquad
              \varphi(\hat\theta, 0) = \int_0^{\hat\theta} s^a (1-s)^{b-1} ds, \qquad -G''(t) =
              t^{a-1} (1-t)^{b-1}

    (0, 0) is the log loss in nats, (1, 1) half the squared loss, (−½, −½) boosting loss; a ≠ b
    weighs the two kinds of error unequally. Entropy and divergence are accurate to 1e-10 of the
    entropy in double precision.

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
            if value > MAX_PARAMETER:
                raise InputError(
                    f"`{key}` must be at most {MAX_PARAMETER} (the integrals lose their accuracy "
                    f"beyond); got {value!r}"
                )

    @cached_property
    def _integrals(self) -> tuple[_BetaLossIntegral, _BetaLossIntegral]:
        return _BetaLossIntegral.prepare(self.a, self.b), _BetaLossIntegral.prepare(self.b, self.a)

    def _partial_losses(self, t: Array, c: Array) -> tuple[Array, Array]:
        """φ(t, 1) and φ(t, 0); at the ends the right value with the slope of the nearest number
        inside.
        """
        xp = namespace(t)
        tiny, half_eps = smallest(t)
        t_inside = xp.where(t > 0, t, like(tiny, t))
        c_inside = xp.where(c > 0, c, like(half_eps, c))
        one = self._integrals[0](t_inside, c_inside)
        zero = self._integrals[1](c_inside, t_inside)
        return (
            xp.where(c > 0, one, one - without_gradient(one)),
            xp.where(t > 0, zero, zero - without_gradient(zero)),
        )

    def phi(self, forecast: Array, y: int) -> Array:
        t, c = with_complement(forecast)
        value = loss_of_outcome(y, *self._partial_losses(t, c))
        never, always = self.unbounded
        certain, infinite = (t <= 0, never) if y else (c <= 0, always)
        if not infinite:
            return value
        xp = namespace(value)
        return xp.where(certain, xp.full_like(value, inf), value)

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = with_complement(t, c)
        if not is_numpy_array(t):
            one, zero = self._partial_losses(t, c)
            return t * one + c * zero
        value = np.zeros(t.shape, t.dtype)
        flat = value.reshape(-1)  # indices are taken from it much faster than masks
        # at the ends it is 0
        low = np.flatnonzero((t > 0) & (t <= c))
        high = np.flatnonzero((c > 0) & (t > c))
        flat[low] = self._halves[0](t.take(low))
        flat[high] = self._halves[1](c.take(high))
        return value

    @cached_property
    def _halves(self) -> tuple[_BetaLossHalfEntropy, _BetaLossHalfEntropy]:
        one, zero = self._integrals
        return _BetaLossHalfEntropy.prepare(one, zero), _BetaLossHalfEntropy.prepare(zero, one)

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        r""":math:`\int_m^t (t-s)\, s^{a-1}(1-s)^{b-1} ds`: by quadrature where t and m are close,
        else from φ.
        """
        t, m, c, mc, d = with_complements(t, m, c, mc, d)
        xp = namespace(t)
        one_m, zero_m = self._partial_losses(m, mc)
        near = xp.abs(d) < 0.5 * xp.minimum(m, mc)
        far = not_negative(t * one_m + c * zero_m - self.entropy(t, c))
        if is_numpy_array(d):  # only where it is taken: it costs many powers
            m, mc, d = np.broadcast_arrays(m, mc, d)
            far, at = np.asarray(far), np.flatnonzero(near)
            far.reshape(-1)[at] = self._near_divergence(m.take(at), mc.take(at), d.take(at))
            return far
        half = xp.ones_like(m) / 2
        m, mc, step = (xp.where(near, x, safe) for x, safe in ((m, half), (mc, half), (d, 0 * d)))
        return xp.where(near, self._near_divergence(m, mc, step), far)

    def _near_divergence(self, m: Array, mc: Array, d: Array) -> Array:
        """The integral over s = m + v d, by quadrature over v: no two near numbers are
        subtracted.
        """
        xp = namespace(d)
        up, down = ratio(d, m), ratio(d, mc)
        total = xp.zeros_like(d)
        # the error of n nodes is 5.8^(−2n): below half of the last digit
        n_nodes = 5 if smallest(d)[1] > 1e-12 else 10
        for v, w in zip(*_gauss_legendre(n_nodes), strict=True):
            left = _loss_power_near_one(1 + v * up, self.a - 1)
            right = _loss_power_near_one(1 - v * down, self.b - 1)
            total = total + (w * (1 - v)) * left * right
        # d² m^(a−1) mc^(b−1), with d/min(m, mc) for d: the powers that are left do not overflow
        low = 2 * xp.astype(m <= mc, m.dtype)
        scale = ratio(d, xp.minimum(m, mc)) ** 2
        return scale * m ** (self.a - 1 + low) * mc ** (self.b + 1 - low) * total

    @property
    def unbounded(self) -> tuple[bool, bool]:
        # the integrals of s^(a−1) next to 0 and of (1−s)^(b−1) next to 1
        return self.a <= 0, self.b <= 0


@dataclass(frozen=True)
class _BetaLossIntegral:
    """∫_t^1 s^(a−1) (1−s)^b ds: a power times a series, on either side of ½.

    Below ½ it is a constant less ∫_0^t. Where a is small or negative that integral is large or
    infinite; then s^(a−1) is taken out of it and integrated by itself.
    """

    a: float
    b: float
    below: tuple[float, ...]
    """Of ∫_0^t s^(a−1) [(1−s)^b − 1] ds / t^(a+1), or without the −1 and by t^a where a ≥ ½."""
    above: tuple[float, ...]
    """Of ∫_0^c r^b (1−r)^(a−1) dr / c^(b+1)."""

    @classmethod
    def prepare(cls, a: float, b: float) -> _BetaLossIntegral:
        # a series of n terms, from integrals with as few nodes as they need
        size = 19 + int(max(a, b, 0)), 14 + int(max(a, b, 0) / 3)
        if a < 0.5:
            below = _series_of_mean_loss(lambda s: np.expm1(b * np.log1p(-s)) / s, a, *size)
        else:
            below = _series_of_mean_loss(lambda s: np.exp(b * np.log1p(-s)), a - 1, *size)
        return cls(a, b, below, _series_of_mean_loss(lambda r: (1 - r) ** (a - 1), b, *size))

    @cached_property
    def constant(self) -> float:
        half = np.asarray(0.5)
        return float(self._above(half) + self._below(half))

    def _below(self, t: Array) -> Array:
        power = self.a + 1 if self.a < 0.5 else self.a
        return _loss_from_series(self.below, 4 * t - 1) * t**power

    def _above(self, c: Array) -> Array:
        return _loss_from_series(self.above, 4 * c - 1) * c ** (self.b + 1)

    def _power_to_half(self, t: Array) -> Array:
        """∫_t^½ s^(a−1) ds."""
        xp = namespace(t)
        log_2t = xp.log(2 * t)
        if self.a == 0:
            return -log_2t
        return -xp.expm1(self.a * log_2t) / (self.a * 2**self.a)

    def __call__(self, t: Array, c: Array) -> Array:
        xp = namespace(t)
        half = xp.ones_like(t) / 2
        low = t <= half
        if is_numpy_array(t):  # each side is computed only where it is needed
            value = np.empty(t.shape, t.dtype)
            flat, low, high = value.reshape(-1), np.flatnonzero(low), np.flatnonzero(~low)
            flat[low] = self._from_below(t.take(low))
            flat[high] = self._above(c.take(high))
            return value
        return xp.where(
            low, self._from_below(xp.where(low, t, half)), self._above(xp.where(low, half, c))
        )

    def _from_below(self, t: Array) -> Array:
        """The integral for t ≤ ½."""
        value = self.constant - self._below(t)
        return value + self._power_to_half(t) if self.a < 0.5 else value


@dataclass(frozen=True)
class _BetaLossHalfEntropy:
    """G(t) = t [constant + ∫_t^½ s^(a−1) ds + t^a S(t)] for 0 < t ≤ ½, with one series S for both
    integrals of NumPy arrays; the middle term only where a is small.
    """

    upper: _BetaLossIntegral
    series: tuple[float, ...]

    @classmethod
    def prepare(cls, upper: _BetaLossIntegral, lower: _BetaLossIntegral) -> _BetaLossHalfEntropy:
        """From ∫_t^1 s^(a−1) (1−s)^b ds and ∫_0^t s^a (1−s)^(b−1) ds, which are φ(t, 1) and
        φ(t, 0).
        """

        def both(t: Array) -> Array:
            below = _loss_from_series(upper.below, 4 * t - 1)
            if upper.a < 0.5:
                below = t * below
            return (1 - t) * _loss_from_series(lower.above, 4 * t - 1) - below

        return cls(upper, _series_of_loss(both, len(upper.below) + 1))

    def __call__(self, t: Array) -> Array:
        value = t**self.upper.a * _loss_from_series(self.series, 4 * t - 1)
        value += self.upper.constant
        if self.upper.a < 0.5:
            value += self.upper._power_to_half(t)
        value *= t
        return value


def _series_of_mean_loss(
    f: Callable[[np.ndarray], np.ndarray], power: float, n: int, n_nodes: int
) -> tuple[float, ...]:
    """`_series_of_loss` of u ↦ ∫_0^1 v^power f(u v) dv, by a Gauss–Jacobi rule that holds the
    power as its weight.
    """
    from scipy.special import roots_jacobi

    x, w = roots_jacobi(n_nodes, 0, power)
    return _series_of_loss(lambda u: f(np.outer(u, (x + 1) / 2)) @ w / 2 ** (power + 1), n)


def _series_of_loss(f: Callable[[Array], Array], n: int) -> tuple[float, ...]:
    """The Chebyshev coefficients, in x = 4u − 1, of a function that is analytic on [0, ½]."""
    angles = np.pi * (np.arange(n) + 0.5) / n
    values = f((1 + np.cos(angles)) / 4)
    coefficients = np.cos(np.outer(np.arange(n), angles)) @ values * (2 / n)
    coefficients[0] /= 2
    return tuple(coefficients.tolist())


def _loss_from_series(coefficients: tuple[float, ...], x: Array) -> Array:
    """Σ c_j T_j(x) as a polynomial in x, whose coefficients fall like 3^(−j): the singularity is at
    x = 3.
    """
    powers = _powers_of_loss_series(coefficients, smallest(x)[1] / 8)
    value = powers[-1] + 0 * x
    for c in powers[-2::-1]:
        value = value * x + c
    return value


@lru_cache
def _powers_of_loss_series(coefficients: tuple[float, ...], least: float) -> tuple[float, ...]:
    """Those of x^j; in single precision fewer terms of the Chebyshev series count."""
    least *= max(map(abs, coefficients))
    while len(coefficients) > 2 and abs(coefficients[-1]) < least:
        coefficients = coefficients[:-1]
    return tuple(np.polynomial.chebyshev.cheb2poly(coefficients).tolist())


def _loss_power_near_one(x: Array, exponent: float) -> Array:
    """x^exponent for 1/2 ≤ x ≤ 3/2, where a logarithm loses nothing."""
    if exponent in (-1, 0, 0.5, 1, 2) or dtype_name(x) != "float32":  # powers are fast, or no worse
        return x**exponent
    xp = namespace(x)
    return xp.exp(exponent * xp.log(x))


@lru_cache
def _gauss_legendre(n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    x, w = np.polynomial.legendre.leggauss(n)
    return tuple(((x + 1) / 2).tolist()), tuple((w / 2).tolist())
