"""Evaluate equations for all instances of a distribution, by the fastest road there is.

Log and squared loss of NumPy ensembles go to the kernel. Everything else of NumPy goes in blocks of instances, so that no temporary
has the size of the predictions; Dask arrays become one task for each block. The results do not depend on the road.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._arrays import SUM_TOLERANCE, Array, dtype_name
from ..losses import LogLoss, Loss, SquaredLoss
from . import kernel
from .blocks import in_blocks, in_tasks, library_of

BLOCK = 1 << 17
"""Numbers of a block that are held at once; some dozen arrays of that size are made."""


class Computed(NamedTuple):
    """Total, aleatoric and epistemic uncertainty; where they came along, their error bounds, the sums and the joint measures."""

    parts: tuple[Array, ...]
    error: tuple[Array, ...] | None = None
    sums: tuple[Array, ...] | None = None
    joint: tuple[Array, ...] | None = None


Distribution: TypeAlias = Any
"""A `labelwise.distributions.Distribution`, which stands above this module."""
Equations = Callable[[Distribution], Computed]


def compute(
    equations: Equations, q: Distribution, loss: Loss | None = None, *, labelwise: bool = True, n_jobs: int | None = None
) -> Computed:
    """``equations(q)``; ``loss`` says that these are what the kernel computes, label-wise or only for all classes at once."""

    def again(part: Distribution) -> Computed:
        return compute(equations, part, loss, labelwise=labelwise, n_jobs=n_jobs)

    if n_jobs is not None:
        kernel.thread_count(n_jobs)
    stored = getattr(q, "stored", None)
    if type(stored) is np.ndarray and type(loss) in (LogLoss, SquaredLoss):
        view = kernel.flat(stored)
        return Computed(*in_blocks(again, q, 0)) if view is None else _fused(q, view, loss, labelwise, n_jobs)

    library = library_of(q)
    if library == "dask":
        return Computed(*in_tasks(again, q))
    if library == "numpy" and q.n_numbers > BLOCK and prod(q.batch_shape) > 1:
        return Computed(*in_blocks(again, q, BLOCK))
    return equations(q)


def _fused(q: Any, view: np.ndarray, loss: Any, labelwise: bool, n_jobs: int | None) -> Computed:
    """All from one pass of the kernel over an ensemble ``q`` whose predictions are ``view`` (M, N, K)."""
    weights = q.weights if q.weights is None or q.weights.ndim == 1 else q.weights.reshape(view.shape[:2])
    unit = log(2) / log(loss.base) if loss.name == "log" else 1.0
    tolerance = SUM_TOLERANCE[dtype_name(q.stored)] if q.pending else None
    result = kernel.split(
        loss.name, view, weights, unit=unit, labelwise=labelwise, tolerance=tolerance, sum_to_one=q.exclusive, threads=n_jobs
    )
    if q.pending:
        q.check(valid=result.valid)
        if not result.valid:  # a sum at the very edge, which passes when it is added up in another order; the kernel had stopped at it
            return _fused(q, view, loss, labelwise, n_jobs)
    batch = q.stored.shape[1:-1]
    if len(batch) == 1:
        return Computed(result.labelwise or (), None, result.sums, result.joint)
    sums, joint = (tuple(part.reshape(batch) for part in parts) for parts in (result.sums, result.joint))
    return Computed(tuple(_unflat(part, batch) for part in result.labelwise or ()), None, sums, joint)


def _unflat(part: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """(N, K) with the axes of the instances again, as a view."""
    if part.flags.c_contiguous or not part.size:
        return part.reshape(*batch, part.shape[-1])
    return np.moveaxis(part.T.reshape(part.shape[-1], *batch), 0, -1)
