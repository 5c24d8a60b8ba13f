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

from .._arrays import Array, Arrays, Names, dtype_name, library
from ..events import Events
from ..losses import CostLoss, LogLoss, Loss, SphericalLoss, SquaredLoss, ZeroOneLoss
from . import kernel
from .blocks import in_blocks, map_arrays
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


@lru_cache(maxsize=64)
def kernel_event_lists(
    events: Events, n_classes: int, class_names: Names | None
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
    values, weights = q.stored, q.weights
    if type(values) is not np.ndarray:
        if labelwise and events is None:
            parts = _split_with_derivatives(q, loss, n_jobs)
            if parts is not None:
                return Computed(parts)
        values = on_host(values)
    if weights is not None:
        weights = on_host(weights)
    name = kernel_name(loss)
    if name is None or values is None or (weights is None and q.weights is not None):
        return None
    view = kernel.flatten_instances(values)
    if view is None:
        if values is not q.stored:
            return None

        def of_slice(part: Any) -> Computed | None:
            return split_ensemble_in_kernel(part, loss, events, n_jobs, labelwise=labelwise)

        return Computed(*in_blocks(of_slice, q, 0))  # slice by slice, without a copy of all
    n_labels, lists, costs = view.shape[-1], None, None
    if events is not None:
        if view.shape[0] * view.shape[2] * 256 > MAX_TILE:
            return None
        n_labels = len(events.names)
        lists = kernel_event_lists(events, view.shape[-1], q.class_names)
    if name == "cost":
        costs = loss.table(n_labels, dtype_name(values))
    computed = kernel.split(
        name,
        view,
        weights,
        unit=kernel_unit(loss),
        labelwise=labelwise,
        threads=n_jobs,
        costs=costs,
        events=lists,
    )
    if view is q.stored:  # of NumPy with one axis of instances: nothing to give back its shape
        return computed

    return Computed(*map_arrays(partial(_kernel_result_like, q.stored), computed))


def _split_with_derivatives(q: Any, loss: Any, n_jobs: int | None) -> Arrays | None:
    """Total, aleatoric and epistemic uncertainty of an ensemble of PyTorch or JAX that is
    differentiated or traced, if that has code of its own.
    """
    if type(loss) not in (LogLoss, SquaredLoss):
        return None
    if library(q.stored) == "JAX":
        from . import jax_traced

        return jax_traced.split(q, loss, kernel_unit(loss))
    if getattr(q.stored, "requires_grad", False) and kernel.native is not None:
        from . import torch_gradient

        return torch_gradient.split(q, loss, kernel_unit(loss), n_jobs)
    return None


def split_atoms_in_kernel(loss: Any, t: Array) -> Arrays | None:
    """Total, aleatoric and epistemic uncertainty of equally weighted atoms (M, ..., K) from the
    kernel; ``None`` if it cannot.
    """
    name, values = kernel_name(loss), on_host(t)
    if name is None or values is None:
        return None
    m, k = values.shape[0], values.shape[-1]
    # without a copy where the classes lie apart
    view = np.moveaxis(np.moveaxis(values, -1, 0).reshape(k, m, -1), 0, -1)
    costs = None
    if name == "cost":
        costs = loss.table(k, dtype_name(t))
    # one thread: between these short calls the others would spin, on cores that have better to do
    computed = kernel.split(name, view, unit=kernel_unit(loss), costs=costs, threads=1)
    return tuple(map(partial(_kernel_result_like, t), computed.parts))


def _kernel_result_like(x: Array, result: np.ndarray) -> Array:
    """A result (N,) or (N, K) in the library and with the axes of instances of ``x`` (M, ..., K):
    a view where that is possible.
    """
    batch, labels = tuple(x.shape[1:-1]), result.shape[1:]
    if result.flags.c_contiguous or not result.size:
        shaped = result.reshape((*batch, *labels))
    else:
        shaped = np.moveaxis(result.T.reshape((*labels, *batch)), 0, -1)
    return back_to_library(shaped, x)
