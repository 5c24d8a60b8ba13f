r"""The special functions behind the closed forms, for every array library, accurate where the
textbook form is not.

Each is built so that no two nearly equal numbers are subtracted, and so that value and gradient
stay finite at the edges of the unit interval: there the gradient is that of the nearest number
inside.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from array_api_compat import is_jax_array, is_numpy_array

from .._arrays import Array, like, namespace, ratio, smallest
from ._coefficients import ARTANH_DOUBLE, ARTANH_SINGLE, DIGAMMA

_BERNOULLI = DIGAMMA[:8]
"""As many terms of the asymptotic series as float64 needs from x = 11 on."""


def _inside(x: Array, floor: float) -> Array:
    """``x``, but ``floor`` instead of 0, where it has no logarithm."""
    return namespace(x).where(x > 0, x, like(floor, x))


def _edge(x: Array) -> Array:
    """0 everywhere, with slope 1 at x = 0: what x·log(floor) there lacks of the slope of
    x·log(x).
    """
    xp = namespace(x)
    return xp.where(x > 0, xp.zeros_like(x), x)


def artanh_tail(z: Array) -> Array:
    """b(z) = 1/3 + z/5 + z²/7 + … for z ≤ 1/9, so that artanh(s) = s [1 + s² b(s²)]."""
    coefficients = ARTANH_SINGLE if smallest(z)[1] > 1e-12 else ARTANH_DOUBLE
    b = z * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        b = b * z + coefficient
    return b


def log_of_near_ratio(s: Array) -> Array:
    """ln((1 + s) / (1 − s)) = 2 artanh(s) for |s| ≤ 1/3: ln(x/m) from s = (x − m)/(x + m)."""
    return 2 * s * (1 + s * s * artanh_tail(s * s))


def log_complement(u: Array) -> Array:
    """ln(1 − u) for 0 ≤ u ≤ ½. The log1p of NumPy is slow and that of JAX loses two digits."""
    if is_numpy_array(u):  # ln(w) u / (1 − w), with w the rounded 1 − u, but below 1
        w = np.minimum(1 - u, 1 - np.finfo(u.dtype).epsneg)
        return np.log(w) * (u / (1 - w))
    if not is_jax_array(u):
        return namespace(u).log1p(-u)
    return -log_of_near_ratio(u / (2 - u))


def binary_entropy(t: Array, c: Array) -> Array:
    r"""Shannon entropy of a binary outcome in nats, :math:`-t \ln t - c \ln c` with :math:`c = 1 -
    t`.

    Taken from the smaller of the two, so that nothing is lost at either end.
    """
    xp = namespace(t)
    tiny, half_eps = smallest(t)
    u = xp.minimum(t, c)
    if is_numpy_array(u):
        return -u * np.log(u + tiny / 2) - (1 - u) * log_complement(u)
    log_u = xp.log(xp.where(t <= c, _inside(u, tiny), _inside(u, half_eps)))
    return -(u * log_u + _edge(u)) - (1 - u) * log_complement(u)


def x_log_x(x: Array) -> Array:
    r""":math:`x \ln x`, 0 at 0."""
    return x * namespace(x).log(_inside(x, smallest(x)[0])) + _edge(x)


def kl_loss_term(p: Array, m: Array, d: Array, *, upper: bool = False) -> Array:
    r""":math:`p \ln(p/m) - d \ge 0` with :math:`d = p - m` given separately, as accurate as ``d``
    is.

    With :math:`s = d/(p+m)`, :math:`\ln(p/m) = 2\,\mathrm{artanh}(s)`, so for nearby ``p`` and
    ``m`` it is :math:`d s [1 + s (1+s) b(s^2)]`, :math:`b(z) = 1/3 + z/5 + z^2/7 + \dots`: no
    logarithm and no cancellation. ``upper`` says that ``p`` is a complement 1 − t: the number next
    to 0 that it can reach is eps/2, and so is its gradient's.
    """
    xp = namespace(p)
    tiny, half_eps = smallest(p)
    if is_numpy_array(p):
        s = d / (p + m + tiny)
        far = p * (np.log(p + tiny / 2) - np.log(m + tiny / 2)) - d
        return np.where(np.abs(s) < 1 / 3, near_kl_term(d, s), np.maximum(far, 0))
    whole = p + m
    s = ratio(d, xp.where(whole > 0, whole, xp.ones_like(whole)))
    near = xp.abs(s) < 1 / 3
    one = xp.ones_like(p)
    inside = xp.where(near, one, _inside(p, half_eps if upper else tiny))
    middle = xp.where(near, one, _inside(m, tiny))
    far = p * (xp.log(inside) - xp.log(middle)) + _edge(p) - d
    close = near_kl_term(d, xp.where(near, s, xp.zeros_like(s)))
    return xp.where(near, close, xp.where(far > 0, far, xp.zeros_like(far)))


def near_kl_term(d: Array, s: Array) -> Array:
    """p ln(p/m) − d for p near m, from d = p − m and s = d/(p + m)."""
    z = s * s
    return d * s * (1 + (s + z) * artanh_tail(z))


def digamma_difference(x: Array, y: Array) -> Array:
    r""":math:`\psi(x + y) - \psi(x)` for x ≥ 1, y ≥ 0, to full relative accuracy.

    Ten steps of the recurrence, each a positive term, bring the argument to where the asymptotic
    series is exact; there the difference of each term is taken before it is rounded.
    """
    xp = namespace(x)
    steps = xp.zeros_like(x)
    for j in range(10):
        steps = steps + y / (x + j) / (x + y + j)
    z = x + 10
    log_ratio = xp.log1p(y / z)
    series = xp.zeros_like(x)
    for n in range(len(_BERNOULLI), 0, -1):
        series = (
            (series - _BERNOULLI[n - 1] * xp.expm1(-2 * n * log_ratio)) / z / z
        )  # z² may overflow in float32
    return steps + log_ratio + y / z / (2 * (z + y)) + series


def digamma_minus_log(x: Array) -> Array:
    r""":math:`\lambda(x) = \psi(x + 1) - \ln x > 0` for x > 0: falls from infinity like −ln x, then
    like 1/(2x).
    """
    xp = namespace(x)
    large = x >= 15
    z = xp.where(large, x, x + 11)
    series = xp.zeros_like(x)
    for b in reversed(_BERNOULLI):
        series = (series + b) / z / z
    small = xp.where(large, xp.ones_like(x), x)
    steps = xp.zeros_like(x)
    for j in range(1, 11):
        steps = steps + 1 / (small + j)
    return xp.where(large, 0.5 / z, xp.log(small + 11) - xp.log(small) - steps - 0.5 / z) - series


def digamma_minus_log_drop(x: Array, y: Array) -> Array:
    r""":math:`\lambda(x) - \lambda(x + y) \ge 0` for 0 < y ≤ x, accurate beside :math:`\lambda(y)\,
    y / x`.
    """
    xp = namespace(x)
    large = (x >= 15) & (y >= 1)  # for smaller y, λ(x) and λ(x + y) agree in too many digits
    close = xp.where(large, xp.ones_like(x), x)
    from_difference = xp.log1p(xp.where(large, xp.ones_like(x), y) / close) - digamma_difference(
        close + 1, y
    )
    return xp.where(large, digamma_minus_log(x) - digamma_minus_log(x + y), from_difference)


@lru_cache
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights of the rule of n points on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1) / 2, w / 2
