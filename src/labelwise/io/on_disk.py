"""Arrays that are still in their files: one class for all formats, and what is read of them."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

DType = np.dtype[Any]
Key = tuple[slice, ...]
"""A slice with a start and a stop for each axis."""


@dataclass(frozen=True, eq=False)
class OnDisk:
    """An array in a file: indexing it with slices, or with one position from 0, reads that part of
    it.
    """

    shape: tuple[int, ...]
    dtype: DType
    read: Callable[[Key], np.ndarray]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    def __getitem__(self, index: Any) -> np.ndarray:
        if isinstance(index, int | np.integer):
            return self[index : index + 1][0]
        if not isinstance(index, tuple):
            index = (index,)
        key = [slice(0, n) for n in self.shape]
        for axis, part in enumerate(index):
            start, stop, step = part.indices(self.shape[axis])
            if step != 1:
                raise IndexError("arrays on disk are read in steps of 1")
            key[axis] = slice(start, max(start, stop))
        return self.read(tuple(key))


def transpose_when_read(values: Any, axes: Sequence[int]) -> Any:
    """``values`` with axes in another order, read when they are asked for."""
    if isinstance(values, np.ndarray):  # a map stays a map
        return values.transpose(axes)

    def read_transposed(key: Key) -> np.ndarray:
        inner = tuple(key[i] for i in np.argsort(axes))
        return np.asarray(values[inner]).transpose(axes)

    return OnDisk(tuple(values.shape[axis] for axis in axes), values.dtype, read_transposed)


def change_when_read(
    values: Any,
    change: Callable[[np.ndarray], np.ndarray],
    dtype: DType,
    classes: int | None = None,
) -> Any:
    """``values`` (..., K) with a ``change``, which is given all classes, perhaps to another number
    of ``classes``; at once if they are in memory, else when they are read.
    """
    if type(values) is np.ndarray:  # and not mapped
        return change(values)

    def read_changed(key: Key) -> np.ndarray:
        return change(np.asarray(values[(*key[:-1], slice(None))]))[..., key[-1]]

    *others, k = values.shape
    return OnDisk((*others, classes or k), dtype, read_changed)


def stack_members(parts: Sequence[Any]) -> Any:
    """Predictions (N, K) or (M, N, K) of several files as one array (M, N, K); in memory if they
    are.
    """
    rows, classes = parts[0].shape[-2:]
    dtype = np.result_type(*(part.dtype for part in parts))

    def read_members(key: Key) -> np.ndarray:
        blocks = []
        for part in parts:
            all_members = (slice(None),) * (len(part.shape) - 2)
            block = np.asarray(part[(*all_members, *key[1:])])
            blocks.append(block if block.ndim == 3 else block[None])
        return np.concatenate(blocks, dtype=dtype)[key[0]]

    members = sum(prod(part.shape[:-2]) for part in parts)
    whole = OnDisk((members, rows, classes), dtype, read_members)
    return whole[:] if all(type(part) is np.ndarray for part in parts) else whole


def flatten_when_read(values: Any) -> OnDisk:
    """An array (M, N, ..., K) as (M, N · ..., K); whole cases are read."""
    members, cases, *pixels, classes = values.shape
    size = max(prod(pixels), 1)  # instances in a case

    def read_flattened(key: Key) -> np.ndarray:
        member_range, rows, class_range = key
        first = rows.start // size
        last = max(first, -(-rows.stop // size))
        block = np.asarray(values[member_range, first:last])
        flat = block.reshape(len(block), -1, classes)
        return flat[:, rows.start - first * size : rows.stop - first * size, class_range]

    return OnDisk((members, cases * prod(pixels), classes), values.dtype, read_flattened)


def release_pages(array: Any) -> None:
    """Let go of the pages of a memory map that have been read or written: they are in the file."""
    mapped = getattr(array, "_mmap", None)
    if not isinstance(mapped, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    if getattr(array, "mode", "c") != "c":  # changes of a copy-on-write map are nowhere else
        mapped.madvise(mmap.MADV_DONTNEED)
