"""Uncertainty of JAX ensembles that are traced (``jit``, ``grad``, ``vmap``), with their own
derivatives.

The members are added up one after another, which XLA makes one loop of; sums over an axis become a
loop each. Log loss takes one logarithm for each prediction, as the kernel does. The derivatives are
those of ``slopes.h``: finite, and 0 where members agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, mul
from typing import Any

import jax
import jax.numpy as jnp

from .._arrays import at_most_one, smallest
from ..losses import CostLoss, LogLoss, Loss, SquaredLoss
from ..losses._coefficients import COMPLEMENT_DOUBLE, COMPLEMENT_SINGLE, LOG2_E
from ..losses._special import _artanh_tail

MAX_UNROLLED = 64  # members; more would make programs that take long to compile


def is_traced_ensemble(q: Any) -> bool:
    """Whether ``q`` is a traced ensemble of JAX whose weights are constant."""
    return isinstance(q.stored, jax.core.Tracer) and not isinstance(q.weights, jax.core.Tracer)


def split(q: Any, loss: Any, unit: float) -> tuple[Any, ...]:
    """Total, aleatoric and epistemic uncertainty under log (``unit`` times bits), squared,
    spherical or cost loss.
    """
    p, weights = at_most_one(q.probs), q.weights
    if weights is not None:
        weights = weights.reshape(weights.shape + (1,) * (p.ndim - weights.ndim))

    is_log = type(loss) is LogLoss

    def values(p: Any) -> tuple[Any, ...]:
        if is_log:
            return _log_parts_in_jax(p, weights, unit)
        return _parts_in_jax(p, weights, loss)

    def derivatives(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        slopes = _log_slopes_in_jax(unit) if is_log else _slopes_of_loss_in_jax(loss)
        return parts(*primals), _slopes_in_jax(*primals, *tangents, weights, slopes)

    parts = jax.custom_jvp(values)
    parts.defjvp(derivatives)
    result: tuple[Any, ...] = parts(p)
    return result


def _mean_of_members_in_jax(x: Any, weights: Any) -> Any:
    """Added up one after another, which is faster than a sum over an axis."""
    if len(x) > MAX_UNROLLED:
        share = 1 / len(x) if weights is None else weights
        return jnp.sum(share * x, axis=0)
    if weights is None:
        return reduce(add, x) * (1 / len(x))
    return reduce(add, map(mul, weights, x))


def _distances_from_mean(p: Any, weights: Any) -> tuple[Any, Any, Any]:
    """The distances from the mean, exactly 0 where members agree; and the means of p and 1 − p."""
    reference = p[:1]
    if weights is not None:
        heaviest = jnp.argmax(weights + 0 * p, axis=0, keepdims=True)
        reference = jnp.take_along_axis(p, heaviest, axis=0)
    away = p - reference
    return (
        away - _mean_of_members_in_jax(away, weights),
        _mean_of_members_in_jax(p, weights),
        _mean_of_members_in_jax(1 - p, weights),
    )


def _parts_in_jax(p: Any, weights: Any, loss: Loss) -> tuple[Any, ...]:
    d, t, tc = _distances_from_mean(p, weights)
    c = 1 - p
    if isinstance(loss, CostLoss):
        do_not_act, act = loss.regrets(p, c)
        epistemic = jnp.minimum(
            _mean_of_members_in_jax(do_not_act, weights), _mean_of_members_in_jax(act, weights)
        )
    else:
        epistemic = _mean_of_members_in_jax(loss.divergence(p, t, c, tc, d), weights)
    return loss.entropy(t, tc), _mean_of_members_in_jax(loss.entropy(p, c), weights), epistemic


def _complement_term_in_jax(u: Any) -> Any:
    """−(1−u) log2(1−u) for 0 ≤ u ≤ ½."""
    coefficients = COMPLEMENT_SINGLE if u.dtype == jnp.float32 else COMPLEMENT_DOUBLE
    return u * reduce(lambda value, k: value * u + k, reversed(coefficients[:-1]), coefficients[-1])


def _entropy_terms_in_jax(x: Any, c: Any) -> tuple[Any, Any]:
    """−x log2 x and −c log2 c with c = 1 − x."""
    u = jnp.minimum(x, c)
    a, b = -LOG2_E * u * jnp.log(jnp.maximum(u, smallest(u)[0])), _complement_term_in_jax(u)
    return jnp.where(x <= c, a, b), jnp.where(x <= c, b, a)


def _negative_logs_in_jax(x: Any, c: Any) -> tuple[Any, Any]:
    """−log2 x and −log2 c; at 0 and 1 those of the nearest number inside."""
    tiny, half_eps = smallest(x)
    log_x = jnp.log(jnp.where(x > 0, x, tiny))
    log_c = jnp.log(jnp.where(c > 0, c, half_eps))
    return -LOG2_E * log_x, -LOG2_E * log_c


def _log_parts_in_jax(p: Any, weights: Any, unit: float) -> tuple[Any, ...]:
    distances, t, tc = _distances_from_mean(p, weights)
    log_t, log_tc = _negative_logs_in_jax(t, tc)

    def step(sums: tuple[Any, ...], member: tuple[Any, ...]) -> tuple[tuple[Any, ...], None]:
        x, d, w = member
        c, e = 1 - x, d * LOG2_E
        x_part, c_part = _entropy_terms_in_jax(x, c)
        upper = _kl_term_in_jax(x, e, d / jnp.maximum(x + t, smallest(p)[0]), x_part, log_t)
        lower = _kl_term_in_jax(c, -e, -d / (c + tc), c_part, log_tc)
        own = x_part + c_part
        return (sums[0] + w * own, sums[1] + w * upper, sums[2] + w * lower), None

    share = weights
    if share is None:
        share = jnp.full(len(p), 1 / len(p), p.dtype)
    # all in one loop would be too long for XLA
    start = 0 * t, 0 * t, 0 * t
    (aleatoric, upper, lower), _ = jax.lax.scan(step, start, (p, distances, share))
    epistemic = jnp.maximum(upper, 0) + jnp.maximum(lower, 0)
    return sum(_entropy_terms_in_jax(t, tc)) * unit, aleatoric * unit, epistemic * unit


def _kl_term_in_jax(x: Any, e: Any, s: Any, x_part: Any, log_m: Any) -> Any:
    """x log2(x/m) − e with e = (x − m) log2(e) and s = (x − m)/(x + m)."""
    z = s * s
    return jnp.where(z < 1 / 9, e * s * (1 + (z + s) * _artanh_tail(z)), x * log_m - x_part - e)


Slopes = Callable[..., tuple[Any, Any, Any]]
"""Of x, 1 − x, their distance d from the means, and the means: G'(m), G'(x) and G'(m) − G'(x)."""


def _slopes_in_jax(p: Any, dp: Any, weights: Any, slopes: Slopes) -> tuple[Any, ...]:
    """dTU = Σ w G'(m) dp, dAU = Σ w G'(x) dp, dEU = Σ w [G'(m) − G'(x)] dp."""
    d, t, tc = _distances_from_mean(p, weights)
    share = 1 / len(p)
    if weights is not None:
        share = weights
    return tuple([jnp.sum(share * slope * dp, axis=0) for slope in slopes(p, 1 - p, d, t, tc)])


def _log_slopes_in_jax(unit: float) -> Slopes:
    def slopes(x: Any, c: Any, d: Any, t: Any, tc: Any) -> tuple[Any, Any, Any]:
        (log_x, log_c), (log_t, log_tc) = _negative_logs_in_jax(x, c), _negative_logs_in_jax(t, tc)
        between = _log_ratio_in_jax(x + t, d, log_t - log_x) - _log_ratio_in_jax(
            c + tc, -d, log_tc - log_c
        )
        return (log_t - log_tc) * unit, (log_x - log_c) * unit, between * unit

    return slopes


def _log_ratio_in_jax(whole: Any, d: Any, far: Any) -> Any:
    """log2(x/m) with d = x − m and ``whole`` = x + m, which is ``far`` unless x and m are near each
    other.
    """
    s = d / jnp.where(whole > 0, whole, 1)
    near = jnp.abs(s) < 1 / 3
    s = jnp.where(near, s, 0)
    return jnp.where(near, 2 * LOG2_E * s * (1 + s * s * _artanh_tail(s * s)), far)


def _slopes_of_loss_in_jax(loss: Any) -> Slopes:
    def of_squared(x: Any, c: Any, d: Any, t: Any, tc: Any) -> tuple[Any, Any, Any]:
        return tc - t, c - x, 2 * d

    def of_spherical(x: Any, c: Any, d: Any, t: Any, tc: Any) -> tuple[Any, Any, Any]:
        norm, mean_norm, tilt = jnp.sqrt(x * x + c * c), jnp.sqrt(t * t + tc * tc), c - x
        between = d / mean_norm * (2 - tilt * (tilt + (tc - t)) / ((norm + mean_norm) * norm))
        return (tc - t) / mean_norm, tilt / norm, between

    def of_cost(x: Any, c: Any, d: Any, t: Any, tc: Any) -> tuple[Any, Any, Any]:
        of_mean, own = loss.slope(t, tc), loss.slope(x, c)
        return of_mean, own, of_mean - own

    if isinstance(loss, CostLoss):
        return of_cost
    if isinstance(loss, SquaredLoss):
        return of_squared
    return of_spherical
