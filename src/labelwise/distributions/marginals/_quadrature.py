r"""Expectations of a function of one probability by quadrature in its log-odds x = ln(t / (1−t)).

There both t and 1 − t keep all their digits however close to 0 they are. x = center + width ·
sinh(y) spreads the nodes over short and long tails alike, and Gauss–Legendre pieces meet where the
integrand changes its nature: at the center, at the peak of the density, at the corner of the loss
if it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ..._arrays import Array, like, namespace, sigmoid

NODES = 96
"""Nodes per piece. Measured: errors below 1e-11 TU for Beta laws with parameters from 1e-3 to 1e6
and for normal log-odds.
"""


@lru_cache(maxsize=2)
def _gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1) / 2, w / 2


def logit_nodes(
    low: Array, high: Array, center: Array, width: Array, meet: list[Array]
) -> tuple[Array, Array]:
    """Nodes x and weights dx, both (n, ...), for ∫_low^high f(x) dx, in pieces that meet at the
    points ``meet``.
    """
    xp = namespace(low)
    v, w = [like(x, low).reshape((-1,) + (1,) * low.ndim) for x in _gauss_legendre(NODES)]
    inner = xp.sort(xp.stack([xp.minimum(xp.maximum(x, low), high) for x in meet], axis=0), axis=0)
    ends = []
    for x in (low, *inner, high):
        ends.append(xp.asinh((x - center) / width))
    y, dy = [], []
    for left, right in pairwise(ends):
        y.append(left + (right - left) * v)
        dy.append((right - left) * w)
    all_y = xp.concat(y, axis=0)
    return center + width * xp.sinh(all_y), xp.concat(dy, axis=0) * width * xp.cosh(all_y)


def kink_log_odds(t: Array | None, x: Array) -> list[Array]:
    """The log-odds (finite at the ends) of the corner ``t`` of a loss as a list for `logit_nodes`,
    in the shape of ``x``.
    """
    if t is None:
        return []
    xp = namespace(x)
    t, edge = like(t, x) + 0 * x, like(1e-30, x)
    return [xp.log(xp.maximum(t, edge)) - xp.log(xp.maximum(1 - t, edge))]


def sigmoid_step(x: Array, step: Array) -> Array:
    """sigmoid(x + step) − sigmoid(x), with all its digits however small the step is."""
    xp = namespace(x)
    down = xp.expm1(-xp.abs(step))
    return xp.where(
        step >= 0, -sigmoid(x + step) * sigmoid(-x) * down, sigmoid(x) * sigmoid(-x - step) * down
    )


def in_instance_blocks(
    f: Callable[..., tuple[Array, ...]],
    arrays: tuple[Array, ...],
    per_value: int,
    limit: int = 1 << 18,
) -> tuple[Array, ...]:
    """Apply ``f`` to blocks of instances so that about ``limit`` numbers are held at once;
    ``arrays`` are (..., E).
    """
    xp = namespace(*arrays)
    shape = arrays[0].shape
    flat = [xp.reshape(x, (-1, shape[-1])) for x in arrays]
    size = max(1, limit // (per_value * shape[-1]))
    parts = []
    for i in range(0, max(flat[0].shape[0], 1), size):
        parts.append(f(*[x[i : i + size, ...] for x in flat]))
    columns = zip(*parts, strict=True)
    return tuple([xp.reshape(xp.concat(list(column), axis=0), shape) for column in columns])
