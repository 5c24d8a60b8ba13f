"""Evaluate equations for all instances of a distribution, by the fastest road there is.

Ensembles and Dirichlets in main memory go to the kernels, for the losses that they have. Everything
else of NumPy goes in blocks of instances, so that no temporary has the size of the predictions;
Dask arrays become one task for each block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import log, prod
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from .._arrays import SUM_TOLERANCE, Array, dtype_name
from ..events import Events
from ..losses import CostLoss, LogLoss, Loss, SphericalLoss, SquaredLoss, ZeroOneLoss
from . import dirichlet, kernel
from .blocks import in_blocks, in_tasks, library_of, with_values
from .host import back, on_host

BLOCK = 1 << 17
"""Numbers of a block that are held at once; some dozen arrays of that size are made."""


class Computed(NamedTuple):
    """Total, aleatoric and epistemic uncertainty; where they came along, their error bounds, the
    sums and the joint measures.
    """

    parts: tuple[Array, ...]
    error: tuple[Array, ...] | None = None
    sums: tuple[Array, ...] | None = None
    joint: tuple[Array, ...] | None = None


Distribution: TypeAlias = Any
"""A `labelwise.distributions.Distribution`, which stands above this module."""
Equations = Callable[[Distribution], Computed]


NAMES: dict[type[Loss], str] = {
    LogLoss: "log",
    SquaredLoss: "squared",
    SphericalLoss: "spherical",
    CostLoss: "cost",
    ZeroOneLoss: "cost",
}
"""The losses of the kernel; not their subclasses, which may mean something else."""
MOST = 1 << 24
"""Predictions of a tile of the kernel (members x classes x 256) up to which it asks for events."""


def compute(
    equations: Equations,
    q: Distribution,
    loss: Loss | None = None,
    *,
    events: Events | None = None,
    labelwise: bool = True,
    n_jobs: int | None = None,
) -> Computed:
    """``equations(q)``; ``loss`` says that these are what the kernel computes, label-wise or only
    for all classes at once.
    """

    def again(part: Distribution) -> Computed:
        return compute(equations, part, loss, events=events, labelwise=labelwise, n_jobs=n_jobs)

    if n_jobs is not None:
        kernel.thread_count(n_jobs)
    stored = getattr(q, "stored", None)
    if stored is not None and _in_kernel(loss) and (events is None or q.exclusive):
        if type(stored) is np.ndarray:
            view = (
                stored if stored.ndim == 3 and stored.dtype.char in "dfe" else kernel.flat(stored)
            )
            if view is None:
                return Computed(*in_blocks(again, q, 0))
        elif events is None and labelwise and _differentiated(q, loss):
            return Computed(_with_gradient(q, loss, equations, n_jobs))
        else:
            view = _other_view(q)
        if view is not None and (events is None or view.shape[0] * view.shape[2] * 256 <= MOST):
            return _fused(q, view, loss, events, labelwise, n_jobs)

    parts = None
    if labelwise and type(loss) in NAMES:
        if stored is not None and events is None:
            parts = _of_traced(q, loss)
        elif getattr(type(q), "has_beta_laws", False):
            parts = _of_dirichlet(q, loss, events, n_jobs)
    if parts is not None:
        return Computed(parts)

    library = library_of(q)
    if library == "dask":
        return Computed(*in_tasks(again, q))
    if library == "numpy" and q.n_numbers > BLOCK and prod(q.batch_shape) > 1:
        return Computed(*in_blocks(again, q, BLOCK))
    return equations(q)


def _in_kernel(loss: Any) -> bool:
    """Whether the compiled kernel is there and has this loss."""
    return kernel.native is not None and type(loss) in NAMES


def _differentiated(q: Any, loss: Any) -> bool:
    """Whether ``q`` is a PyTorch ensemble whose derivatives the kernel can compute."""
    if not getattr(q.stored, "requires_grad", False):
        return False
    if NAMES[type(loss)] not in kernel.GRADIENT_LOSSES:
        return False
    from .torch_gradient import applies

    return applies(q)


def _with_gradient(
    q: Any, loss: Any, equations: Equations, n_jobs: int | None
) -> tuple[Array, ...]:
    """Total, aleatoric and epistemic uncertainty of a PyTorch ensemble from the kernel, as part of
    the graph.
    """
    from .torch_gradient import differentiable

    def values(probs: Array) -> tuple[Array, ...]:
        return compute(equations, with_values(q, stored=probs), loss, n_jobs=n_jobs).parts

    def again(probs: Array) -> tuple[Array, ...]:
        return equations(with_values(q, stored=probs)).parts

    options = {"loss": NAMES[type(loss)], "unit": unit_of(loss)}
    q.check()
    return differentiable(q.stored, values, again, q.weights, options)


def _of_traced(q: Any, loss: Any) -> tuple[Array, ...] | None:
    """Total, aleatoric and epistemic uncertainty of a traced ensemble of JAX, or ``None`` if ``q``
    is none.
    """
    if type(q.stored).__module__.partition(".")[0] not in ("jax", "jaxlib"):
        return None
    from . import jax_traced

    return jax_traced.split(q, loss, unit_of(loss)) if jax_traced.applies(q) else None


def unit_of(loss: Any) -> float:
    """What a bit is in the unit of the loss."""
    return log(2) / log(loss.base) if type(loss) is LogLoss else 1.0


def _other_view(q: Any) -> np.ndarray | None:
    """The predictions of another array library as the kernel sees them, or ``None`` if it
    cannot.
    """
    values = on_host(q.stored)
    if values is None or (q.weights is not None and on_host(q.weights) is None):
        return None
    return kernel.flat(values)


def _fused(
    q: Any, view: np.ndarray, loss: Any, events: Events | None, labelwise: bool, n_jobs: int | None
) -> Computed:
    """All from one pass of the kernel over an ensemble ``q`` whose predictions are ``view`` (M, N,
    K).
    """
    stored, weights = q.stored, q.weights
    if weights is not None:
        weights = cast(np.ndarray, on_host(weights))
        weights = weights if weights.ndim == 1 else weights.reshape(view.shape[:2])
    name = NAMES[type(loss)]
    kind = dtype_name(stored) if q.pending or name == "cost" else ""
    result = kernel.split(
        name,
        view,
        weights,
        unit=unit_of(loss),
        labelwise=labelwise,
        tolerance=SUM_TOLERANCE[kind] if q.pending else None,
        sum_to_one=q.exclusive,
        threads=n_jobs,
        costs=loss.table(view.shape[-1] if events is None else len(events.names), kind)
        if name == "cost"
        else None,
        events=None if events is None else _sums(events, view.shape[-1], q.class_names),
    )
    if q.pending:
        q.check(valid=result.valid)
        # a sum at the very edge, which passes when it is added up in another order; the kernel had
        # stopped at it
        if not result.valid:
            return _fused(q, view, loss, events, labelwise, n_jobs)
    batch = tuple(stored.shape[1:-1])
    if len(batch) == 1 and stored is view:
        return Computed(result.labelwise or (), None, result.sums, result.joint)
    parts = tuple(back(_unflat(part, batch), stored) for part in result.labelwise or ())
    sums, joint = (
        x and tuple(back(part.reshape(batch), stored) for part in x)
        for x in (result.sums, result.joint)
    )
    return Computed(parts, None, sums, joint)


def split_atoms(loss: Any, t: Array) -> tuple[Array, ...] | None:
    """Total, aleatoric and epistemic uncertainty of equally weighted atoms (M, ..., K) of NumPy
    from the kernel; ``None`` if it cannot.
    """
    if not _in_kernel(loss) or not isinstance(t, np.ndarray):
        return None
    name, (m, *batch, k) = NAMES[type(loss)], t.shape
    view = np.moveaxis(
        np.moveaxis(t, -1, 0).reshape(k, m, -1), 0, -1
    )  # without a copy where the classes lie apart
    costs = loss.table(k, dtype_name(t)) if name == "cost" else None
    # one thread: between these short calls the others would spin, on cores that have better to do
    parts = kernel.split(name, view, unit=unit_of(loss), costs=costs, threads=1).labelwise or ()
    return tuple(_unflat(part, tuple(batch)) for part in parts)


def _of_dirichlet(
    q: Any, loss: Any, events: Events | None, n_jobs: int | None
) -> tuple[Array, ...] | None:
    """Total, aleatoric and epistemic uncertainty of a Dirichlet or a mixture in main memory from
    the compiled code, if there is any.
    """
    name = NAMES[type(loss)]
    costs = (
        loss.table(q.n_classes if events is None else len(events.names), "float64")
        if name == "cost"
        else None
    )
    sums = None if events is None else _sums(events, q.n_classes, q.class_names)
    unit = 1 / log(loss.base) if name == "log" else 1.0
    return dirichlet.split(
        name, q.alpha, q.weights, q.n_members is not None, unit, costs, sums, n_jobs
    )


@lru_cache(maxsize=64)
def _sums(events: Events, n_classes: int, class_names: tuple[str, ...] | None) -> kernel.Sums:
    """Events as the kernel adds them up."""
    lists = [
        np.asarray(side, np.int64)
        for pair in events.resolve(n_classes, class_names)
        for side in pair
    ]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return kernel.Sums(offsets, np.concatenate(lists), events.given is not None)


def _unflat(part: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """(N, K) with the axes of the instances again, as a view."""
    if part.flags.c_contiguous or not part.size:
        return part.reshape(*batch, part.shape[-1])
    return np.moveaxis(part.T.reshape(part.shape[-1], *batch), 0, -1)
