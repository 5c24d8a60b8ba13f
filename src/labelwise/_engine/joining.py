"""The Accumulator's rule in the kernel: a state takes in a member, or another state, in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import Array
from ..losses import Loss
from . import kernel
from .compute import NAMES, unit_of
from .host import on_host


def in_main_memory(loss: Loss, *arrays: Array) -> list[np.ndarray] | None:
    """The arrays as the kernel sees them, or ``None`` if it does not have the loss or cannot see
    one of them.
    """
    if kernel.native is None or NAMES.get(type(loss), "beta") == "beta":
        return None
    values = [on_host(x) for x in arrays]
    return (
        None
        if any(x is None or x.dtype.char not in "fd" for x in values)
        else [x for x in values if x is not None]
    )


def take_in(
    state: Sequence[np.ndarray],
    given: Sequence[np.ndarray],
    alpha: np.ndarray,
    beta: np.ndarray,
    loss: Any,
    *,
    fresh: bool,
) -> None:
    """Change the arrays of a ``state`` (..., K) to that of both sets, with shares ``alpha`` and
    ``beta`` (..., 1) of the weight.

    ``given`` are the arrays of the other set, or the probabilities of one member. A ``fresh`` state
    has seen none and may hold anything.
    """
    dtype = state[0].dtype
    same = not any(alpha.strides) and not any(beta.strides)  # one weight for all instances
    shares = np.stack([x.flat[:1] if same else x.reshape(-1) for x in (alpha, beta)]).astype(
        dtype, copy=False
    )
    kernel.join(
        NAMES[type(loss)],
        shares,
        state,
        given,
        unit=unit_of(loss),
        costs=_costs(loss, state[0]),
        fresh=fresh,
    )


def concluded(
    state: Sequence[np.ndarray], loss: Any
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Total, aleatoric and epistemic uncertainty of a state, (..., K), and their sums over the
    classes.
    """
    state = [np.ascontiguousarray(x) for x in state[: n_arrays(loss)]]
    parts = tuple(np.empty_like(state[0]) for _ in range(3))
    sums = tuple(np.empty(state[0].shape[:-1], state[0].dtype) for _ in range(3))
    kernel.join(
        NAMES[type(loss)],
        None,
        parts,
        state,
        unit=unit_of(loss),
        costs=_costs(loss, state[0]),
        sums=sums,
    )
    return parts, sums


def of_members(
    probs: np.ndarray, loss: Any
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """The same of equally weighted members (M, ..., K), which have been checked and lie side by
    side.
    """
    m, *batch, k = probs.shape
    split = kernel.split(
        NAMES[type(loss)], probs.reshape(m, -1, k), unit=unit_of(loss), costs=_costs(loss, probs)
    )
    return tuple(x.reshape(*batch, k) for x in split.labelwise or ()), tuple(
        x.reshape(batch) for x in split.sums
    )


def n_arrays(loss: Any) -> int:
    """How many arrays of a state there are in the kernel: the eighth only for costs."""
    return 8 if NAMES[type(loss)] == "cost" else 7


def _costs(loss: Any, x: np.ndarray) -> np.ndarray | None:
    return loss.table(x.shape[-1], x.dtype.name) if NAMES[type(loss)] == "cost" else None
