"""Ensembles of NumPy arrays, a block of instances at a time: no temporary has the size of the predictions.

Log and squared loss of single labels go to the fused kernel, which gives the sums and the joint measures in the same pass;
everything else goes block by block through the same code that serves the other array libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _kernels
from .._arrays import SUM_TOLERANCE, Array, dtype_name, widen
from ..losses import LogLoss, Loss, SquaredLoss
from ._atoms import Atoms

if TYPE_CHECKING:
    from ..events import Events
    from .ensemble import Ensemble, Members

BLOCK = 1 << 17
"""Predictions (members x instances x labels) that the general path holds at once; it makes some dozen arrays of that size."""
Parts = tuple[Array, ...]


def flat(x: np.ndarray) -> np.ndarray | None:
    """(M, ..., K) as (M, N, K) on the same memory, or ``None`` where no such view exists."""
    if x.ndim == 3:
        return x
    try:
        return x.reshape(x.shape[0], -1, x.shape[-1], copy=False) if x.size else x.reshape(x.shape[0], 0, x.shape[-1])
    except ValueError:
        return None


def holds_probabilities(stored: np.ndarray, tolerance: float, sum_to_one: bool) -> bool:
    """Whether all is well with the values, in one pass; what is wrong is found out elsewhere."""
    view = flat(stored)
    if view is None:
        return all(holds_probabilities(stored[:, i], tolerance, sum_to_one) for i in range(stored.shape[1]))
    return _kernels.check(_readable(view), tolerance, sum_to_one=sum_to_one)


class Result(NamedTuple):
    """Total, aleatoric and epistemic uncertainty: of each label or event (..., E), summed and joint (...,) where one pass gave them."""

    labelwise: Parts
    sums: Parts | None = None
    joint: Parts | None = None


def split(q: Members, loss: Loss, events: Events | None, *, jackknife: bool, threads: int | None) -> Result:
    """Label-wise uncertainty; for log and squared loss of single labels, without the jackknife, also the sums and the joint measures."""
    if threads is not None:
        _kernels.thread_count(threads)
    view = flat(q.stored)
    if view is None:  # no common stride for all instances: one slice of the first axis after another
        slices = [split(q.take(i), loss, events, jackknife=jackknife, threads=threads) for i in range(q.stored.shape[1])]
        others = ([x for x in parts if x is not None] for parts in ([s.sums for s in slices], [s.joint for s in slices]))
        return Result(_stacked([s.labelwise for s in slices], len(slices)), *(_stacked(x, len(x)) if x else None for x in others))
    batch = q.stored.shape[1:-1]
    if events is None and type(loss) in (LogLoss, SquaredLoss):
        if not q.stored.size:
            empty = np.empty(batch, widen(q.stored).dtype)
            return Result((np.empty(q.stored.shape[1:], empty.dtype),) * 3, (empty,) * 3, (empty,) * 3)
        result = _fused(q, view, loss, labelwise=True, threads=threads)
        labels: Any = result.labelwise
        if jackknife:
            for rows, law in _laws(q, view, None):
                bias = law.jackknife(loss)
                for part in (labels[0], labels[2]):
                    part[rows] += bias
        if len(batch) != 1:
            labels = tuple(_unflat(part, batch) for part in labels)
        if jackknife:
            return Result(labels)
        return Result(labels, *(tuple(part.reshape(batch) for part in parts) for parts in (result.sums, result.joint)))

    def parts(law: Atoms) -> Parts:
        total, (aleatoric, epistemic) = loss.entropy(*law.mean), law.split(loss)
        bias = law.jackknife(loss) if jackknife else 0
        return total + bias, aleatoric, epistemic + bias

    return Result(of_blocks(q, parts, events))


def joint(q: Ensemble, loss: Any, of: Callable[[Atoms], Parts]) -> Parts:
    """Joint total, aleatoric and epistemic uncertainty (...,): from the kernel for log and squared loss, else ``of`` each block."""
    view = flat(q.stored)
    if loss is None or not q.stored.size:
        return of_blocks(q, of, None)
    if view is None:
        return _stacked((joint(q.take(i), loss, of) for i in range(q.stored.shape[1])), q.stored.shape[1])
    result = _fused(q, view, loss, labelwise=False, threads=None)
    return tuple(part.reshape(q.stored.shape[1:-1]) for part in result.joint)


def of_blocks(q: Members, of: Callable[[Atoms], Parts], events: Events | None) -> Parts:
    """Arrays with the axes of the instances first, put together from the blocks' own."""
    q.check()
    stored, batch = q.stored, q.stored.shape[1:-1]
    view = flat(stored)
    if view is None:  # no common stride for all instances: one slice of the first axis after another
        return _stacked((of_blocks(q.take(i), of, events) for i in range(batch[0])), batch[0])
    n = view.shape[1]
    results: list[np.ndarray] = []
    for rows, law in _laws(q, view, events):
        parts = of(law)
        if rows.stop - rows.start >= n:
            results = [np.ascontiguousarray(part) for part in parts]
            break
        results = results or [np.empty((n, *part.shape[1:]), part.dtype) for part in parts]
        for out, part in zip(results, parts, strict=True):
            out[rows] = part
    return tuple(result.reshape((*batch, *result.shape[1:])) for result in results)


