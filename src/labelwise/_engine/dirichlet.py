"""Dirichlet distributions and their mixtures in main memory by compiled code, where it could be
built.

Every label and event has a Beta law, whose TU, AU and EU come from its two parameters alone: log
loss from differences of digamma functions, squared loss in closed form, spherical loss from a
Chebyshev series, costs from an integral of one sign. The formulas are those of `labelwise.losses`
and `labelwise.distributions.marginals.beta`, which compute everything else.
"""

from __future__ import annotations

from math import prod

import numpy as np

from .._arrays import Array
from . import kernel
from .host import back, on_host

SEVERAL = {"log": 1 << 16, "squared": 1 << 18, "spherical": 1 << 14, "cost": 1 << 12}
"""Labels (times members) from which on two threads pay; each further one needs half as many."""


def split(
    loss: str,
    alpha: Array,
    weights: Array | None,
    mixture: bool,
    unit: float,
    costs: np.ndarray | None,
    events: kernel.Sums | None,
    n_jobs: int | None,
) -> tuple[Array, ...] | None:
    """TU, AU and EU of each label or event, (..., K) or (..., E); ``None``: these arrays are for
    the general path.

    ``alpha`` is (..., K) or, of a mixture, (M, ..., K), with ``weights`` (M,) or (M, ...). ``unit``
    is what a nat is; ``costs`` (4, E) are those of false positives and negatives, and the edges of
    the decision; ``events`` are a `kernel.Sums`.
    """
    values = on_host(alpha)
    shares = None if weights is None else on_host(weights)
    if kernel.native is None or values is None or values.dtype.char not in "df":
        return None
    if weights is not None and shares is None:
        return None
    members = values.shape[0] if mixture else 1
    batch = values.shape[int(mixture) : -1]
    n, k = prod(batch), values.shape[-1]
    offsets, positions, conditional = events or (None, None, False)
    labels = k if events is None else len(events.offsets) // 2
    if shares is not None:
        shares = np.ascontiguousarray(shares, np.float64)
    if costs is not None:
        costs = np.ascontiguousarray(costs, np.float64)

    parts = tuple(np.empty((n, labels), values.dtype) for _ in range(3))
    threads, pieces = kernel.share(members * n * labels, n, SEVERAL[loss], n_jobs)
    kernel.native.dirichlet(
        level=kernel.level(),
        loss=loss,
        dtype=values.dtype.char,
        alpha=np.ascontiguousarray(values).reshape(members, n, k),
        weights=shares,
        unit=unit,
        costs=costs,
        offsets=offsets,
        positions=positions,
        conditional=conditional,
        mixture=mixture,
        labelwise=parts,
        pieces=pieces,
        workers=threads - 1,
    )
    return tuple(back(part.reshape(*batch, labels), alpha) for part in parts)
