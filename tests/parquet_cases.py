"""Predictions as a table of lists."""

from __future__ import annotations

from typing import Any

import numpy as np

RNG = np.random.default_rng(0)


def table(pa: Any, probs: np.ndarray, *, fixed: bool = False, **columns: Any) -> Any:
    """Predictions (M, N, K) as a table."""
    flat = np.ascontiguousarray(probs.transpose(1, 0, 2)).reshape(probs.shape[1], -1)
    n, width = flat.shape
    values = pa.array(flat.reshape(-1))
    lists = (
        pa.FixedSizeListArray.from_arrays(values, width)
        if fixed
        else pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32) * width, values)
    )
    made = pa.table({"probs": lists, **columns})
    return made.replace_schema_metadata(
        {"members": str(probs.shape[0]), "class_names": "\n".join(map(str, range(probs.shape[2])))}
    )
