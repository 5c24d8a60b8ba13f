r"""The Accumulator's rule: a state takes in a member, or another state.

Two sets of members with shares α + β = 1 of the weight are joined, for every loss by the same rule
as Chan's for the variance:

.. math:: m = m_a + \beta\,\delta, \quad \delta = m_b - m_a, \qquad
          \mathrm{EU} = \alpha\,[\mathrm{EU}_a + D(m_a \Vert m)] + \beta\,[\mathrm{EU}_b + D(m_b
          \Vert m)]

The deviations from the new mean are −βδ and αδ, so nothing is subtracted: EU is never negative, and
0 where members agree. The mean is a pair of numbers whose sum has twice the digits: members that
differ in their last digits only are told apart. Only shares are multiplied with, never weights, so
that these may be as large or small as they like. The same rule is written in C for arrays in main
memory, and log and squared loss (``join.h``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array, at_most_one, namespace
from ..losses import CostLoss, Loss
from . import kernel
from .ensembles import NAMES, kernel_name, unit_of
from .host import back_to_library, on_host

KERNEL_ARRAYS = 7
"""How many arrays of a state after its weight the kernel has: all but ``other``."""
Three = tuple[Array, ...]
Pair = tuple[Array, Array]
"""A number as the unevaluated sum of two: the first is the rounded value, the second what rounding
lost.
"""


class State(NamedTuple):
    """What is known after some members: (..., K), whatever their number; each ``rest`` is what
    rounding lost.
    """

    weight: Array
    """Of all members together: (..., 1), or (1, ..., 1) if it is the same for all instances."""
    weight_rest: Array
    mean: Array
    mean_rest: Array
    complement: Array
    """The mean of 1 − p, which has the digits where the mean is near 1."""
    complement_rest: Array
    entropy: Array
    """The mean of the members' entropies."""
    entropy_rest: Array
    spread: Array
    """EU; for costs the regret of acting."""
    other: Array
    """For costs the regret of not acting, else 0."""


def in_main_memory(loss: Loss, *arrays: Array) -> list[np.ndarray] | None:
    """The arrays as the kernel sees them, or ``None`` if it does not have the loss or cannot see
    one of them.
    """
    if kernel_name(loss) not in kernel.GRADIENT_LOSSES:
        return None
    values = []
    for x in arrays:
        value = on_host(x)
        if value is None or value.dtype.char not in "fd":
            return None
        values.append(value)
    return values


def take_in(
    state: State | None, weight: Sequence[Array], given: Sequence[Array], loss: Any, *, own: bool
) -> tuple[State, bool]:
    """The state after a member, ``given`` = [p], or after another state, whose arrays after the
    weight are given; and whether its arrays belong to it alone.

    The arrays of a state that are its ``own`` are changed in place.
    """
    before: Sequence[Array] = state or ()
    values = in_main_memory(loss, *weight, *given, *before)
    if values is None:
        if len(given) == 1:
            new = _state_of_member(given[0], weight[0], loss)
        else:
            new = State(*weight, *given)
        if state is None:
            return new, False
        return _join_states(State(*(back_to_library(x, given[0]) for x in state)), new, loss), False

    dtype, shape, n = np.result_type(*values), given[0].shape, KERNEL_ARRAYS
    new_weight, added, old = values[:2], values[2 : 2 + len(given)], values[2 + len(given) :]
    if old:
        old_weight = old[:2]
        copy = None if own else True
        arrays = [np.array(x, dtype, order="C", copy=copy) for x in old[2 : 2 + n]]
    else:
        old_weight = [np.zeros_like(x) for x in new_weight]
        arrays = [np.empty(shape, dtype) for _ in range(n)]
    total, alpha, beta = _shares_of_weight(old_weight, new_weight)
    if alpha.size == beta.size == 1:  # one weight for all instances
        shares = np.stack([alpha.reshape(1), beta.reshape(1)])
    else:
        instances = (*shape[:-1], 1)
        shares = np.stack([np.broadcast_to(x, instances).reshape(-1) for x in (alpha, beta)])
    kernel.join(
        NAMES[type(loss)],
        shares.astype(dtype, copy=False),
        arrays,
        [np.ascontiguousarray(x, dtype) for x in added[:n]],
        unit=unit_of(loss),
        fresh=not old,
    )
    arrays.append(np.broadcast_to(np.zeros((), dtype), shape))  # `other`, which only costs have
    return State(*total, *arrays), True


