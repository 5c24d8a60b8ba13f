"""Uncertainty of JAX ensembles that are traced (``jit``, ``grad``, ``vmap``), with derivatives of
their own.

Log loss takes one logarithm for each prediction, as the kernel does; squared loss has the values of
the equations. The derivatives are those of ``slopes.h``: finite, and 0 where members agree. Other
losses, weights that are traced and events go the general way.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp

from .._arrays import smallest
from ..losses import LogLoss
from ..losses._coefficients import COMPLEMENT_DOUBLE, COMPLEMENT_SINGLE, LOG2_E
from ..losses._special import log_of_near_ratio, near_kl_term


def split(q: Any, loss: Any, unit: float) -> tuple[Any, ...] | None:
    """Total, aleatoric and epistemic uncertainty under log (``unit`` times bits) or squared loss;
    ``None`` unless ``q`` is a traced ensemble whose weights are constant.

    Their derivatives are dTU = Σ w G'(m) dp, dAU = Σ w G'(p) dp, dEU = Σ w [G'(m) − G'(p)] dp.
    """
    if not isinstance(q.stored, jax.core.Tracer) or isinstance(q.weights, jax.core.Tracer):
        return None
    is_log = type(loss) is LogLoss

    def values(p: Any) -> tuple[Any, ...]:
        law = q.with_values(stored=p).marginal()
        if is_log:
            return _log_parts_in_jax(law, unit)
        return tuple(law.split(loss)[:3])

    def derivatives(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        law = q.with_values(stored=primals[0]).marginal()
        slopes = _log_slopes_in_jax(law, unit) if is_log else _squared_slopes_in_jax(law)
        return parts(*primals), tuple([law.average(slope * tangents[0]) for slope in slopes])

    parts = jax.custom_jvp(values)
    parts.defjvp(derivatives)
    return parts(q.probs)


def _squared_slopes_in_jax(law: Any) -> tuple[Any, Any, Any]:
    """G'(m), G'(p) and G'(m) − G'(p) of squared loss."""
    m, rest = law.mean
    return rest - m, law.c - law.t, 2 * law.deviation


def _log_slopes_in_jax(law: Any, unit: float) -> tuple[Any, Any, Any]:
    """The same of log loss."""
    t, c, d = law.t, law.c, law.deviation
    m, rest = law.mean
    (log_t, log_c), (log_m, log_rest) = _negative_logs_in_jax(t, c), _negative_logs_in_jax(m, rest)
    upper = _log_ratio_in_jax(t + m, d, log_m - log_t)
    lower = _log_ratio_in_jax(c + rest, -d, log_rest - log_c)
    return (log_m - log_rest) * unit, (log_t - log_c) * unit, (upper - lower) * unit


def _log_parts_in_jax(law: Any, unit: float) -> tuple[Any, ...]:
    m, rest = law.mean
    log_m, log_rest = _negative_logs_in_jax(m, rest)
    share = jnp.full(len(law.t), 1 / len(law.t), law.t.dtype)
    if law.weights is not None:
        share = law.member_weights

    def step(sums: tuple[Any, ...], member: tuple[Any, ...]) -> tuple[tuple[Any, ...], None]:
        t, d, w = member
        c, e = 1 - t, d * LOG2_E
        t_part, c_part = _entropy_terms_in_jax(t, c)
        upper = _kl_term_in_jax(t, e, d / jnp.maximum(t + m, smallest(t)[0]), t_part, log_m)
        lower = _kl_term_in_jax(c, -e, -d / (c + rest), c_part, log_rest)
        own = t_part + c_part
        return (sums[0] + w * own, sums[1] + w * upper, sums[2] + w * lower), None

    # all in one loop would be too long for XLA
    start = 0 * m, 0 * m, 0 * m
    (aleatoric, upper, lower), _ = jax.lax.scan(step, start, (law.t, law.deviation, share))
    epistemic = jnp.maximum(upper, 0) + jnp.maximum(lower, 0)
    return sum(_entropy_terms_in_jax(m, rest)) * unit, aleatoric * unit, epistemic * unit


def _entropy_terms_in_jax(x: Any, c: Any) -> tuple[Any, Any]:
    """−x log2 x and −c log2 c with c = 1 − x."""
    u = jnp.minimum(x, c)
    coefficients = COMPLEMENT_SINGLE if u.dtype == jnp.float32 else COMPLEMENT_DOUBLE
    small = -LOG2_E * u * jnp.log(jnp.maximum(u, smallest(u)[0]))
    large = u * reduce(lambda value, k: value * u + k, reversed(coefficients))
    return jnp.where(x <= c, small, large), jnp.where(x <= c, large, small)


def _negative_logs_in_jax(x: Any, c: Any) -> tuple[Any, Any]:
    """−log2 x and −log2 c; at 0 and 1 those of the nearest number inside."""
    tiny, half_eps = smallest(x)
    log_x = jnp.log(jnp.where(x > 0, x, tiny))
    log_c = jnp.log(jnp.where(c > 0, c, half_eps))
    return -LOG2_E * log_x, -LOG2_E * log_c


def _kl_term_in_jax(x: Any, e: Any, s: Any, x_part: Any, log_m: Any) -> Any:
    """x log2(x/m) − e with e = (x − m) log2(e) and s = (x − m)/(x + m)."""
    return jnp.where(jnp.abs(s) < 1 / 3, near_kl_term(e, s), x * log_m - x_part - e)


def _log_ratio_in_jax(whole: Any, d: Any, far: Any) -> Any:
    """log2(x/m) with d = x − m and ``whole`` = x + m, which is ``far`` unless x and m are near each
    other.
    """
    s = d / jnp.where(whole > 0, whole, 1)
    near = jnp.abs(s) < 1 / 3
    s = jnp.where(near, s, 0)
    return jnp.where(near, LOG2_E * log_of_near_ratio(s), far)
