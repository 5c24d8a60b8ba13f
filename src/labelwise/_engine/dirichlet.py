"""Dirichlet distributions and their mixtures in main memory by compiled code, where it could be
built.

Every label and event has a Beta law, whose TU, AU and EU come from its two parameters alone: log
loss from differences of digamma functions, squared loss in closed form, spherical loss from a
Chebyshev series, costs from an integral of one sign. The formulas are those of `labelwise.losses`
and `labelwise.distributions.marginals.beta`, which compute everything else.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from math import log, prod
from typing import Any

import numpy as np

from ..events import Events
from . import kernel
from .compute import Computed
from .ensembles import NAMES, event_lists, loss_table
from .host import back, on_host

NODES, CHEBYSHEV = 48, 22
LOSSES = {"log": 0, "squared": 1, "spherical": 2, "cost": 3}
SEVERAL = {"log": 1 << 16, "squared": 1 << 18, "spherical": 1 << 14, "cost": 1 << 12}
"""Labels (times members) from which on two threads pay; each further one needs half as many."""


def _load() -> Any:
    """The compiled code, or ``None`` where it could not be built or is not wanted."""
    if kernel.native is None:
        return None
    try:
        from . import _dirichlet  # type: ignore[attr-defined]
    except ImportError:
        return None
    return _dirichlet


native = _load()
"""The compiled code; ``None``: everything is computed by the general path."""


def split_dirichlet(
    q: Any, loss: Any, events: Events | None, n_jobs: int | None
) -> Computed | None:
    """Total, aleatoric and epistemic uncertainty of each label or event of a Dirichlet (..., K) or
    a mixture (M, ..., K); ``None``: these arrays or this loss are for the equations.
    """
    name = NAMES.get(type(loss))
    values, weights = on_host(q.alpha), None
    if native is None or name not in LOSSES or values is None or values.dtype.char not in "df":
        return None
    if q.weights is not None:
        weights = on_host(q.weights)
        if weights is None:
            return None
        weights = np.ascontiguousarray(weights, np.float64)
    mixture = q.n_members is not None
    batch = q.batch_shape
    flat = np.ascontiguousarray(values).reshape(q.n_members or 1, prod(batch), q.n_classes)
    members, n, labels = flat.shape
    offsets = positions = None
    if events is not None:
        offsets, positions, _ = event_lists(events, q.n_classes, q.class_names)
        labels = len(events.names)
    unit = 1 / log(loss.base) if name == "log" else 1.0  # of a nat
    costs = loss_table(loss, labels, "float64")
    if costs is not None:
        costs = np.ascontiguousarray(costs)
    parts = tuple([np.empty((n, labels), flat.dtype) for _ in range(3)])

    def split_rows(start: int, stop: int) -> None:
        native.split(
            kernel.level(),
            LOSSES[name],
            unit,
            flat.dtype.char == "f",
            mixture,
            weights is not None and weights.ndim > 1,
            start,
            stop,
            flat,
            *_tables(),
            weights,
            costs,
            offsets,
            positions,
            *parts,
        )

    size, several = members * n * labels, SEVERAL[name]
    count = 1
    if size >= several:
        count = min(kernel.thread_count(n_jobs), 2 * size // several, n)
    if count == 1:
        split_rows(0, n)
    else:
        edges = np.linspace(0, n, min(n, 4 * count) + 1).astype(int).tolist()
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(split_rows, edges[:-1], edges[1:]))
    return Computed(tuple([back(part.reshape(*batch, labels), q.alpha) for part in parts]))


@lru_cache(maxsize=1)
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights on [0, 1], (2, NODES), and the even Chebyshev coefficients
    of 2 / (1 + ‖t‖) in 2t − 1.
    """
    x, w = np.polynomial.legendre.leggauss(NODES)
    angles = np.pi * (np.arange(96) + 0.5) / 96
    values = 2 / (1 + np.sqrt((1 + np.cos(angles) ** 2) / 2))
    series = np.cos(2 * np.arange(CHEBYSHEV)[:, None] * angles) @ values / 48
    series[0] /= 2
    return np.stack([(x + 1) / 2, w / 2]), series