def uncertainty_of_state(state: State, loss: Any) -> tuple[Three, Three]:
    """Total, aleatoric and epistemic uncertainty of a state, (..., K), and their sums over the
    classes, if they came along.
    """
    values = in_main_memory(loss, *state)
    if values is None:
        xp, spread = namespace(state.spread), state.spread
        if isinstance(loss, CostLoss):
            spread = xp.minimum(spread, state.other)
        return (loss.entropy(state.mean, state.complement), state.entropy, spread), ()
    arrays = [np.ascontiguousarray(x) for x in values[2 : 2 + KERNEL_ARRAYS]]
    parts = tuple(np.empty_like(arrays[0]) for _ in range(3))
    sums = tuple(np.empty(arrays[0].shape[:-1], arrays[0].dtype) for _ in range(3))
    kernel.join(NAMES[type(loss)], None, parts, arrays, unit=unit_of(loss), sums=sums)
    return parts, sums


def _state_of_member(p: Array, w: Array, loss: Loss) -> State:
    """The state after one member alone."""
    p = 1 * at_most_one(p)  # a copy: the caller may use the memory for the next member
    zero = 0 * p
    c, rest = _two_sum(namespace(p).ones_like(p), -p)
    member = State(w, 0 * w, p, zero, c, rest, loss.entropy(p, c), zero, zero, zero)
    if not isinstance(loss, CostLoss):
        return member
    do_not_act, act = loss.regrets(p, c)
    return member._replace(spread=act, other=do_not_act)


def _join_states(a: State, b: State, loss: Loss) -> State:
    """The state of both sets of members together."""
    xp = namespace(a.spread)
    weight, alpha, beta = _shares_of_weight(a[:2], b[:2])

    def mean(x: Pair, y: Pair) -> tuple[Pair, Array]:
        """The lighter set moves the mean of the heavier."""
        delta = (y[0] - x[0]) + (y[1] - x[1])
        swap = beta > alpha
        step = xp.where(swap, -alpha * delta, beta * delta)
        high, low = _two_sum(xp.where(swap, y[0], x[0]), step)
        return _two_sum(high, low + xp.where(swap, y[1], x[1])), delta

    (t, delta), (c, delta_c), (entropy, _) = (mean(a[i : i + 2], b[i : i + 2]) for i in (2, 4, 6))
    spread_a, spread_b = a.spread, b.spread
    if not isinstance(loss, CostLoss):
        delta = xp.where(t[0] <= c[0], delta, -delta_c)
        spread_a = spread_a + loss.divergence(a.mean, t[0], a.complement, c[0], -beta * delta)
        spread_b = spread_b + loss.divergence(b.mean, t[0], b.complement, c[0], alpha * delta)
    spread, other = alpha * spread_a + beta * spread_b, alpha * a.other + beta * b.other
    return State(*weight, *t, *c, *entropy, spread, other)


def _shares_of_weight(a: Sequence[Array], b: Sequence[Array]) -> tuple[Pair, Array, Array]:
    """The sum of two weights and their shares of it; 0 where it is 0."""
    high, low = _two_sum(a[0], b[0])
    weight = _two_sum(high, low + (a[1] + b[1]))
    whole = namespace(high).where(weight[0] > 0, weight[0], namespace(high).ones_like(high))
    return weight, a[0] / whole, b[0] / whole


def _two_sum(a: Array, b: Array) -> Pair:
    """a + b exactly (Knuth)."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)
