"""Uncertainty of JAX ensembles that are traced (``jit``, ``grad``, ``vmap``): the equations, with
derivatives of their own, those of ``slopes.h``: finite, and 0 where members agree.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .._arrays import at_most_one, smallest
from ..losses import CostLoss, LogLoss, SquaredLoss
from ..losses._coefficients import LOG2_E
from ..losses._special import _artanh_tail
from .blocks import with_values


def is_traced_ensemble(q: Any) -> bool:
    """Whether ``q`` is a traced ensemble of JAX whose weights are constant."""
    return isinstance(q.stored, jax.core.Tracer) and not isinstance(q.weights, jax.core.Tracer)


def split(q: Any, loss: Any, unit: float) -> tuple[Any, ...]:
    """Total, aleatoric and epistemic uncertainty under log (``unit`` times bits), squared,
    spherical or cost loss.
    """

    def values(p: Any) -> tuple[Any, ...]:
        parts: tuple[Any, ...] = with_values(q, stored=p).marginal().split(loss)[:3]
        return parts

    def derivatives(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        """dTU = Σ w G'(m) dp, dAU = Σ w G'(x) dp, dEU = Σ w [G'(m) − G'(x)] dp."""
        law = with_values(q, stored=primals[0]).marginal()
        share = 1 / law.t.shape[0]
        if law.weights is not None:
            share = law.member_weights
        slopes = _slopes(loss, unit, law.t, law.c, law.deviation, *law.mean)
        changes = [jnp.sum(share * slope * tangents[0], axis=0) for slope in slopes]
        return parts(*primals), tuple(changes)

    parts = jax.custom_jvp(values)
    parts.defjvp(derivatives)
    result: tuple[Any, ...] = parts(at_most_one(q.probs))
    return result


def _slopes(
    loss: Any, unit: float, x: Any, c: Any, d: Any, t: Any, tc: Any
) -> tuple[Any, Any, Any]:
    """G'(m), G'(x) and G'(m) − G'(x) of x, 1 − x, their distance d from the means, and the
    means.
    """
    if isinstance(loss, CostLoss):
        of_mean, own = loss.slope(t, tc), loss.slope(x, c)
        return of_mean, own, of_mean - own
    if isinstance(loss, SquaredLoss):
        return tc - t, c - x, 2 * d
    if isinstance(loss, LogLoss):
        (log_x, log_c), (log_t, log_tc) = _negative_logs(x, c), _negative_logs(t, tc)
        between = _log_ratio(x + t, d, log_t - log_x) - _log_ratio(c + tc, -d, log_tc - log_c)
        return (log_t - log_tc) * unit, (log_x - log_c) * unit, between * unit
    norm, mean_norm, tilt = jnp.sqrt(x * x + c * c), jnp.sqrt(t * t + tc * tc), c - x
    between = d / mean_norm * (2 - tilt * (tilt + (tc - t)) / ((norm + mean_norm) * norm))
    return (tc - t) / mean_norm, tilt / norm, between


def _negative_logs(x: Any, c: Any) -> tuple[Any, Any]:
    """−log2 x and −log2 c; at 0 and 1 those of the nearest number inside."""
    tiny, half_eps = smallest(x)
    log_x = jnp.log(jnp.where(x > 0, x, tiny))
    log_c = jnp.log(jnp.where(c > 0, c, half_eps))
    return -LOG2_E * log_x, -LOG2_E * log_c


def _log_ratio(whole: Any, d: Any, far: Any) -> Any:
    """log2(x/m) with d = x − m and ``whole`` = x + m, which is ``far`` unless x and m are near each
    other.
    """
    s = d / jnp.where(whole > 0, whole, 1)
    near = jnp.abs(s) < 1 / 3
    s = jnp.where(near, s, 0)
    return jnp.where(near, 2 * LOG2_E * s * (1 + s * s * _artanh_tail(s * s)), far)
