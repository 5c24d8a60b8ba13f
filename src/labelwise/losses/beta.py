"""The beta family of proper losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import ClassVar, TypeAlias

import numpy as np
from array_api_compat import is_numpy_array

from .._arrays import (
    Array,
    Pair,
    fill_in,
    like,
    namespace,
    not_negative,
    ratio,
    smallest,
    without_gradient,
)
from .._errors import InputError
from ._special import gauss_legendre
from .base import Loss, loss_of_outcome, with_complement, with_complements

Function: TypeAlias = Callable[[Array], Array]
Series: TypeAlias = tuple[float, ...]
"""Chebyshev coefficients of a function on [0, ½]."""
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
            if not -1 < value <= MAX_PARAMETER:
                raise InputError(
                    f"`{key}` must be greater than -1, or the loss has no finite entropy, and at "
                    f"most {MAX_PARAMETER}, beyond which it is not accurate; got {value!r}"
                )

    @cached_property
    def _halves(self) -> tuple[_BetaLossHalf, _BetaLossHalf]:
        """For probabilities and for complements up to ½."""
        return _BetaLossHalf.prepare(self.a, self.b), _BetaLossHalf.prepare(self.b, self.a)

    def _partial_losses(self, t: Array, c: Array) -> Pair:
        """φ(t, 1) and φ(t, 0); at the ends the right value with the slope of the nearest number
        inside.
        """
        xp = namespace(t)
        tiny, half_eps = smallest(t)
        t_inside = xp.where(t > 0, t, like(tiny, t))
        c_inside = xp.where(c > 0, c, like(half_eps, c))
        low = t <= c
        first, second = self._halves
        one = _from_halves(low, ~low, t_inside, c_inside, first.upper, second.lower)
        if is_numpy_array(t):  # without slopes, and slow in powers of the smallest numbers
            t_inside = t
        zero = _from_halves(low, ~low, t_inside, c_inside, first.lower, second.upper)
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
        if is_numpy_array(t):  # faster, but without the slope at the ends, where it is 0
            first, second = self._halves
            low, high = (t > 0) & (t <= c), (c > 0) & (t > c)
            return _from_halves(low, high, t, c, first.entropy, second.entropy)
        one, zero = self._partial_losses(t, c)
        return t * one + c * zero

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        r""":math:`\int_m^t (t-s)\, s^{a-1}(1-s)^{b-1} ds`: by quadrature where t and m are close,
        else from φ.
        """
        t, m, c, mc, d = with_complements(t, m, c, mc, d)
        xp = namespace(t)
        one_m, zero_m = self._partial_losses(m, mc)
        far = not_negative(t * one_m + c * zero_m - self.entropy(t, c))
        near = xp.abs(d) < 0.5 * xp.minimum(m, mc)
        return fill_in(far, near, self._near_divergence, m, mc, d)

    def _near_divergence(self, m: Array, mc: Array, d: Array) -> Array:
        """The integral over s = m + v d, by quadrature over v: no two near numbers are
        subtracted.
        """
        xp = namespace(d)
        up, down = ratio(d, m), ratio(d, mc)
        total = xp.zeros_like(d)
        # the error of n nodes is 5.8^(−2n): below half of the last digit
        n_nodes = 5 if smallest(d)[1] > 1e-12 else 10
        for v, w in np.transpose(gauss_legendre(n_nodes)).tolist():
            powers = (1 + v * up) ** (self.a - 1) * (1 - v * down) ** (self.b - 1)
            total = total + (w * (1 - v)) * powers
        # d² m^(a−1) mc^(b−1), with d/min(m, mc) for d: the powers that are left do not overflow
        low = 2 * xp.astype(m <= mc, m.dtype)
        scale = ratio(d, xp.minimum(m, mc)) ** 2
        return scale * m ** (self.a - 1 + low) * mc ** (self.b + 1 - low) * total

    @property
    def unbounded(self) -> tuple[bool, bool]:
        # the integrals of s^(a−1) next to 0 and of (1−s)^(b−1) next to 1
        return self.a <= 0, self.b <= 0


@dataclass(frozen=True)
class _BetaLossHalf:
    """φ(t, 1) = ∫_t^1 s^(a−1) (1−s)^b ds, φ(t, 0) = ∫_0^t s^a (1−s)^(b−1) ds and G(t) for
    0 < t ≤ ½, from powers and Chebyshev series.

    The first is a constant less ∫_0^t. Where a is small or negative that integral is large or
    infinite; then s^(a−1) is taken out of it and integrated by itself.
    """

    a: float
    constant: float
    of_upper: Series
    """∫_0^t s^(a−1) [(1−s)^b − 1] ds / t^(a+1), or without the −1 and by t^a where a ≥ ½."""
    of_lower: Series
    """φ(t, 0) / t^(a+1)."""
    of_entropy: Series
    """One series for both in the entropy, by t^(a+1)."""

    @classmethod
    def prepare(cls, a: float, b: float) -> _BetaLossHalf:
        # a series of n terms, from integrals with as few nodes as they need
        n, n_nodes = 19 + int(max(a, b, 0)), 14 + int(max(a, b, 0) / 3)
        if a < 0.5:
            below = _mean_loss(lambda s: np.expm1(b * np.log1p(-s)) / s, a, n_nodes)
        else:
            below = _mean_loss(lambda s: (1 - s) ** b, a - 1, n_nodes)
        lower = _mean_loss(lambda s: (1 - s) ** (b - 1), a, n_nodes)
        above = _mean_loss(lambda r: (1 - r) ** (a - 1), b, n_nodes)
        power = a + (a < 0.5)

        def both(t: np.ndarray) -> np.ndarray:
            return (1 - t) * lower(t) - t ** (power - a) * below(t)

        half = np.asarray([0.5])
        constant = above(half) * half ** (b + 1) + below(half) * half**power
        series = [
            _series_of_loss(below, n),
            _series_of_loss(lower, n),
            _series_of_loss(both, n + 1),
        ]
        return cls(a, float(constant[0]), *series)

    def _constant_part(self, t: Array) -> Array:
        """The constant and, where a is small, ∫_t^½ s^(a−1) ds."""
        if self.a >= 0.5:
            return self.constant
        xp = namespace(t)
        log_2t = xp.log(2 * t)
        if self.a == 0:
            return self.constant - log_2t
        return self.constant - xp.expm1(self.a * log_2t) / (self.a * 2**self.a)

    def upper(self, t: Array) -> Array:
        """φ(t, 1)."""
        power = self.a + (self.a < 0.5)
        return self._constant_part(t) - _loss_from_series(self.of_upper, t) * t**power

    def lower(self, t: Array) -> Array:
        """φ(t, 0)."""
        return _loss_from_series(self.of_lower, t) * t ** (self.a + 1)

    def entropy(self, t: Array) -> Array:
        """G(t)."""
        value = t**self.a * _loss_from_series(self.of_entropy, t)
        value += self._constant_part(t)
        value *= t
        return value


def _from_halves(
    low: Array,
    high: Array,
    t: Array,
    c: Array,
    of_t: Function,
    of_c: Function,
) -> Array:
    """``of_t(t)`` where ``low``, ``of_c(c)`` where ``high``, else 0."""
    value = fill_in(namespace(t).zeros_like(t), low, of_t, t)
    return fill_in(value, high, of_c, c)


def _mean_loss(f: Function, power: float, n_nodes: int) -> Function:
    """u ↦ ∫_0^1 v^power f(u v) dv, by a Gauss–Jacobi rule that holds the power as its weight."""
    from scipy.special import roots_jacobi

    x, w = roots_jacobi(n_nodes, 0, power)
    return lambda u: f(np.outer(u, (x + 1) / 2)) @ w / 2 ** (power + 1)


def _series_of_loss(f: Function, n: int) -> Series:
    """The Chebyshev coefficients, in x = 4u − 1, of a function that is analytic on [0, ½]."""
    return tuple(np.polynomial.chebyshev.chebinterpolate(lambda x: f((x + 1) / 4), n - 1).tolist())


def _loss_from_series(coefficients: Series, t: Array) -> Array:
    """Σ c_j T_j(x), x = 4t − 1, as a polynomial in x, whose coefficients fall like 3^(−j): the
    singularity is at x = 3.
    """
    x = 4 * t - 1
    powers = _powers_of_loss_series(coefficients, smallest(x)[1] / 8)
    value = powers[-1] + 0 * x
    for c in powers[-2::-1]:
        value = value * x + c
    return value


@lru_cache
def _powers_of_loss_series(coefficients: Series, least: float) -> Series:
    """Those of x^j; in single precision fewer terms of the Chebyshev series count."""
    least *= max(map(abs, coefficients))
    while len(coefficients) > 2 and abs(coefficients[-1]) < least:
        coefficients = coefficients[:-1]
    return tuple(np.polynomial.chebyshev.cheb2poly(coefficients).tolist())
