"""Zarr stores (versions 2 and 3): chunks are read when they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import imported
from .files import reading
from .on_disk import Key, OnDisk


def read_zarr(path: Path) -> dict[str, Any]:
    """The arrays of a group by name, not yet read; names may be attributes."""
    zarr = imported("zarr", ".zarr stores need zarr", "dask")
    try:
        group = zarr.open_group(path, mode="r")
    except FileNotFoundError as error:
        raise ValueError(f"{path.name} is not a zarr group") from error
    arrays: dict[str, Any] = {}
    for key in ("class_names", "member_names"):
        if key in group.attrs:
            arrays[key] = np.asarray(group.attrs[key])
    for name, array in group.arrays():
        if array.dtype.kind in "OT":  # text of any length
            with reading(path):
                arrays[name] = np.array(array[:].tolist(), str)
        else:
            arrays[name] = _array_on_disk(path, array, zarr.config)
    return arrays


def _array_on_disk(path: Path, array: Any, config: Any) -> OnDisk:
    dtype = array.dtype.newbyteorder("=")

    @reading(path)
    def read_chunks(key: Key) -> np.ndarray:
        with config.set({"async.concurrency": 1}):  # ten chunks at a time take ten times the memory
            return np.asarray(array[key]).astype(dtype, copy=False)

    return OnDisk(array.shape, dtype, read_chunks)