def _laws(q: Members, view: np.ndarray, events: Events | None) -> Iterator[tuple[slice, Atoms]]:
    """The laws of blocks of instances, and which these are; for no instances one empty law."""
    m, n, k = view.shape
    step = max(1, BLOCK // (m * (k if events is None else max(k, len(events.names)))))
    weights = q.weights if q.weights is None or q.weights.ndim == 1 else q.weights.reshape(m, n)
    for i in range(0, max(n, 1), step):
        own = weights if weights is None or weights.ndim == 1 else weights[:, i : i + step]
        # contiguous: the same bits for every layout
        yield slice(i, min(i + step, n)), q.law(np.ascontiguousarray(widen(view[:, i : i + step])), own, events)


def _stacked(slices: Iterable[Parts], n: int) -> Parts:
    """``n`` slices of each result on a new first axis."""
    results: list[np.ndarray] = []
    for i, parts in enumerate(slices):
        results = results or [np.empty((n, *part.shape), part.dtype) for part in parts]
        for out, part in zip(results, parts, strict=True):
            out[i] = part
    return tuple(results)


def _fused(q: Members, view: np.ndarray, loss: Loss, *, labelwise: bool, threads: int | None) -> _kernels.Split:
    weights = q.weights if q.weights is None or q.weights.ndim == 1 else q.weights.reshape(view.shape[:2])
    unit = log(2) / log(loss.base) if isinstance(loss, LogLoss) else 1.0
    tolerance = SUM_TOLERANCE[dtype_name(view)] if q.pending else None
    result = _kernels.split(
        loss.name,
        _readable(view),
        weights,
        unit=unit,
        labelwise=labelwise,
        tolerance=tolerance,
        sum_to_one=q.sum_to_one,
        threads=threads,
    )
    if q.pending:
        q.check(valid=result.valid)
        if not result.valid:  # a sum at the very edge, which passes when it is added up in another order; the kernel had stopped at it
            return _fused(q, view, loss, labelwise=labelwise, threads=threads)
    return result


def _readable(view: np.ndarray) -> np.ndarray:
    """bfloat16 has no buffer format: its bits are passed on."""
    return view if view.dtype.char in "dfe" else view.view(np.uint16)


def _unflat(part: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """(N, K) with the axes of the instances again, as a view."""
    if part.flags.c_contiguous or not part.size:
        return part.reshape((*batch, part.shape[-1]))
    return np.moveaxis(part.T.reshape((part.shape[-1], *batch)), 0, -1)
