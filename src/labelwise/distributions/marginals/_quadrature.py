r"""Expectations of a function of one probability by quadrature in its log-odds x = ln(t / (1−t)).

There both t and 1 − t keep all their digits however close to 0 they are. x = center + width ·
sinh(y) spreads the nodes over short and long tails alike, and Gauss–Legendre pieces meet where the
integrand changes its nature: at the center, at the peak of the density, at the corner of the loss
if it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod

from ..._arrays import Array, Arrays, Pair, like, namespace
from ..._engine.blocks import in_instance_blocks
from ...losses._special import gauss_legendre

NODES = 96
"""Nodes per piece. Measured: errors below 1e-11 TU for Beta laws with parameters from 1e-3 to 1e6
and for normal log-odds.
"""


def logit_nodes(low: Array, high: Array, center: Array, width: Array, meet: list[Array]) -> Pair:
    """Nodes x and weights dx, both (n, ...), for ∫_low^high f(x) dx, in pieces that meet at the
    points ``meet``.
    """
    xp = namespace(low)
    v, w = [like(x, low).reshape((-1,) + (1,) * low.ndim) for x in gauss_legendre(NODES)]
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


def quadrature_in_blocks(f: Callable[..., Arrays], arrays: Arrays, pieces: int) -> Arrays:
    """``f``, which integrates over ``pieces`` of `NODES` nodes for each number of the ``arrays``
    (..., E), in blocks of instances.
    """
    *batch, n_events = arrays[0].shape
    size = (1 << 18) // (pieces * NODES * n_events)  # numbers held at once
    return in_instance_blocks(f, arrays, len(batch), max(1, min(size, prod(batch))))
