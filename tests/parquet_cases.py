"""Predictions as a table of lists."""

from __future__ import annotations

from typing import Any

import numpy as np

RNG = np.random.default_rng(0)


def table(pa: Any, probs: np.ndarray, *, fixed: bool = False, **columns: Any) -> Any:
    """Predictions (1, N, K) of one member as a table."""
    _, n, width = probs.shape
    values = pa.array(probs.reshape(-1))
    lists = (
        pa.FixedSizeListArray.from_arrays(values, width)
        if fixed
        else pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32) * width, values)
    )
    return pa.table({"probs": lists, **columns})
