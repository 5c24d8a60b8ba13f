"""Dirichlet distributions and their mixtures in main memory by compiled code, where it could be
built.

Every label and event has a Beta law, whose TU, AU and EU come from its two parameters alone: log
loss from differences of digamma functions, squared loss in closed form, spherical loss from a
Chebyshev series, costs from an integral of one sign. The formulas are those of `labelwise.losses`
and `labelwise.distributions.marginals.beta`, which compute everything else.
"""

from __future__ import annotations

from math import log, prod
from typing import Any

import numpy as np

from ..events import Events
from . import kernel
from .compute import Computed
from .ensembles import kernel_event_lists, kernel_name
from .host import back_to_library, on_host

SEVERAL = {"log": 1 << 16, "squared": 1 << 18, "spherical": 1 << 14, "cost": 1 << 12}
"""Labels (times members) from which on two threads pay; each further one needs half as many."""


def split_dirichlet_in_kernel(
    q: Any, loss: Any, events: Events | None, n_jobs: int | None
) -> Computed | None:
    """Total, aleatoric and epistemic uncertainty of each label or event of a Dirichlet (..., K) or
    a mixture (M, ..., K); ``None``: these arrays or this loss are for the equations.
    """
    name = kernel_name(loss)
    values, weights = on_host(q.alpha), None
    if name is None or values is None or values.dtype.char not in "df":
        return None
    if q.weights is not None:
        weights = on_host(q.weights)
        if weights is None:
            return None
        weights = np.ascontiguousarray(weights, np.float64)
    batch, members, labels = q.batch_shape, q.n_members or 1, q.n_classes
    n = prod(batch)
    offsets = positions = None
    if events is not None:
        offsets, positions, _ = kernel_event_lists(events, q.n_classes, q.class_names)
        labels = len(events.names)
    unit, costs = 1.0, None
    if name == "log":
        unit = 1 / log(loss.base)  # of a nat
    if name == "cost":
        costs = np.ascontiguousarray(loss.table(labels, "float64"))
    parts = tuple([np.empty((n, labels), values.dtype) for _ in range(3)])
    threads, pieces = kernel.share_among_threads(members * n * labels, n, SEVERAL[name], n_jobs)
    kernel.native.dirichlet(
        level=kernel.level,
        loss=name,
        dtype=values.dtype.char,
        alpha=np.ascontiguousarray(values).reshape(members, n, q.n_classes),
        weights=weights,
        unit=unit,
        costs=costs,
        offsets=offsets,
        positions=positions,
        mixture=q.n_members is not None,
        labelwise=parts,
        pieces=pieces,
        workers=threads - 1,
    )
    return Computed(
        tuple([back_to_library(part.reshape(*batch, labels), q.alpha) for part in parts])
    )
