"""Prediction files of every format, opened: what is read later is read a block of instances at a time.

A prediction file holds ``probs`` (M, N, K) or ``alpha`` (N, K), and optionally the other arrays of `Predictions`. A .zarr group holds
them as arrays. A .parquet file has a row for each instance, with a column `probs` of lists of M · K numbers, member by member (or
`alpha` of K numbers), and `members` in the metadata of its schema; further columns are `y_true`, `ids` and `groups`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .files import reading
from .npz import read_npy, read_npz
from .parquet import read_parquet
from .predictions import KEYS, KINDS, Predictions
from .zarr import read_zarr

__all__ = ["FORMATS", "load_predictions"]

SMALL_BLOCK, LARGEST_BLOCK = 1 << 24, 1 << 29  # bytes: what a file's own chunking may always, and never, make us hold
READERS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    ".npz": lambda path, largest: read_npz(path, partial(_pick, path.name)),
    ".npy": lambda path, largest: {"probs": read_npy(path)},
    ".zarr": lambda path, largest: read_zarr(path, partial(_pick, path.name), largest),
    ".parquet": lambda path, largest: read_parquet(path, partial(_pick, path.name), largest),
}
FORMATS = tuple(READERS)


def load_predictions(path: str | os.PathLike[str], *, memory: int = 1 << 30) -> Predictions:
    """Open a prediction file: .npz, .npy, .zarr or .parquet.

    Arrays that are stored uncompressed in .npy and .npz files are mapped; of .zarr and .parquet files only the instances that are asked
    for are read.

    Parameters
    ----------
    path : path
    memory : int
        A chunk or page of the file that takes more than half of so many bytes (and more than 16 MiB) is refused: it could only be
        decoded whole.

    Raises
    ------
    ValueError, TypeError
        If the file is damaged, holds Python objects (they would have to be unpickled), or its arrays do not fit together.
    OSError
        If it cannot be opened.
    """
    path = Path(path)
    largest = min(max(memory // 2, SMALL_BLOCK), LARGEST_BLOCK)
    if path.suffix not in READERS:
        raise ValueError(f"predictions are read from {', '.join(FORMATS)}; got {path.name!r}")
    if not path.exists():
        raise FileNotFoundError(f"there is no prediction file {str(path)!r}")
    with reading(path):
        found = READERS[path.suffix](path, largest)
        if "class_names" in found:
            found["class_names"] = _text(found["class_names"])
        return Predictions(**found, path=path)


def _pick(file: str, names: Sequence[str]) -> list[str]:
    """Which of the arrays in a file to read."""
    if not any(kind in names for kind in KINDS):
        there = ", ".join(names[:8]) or "nothing"
        raise ValueError(f"{file} must hold `probs` (M, N, K) or `alpha` (N, K); it holds {there}. Save with np.savez(path, probs=...)")
    return [name for name in names if name in KEYS]


def _text(names: Any) -> tuple[str, ...]:
    array = np.atleast_1d(np.asarray(names))
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise TypeError(f"`class_names` must be text; got {array.dtype} of shape {array.shape}")
    return tuple(array.astype(str).tolist())
