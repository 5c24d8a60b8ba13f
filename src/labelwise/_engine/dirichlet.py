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
from typing import Any

import numpy as np

from .._arrays import Array
from . import kernel
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


def split(
    loss: str,
    alpha: Array,
    weights: Array | None,
    mixture: bool,
    unit: float,
    costs: np.ndarray | None,
    events: Any,
    n_jobs: int | None,
) -> tuple[Array, ...] | None:
    """TU, AU and EU of each label or event, (..., K) or (..., E); ``None``: these arrays are for
    the general path.

    ``alpha`` is (..., K) or, of a mixture, (M, ..., K), with ``weights`` (M,) or (M, ...). ``unit``
    is what a nat is; ``costs`` (4, E) are those of false positives and negatives, and the edges of
    the decision; ``events`` are a `kernel.Sums`.
    """
    values, shares = on_host(alpha), None if weights is None else on_host(weights)
    if (
        native is None
        or values is None
        or values.dtype.char not in "df"
        or (weights is not None and shares is None)
    ):
        return None
    batch = values.shape[int(mixture) : -1]
    flat = np.ascontiguousarray(values).reshape(
        values.shape[0] if mixture else 1, int(np.prod(batch)), values.shape[-1]
    )
    members, n, k = flat.shape
    labels = k if events is None else len(events.offsets) // 2
    own = shares is not None and shares.ndim > 1
    parts = tuple(np.empty((n, labels), flat.dtype) for _ in range(3))
    how = (kernel.level(), LOSSES[loss], unit, flat.dtype.char == "f", mixture, own)
    numbers = [None if x is None else np.ascontiguousarray(x, np.float64) for x in (shares, costs)]
    sums = (None, None) if events is None else events[:2]

    def some(start: int, stop: int) -> None:
        native.split(*how, start, stop, flat, *_tables(), *numbers, *sums, *parts)

    size = members * n * labels
    count = (
        1
        if size < SEVERAL[loss]
        else min(kernel.thread_count(n_jobs), 2 * size // SEVERAL[loss], n)
    )
    if count == 1:
        some(0, n)
    else:
        pieces = min(n, 4 * count)
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda i: some(n * i // pieces, n * (i + 1) // pieces), range(pieces)))
    return tuple(back(part.reshape(*batch, labels), alpha) for part in parts)


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
