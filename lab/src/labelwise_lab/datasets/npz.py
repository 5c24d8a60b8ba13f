"""NumPy's .npy and .npz files of numbers: the reader of prediction files (no pickle, sizes checked
before memory is taken).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..files import read_npy as _read_npy
from ..files import read_npz as _read_npz
from ._limits import refuse


def read_npy(path: str | Path) -> np.ndarray:
    """Read a .npy file of numbers; files with pickled Python objects are refused. Large arrays are
    mapped, read-only.
    """
    path = Path(path)
    return _numbers(_read_npy(path), path.name)


def read_npz(path: str | Path, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Read the arrays ``keys`` of a .npz file of numbers; the others are not touched. Large
    uncompressed arrays are mapped, read-only.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.npz")
    ...     np.savez_compressed(path, labels=np.arange(3), other=np.zeros(5))
    ...     labelwise_lab.datasets.read_npz(path, ["labels"])
    {'labels': array([0, 1, 2])}
    """
    path = Path(path)
    found = _read_npz(path, keys)
    missing = [key for key in keys if key not in found]
    if missing:
        with np.load(path, allow_pickle=False) as archive:
            there = ", ".join(map(repr, sorted(archive.files)[:10])) or "nothing"
        raise refuse(path, f"no array {missing[0]!r}; the file holds {there}")
    return {key: _numbers(array, f"{path.name}: `{key}`") for key, array in found.items()}


def _numbers(array: np.ndarray, what: str) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what} holds {array.dtype} instead of numbers")
    return array
