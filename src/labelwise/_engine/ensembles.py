"""The kernel for ensembles: of NumPy, and of PyTorch and JAX in main memory.

PyTorch ensembles to be differentiated get their derivatives from it, too; traced ones of JAX have a
formula of their own (`jax_traced`). What is not for any of these, `split_ensemble_in_kernel` leaves
to the equations.
"""

from __future__ import annotations

from functools import lru_cache, partial
from math import log
from typing import Any

import numpy as np

from .._arrays import Array, dtype_name, library
from ..events import Events
from ..losses import CostLoss, LogLoss, Loss, SphericalLoss, SquaredLoss, ZeroOneLoss
from . import kernel
from .blocks import in_blocks
from .compute import Computed
from .host import back_to_library, on_host

# The losses of the kernel; not their subclasses, which may mean something else.
NAMES: dict[type[Loss], str] = {
    LogLoss: "log",
    SquaredLoss: "squared",
    SphericalLoss: "spherical",
    CostLoss: "cost",
    ZeroOneLoss: "cost",
}
MAX_TILE = 1 << 24  # predictions of a tile (members x classes x 256) for which events are summed


def kernel_name(loss: Any) -> str | None:
    """What the kernel calls this loss; ``None`` if it is not there or does not have it."""
    if kernel.native is None:
        return None
    return NAMES.get(type(loss))


def kernel_unit(loss: Any) -> float:
    """What a bit is in the unit of the loss."""
    if type(loss) is LogLoss:
        return log(2) / log(loss.base)
    return 1.0


def kernel_cost_table(loss: Any, n_labels: int, dtype: str) -> np.ndarray | None:
    """The costs and decision edges that the kernel must know beside the name of a cost loss."""
    if isinstance(loss, CostLoss):
        return loss.table(n_labels, dtype)
    return None


@lru_cache(maxsize=64)
def kernel_event_lists(
    events: Events, n_classes: int, class_names: tuple[str, ...] | None
) -> kernel.EventLists:
    """Events as the kernel adds them up."""
    lists = []
    for inside, rest in events.resolve(n_classes, class_names):
        lists += [np.asarray(inside, np.int64), np.asarray(rest, np.int64)]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return kernel.EventLists(offsets, np.concatenate(lists), events.given is not None)


def split_ensemble_in_kernel(
    q: Any, loss: Any, events: Events | None, n_jobs: int | None, *, labelwise: bool = True
) -> Computed | None:
    """All that the kernel computes of an ensemble, or ``None`` if it cannot; without ``labelwise``
    only the joint measures and the sums.
    """
    if events is not None and not q.exclusive:
        return None
    name = kernel_name(loss)
    differentiable = labelwise and events is None
    values, weights = q.stored, q.weights
    if type(values) is not np.ndarray:
        needs_gradient = getattr(values, "requires_grad", False)
        if differentiable and needs_gradient and name in kernel.GRADIENT_LOSSES:
            from . import torch_gradient

            by_kernel = partial(split_ensemble_in_kernel, loss=loss, events=None, n_jobs=n_jobs)
            if torch_gradient.has_kernel_gradient(q):
                return Computed(torch_gradient.split(q, loss, name, kernel_unit(loss), by_kernel))
        if differentiable and type(loss) in NAMES and library(values) == "JAX":
            from . import jax_traced

            if jax_traced.is_traced_ensemble(q):
                return Computed(jax_traced.split(q, loss, kernel_unit(loss)))
        values = on_host(values)
    if weights is not None:
        weights = on_host(weights)
    if name is None or values is None or (weights is None and q.weights is not None):
        return None
    view = kernel.flatten_instances(values)
    if view is None:
        if values is not q.stored:
            return None

        def of_slice(part: Any) -> Computed | None:
            return split_ensemble_in_kernel(part, loss, events, n_jobs, labelwise=labelwise)

        return Computed(*in_blocks(of_slice, q, 0))  # slice by slice, without a copy of all
    if events is not None and view.shape[0] * view.shape[2] * 256 > MAX_TILE:
        return None
    return _run_split_kernel(name, q, view, weights, loss, events, labelwise, n_jobs)


def _run_split_kernel(
    name: str,
    q: Any,
    view: np.ndarray,
    weights: np.ndarray | None,
    loss: Any,
    events: Events | None,
    labelwise: bool,
    n_jobs: int | None,
) -> Computed:
    """All from one pass of the kernel over the predictions ``view`` (M, N, K)."""
    if weights is not None and weights.ndim > 1:
        weights = weights.reshape(view.shape[:2])
    n_labels, lists, costs = view.shape[-1], None, None
    if events is not None:
        n_labels = len(events.names)
        lists = kernel_event_lists(events, view.shape[-1], q.class_names)
    if name == "cost":
        costs = kernel_cost_table(loss, n_labels, dtype_name(q.stored))
    result = kernel.split(
        name,
        view,
        weights,
        unit=kernel_unit(loss),
        labelwise=labelwise,
        threads=n_jobs,
        costs=costs,
        events=lists,
    )
    if q.stored is view:  # of NumPy with one axis of instances: nothing to give back its shape
        return Computed(result.labelwise or (), None, result.sums, result.joint)
    batch = tuple(q.stored.shape[1:-1])

    def shaped(arrays: tuple[np.ndarray, ...] | None) -> tuple[Array, ...] | None:
        if arrays is None:
            return None
        return tuple([back_to_library(_unflatten(x, batch), q.stored) for x in arrays])

    return Computed(shaped(result.labelwise) or (), None, shaped(result.sums), shaped(result.joint))


def split_atoms_in_kernel(loss: Any, t: Array) -> tuple[Array, ...] | None:
    """Total, aleatoric and epistemic uncertainty of equally weighted atoms (M, ..., K) from the
    kernel; ``None`` if it cannot.
    """
    name, values = kernel_name(loss), on_host(t)
    if name is None or values is None:
        return None
    m, *batch, k = values.shape
    # without a copy where the classes lie apart
    view = np.moveaxis(np.moveaxis(values, -1, 0).reshape(k, m, -1), 0, -1)
    costs = kernel_cost_table(loss, k, dtype_name(t))
    # one thread: between these short calls the others would spin, on cores that have better to do
    result = kernel.split(name, view, unit=kernel_unit(loss), costs=costs, threads=1)
    parts = result.labelwise or ()
    return tuple([back_to_library(_unflatten(part, tuple(batch)), t) for part in parts])


def _unflatten(part: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """(N,) or (N, K) with the axes of the instances again, as a view."""
    labels = part.shape[1:]
    if part.flags.c_contiguous or not part.size:
        return part.reshape((*batch, *labels))
    return np.moveaxis(part.T.reshape((*labels, *batch)), 0, -1)
