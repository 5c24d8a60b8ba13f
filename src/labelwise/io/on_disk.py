"""Arrays that are still in their files: one class for all formats, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .files import reading

__all__ = ["OnDisk", "changed", "flattened", "select_classes", "stacked", "take", "transposed"]

Key = tuple[slice, ...]
"""A slice with a start and a stop for each axis."""
_NUMBERS_AT_ONCE = 1 << 23


@dataclass(frozen=True, eq=False)
class OnDisk:
    """An array in a file: indexing it with slices and numbers reads that part of it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """Object for text of any length, which is returned with a fixed width."""
    read: Callable[[Key], np.ndarray]
    path: Path | None = None
    """The file, for messages."""

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    def __getitem__(self, index: Any) -> np.ndarray:
        parts = index if isinstance(index, tuple) else (index,)
        parts += (slice(None),) * (self.ndim - len(parts))
        key = []
        for part, n in zip(parts, self.shape, strict=True):
            if isinstance(part, slice):
                start, stop, step = part.indices(n)
                if step != 1:
                    raise IndexError("arrays on disk are read in steps of 1")
                key.append(slice(start, max(start, stop)))
            else:
                i = range(n)[part]
                key.append(slice(i, i + 1))
        with nullcontext() if self.path is None else reading(self.path):
            block = self.read(tuple(key))
        return block[tuple(slice(None) if isinstance(part, slice) else 0 for part in parts)]


def take(x: OnDisk, rows: Any, axis: int = 0) -> np.ndarray:
    """Some instances of an array: a slice of them, or positions in any order."""
    before: tuple[Any, ...] = (slice(None),) * axis
    if isinstance(rows, slice):
        return x[(*before, rows)]
    # Each block of the file that has some of the positions is read once.
    step = max(1, _NUMBERS_AT_ONCE * x.shape[axis] // max(prod(x.shape), 1))
    found = np.empty((*x.shape[:axis], len(rows), *x.shape[axis + 1 :]), x.dtype)
    for start in range(0, x.shape[axis], step):
        places = np.flatnonzero((rows >= start) & (rows < start + step))
        if places.size:
            block = x[(*before, slice(start, start + step))]
            found[(*before, places)] = block[(*before, rows[places] - start)]
    return found if x.dtype != object else np.array(found.tolist(), str)


def transposed(values: Any, axes: Sequence[int]) -> Any:
    """``values`` with axes in another order, read when they are asked for."""
    if isinstance(values, np.ndarray):  # a map stays a map
        return values.transpose(axes)

    def read(key: Key) -> np.ndarray:
        inner = tuple(key[axes.index(axis)] for axis in range(len(axes)))
        return np.asarray(values[inner]).transpose(axes)

    return OnDisk(tuple(int(values.shape[axis]) for axis in axes), values.dtype, read)


def changed(
    values: Any,
    change: Callable[[np.ndarray], np.ndarray],
    dtype: np.dtype[Any],
    *,
    classes: int | None = None,
) -> Any:
    """``values`` (..., K) with a ``change``, which is given all classes, perhaps to another number
    of them; at once if they are in memory, else when they are read.
    """
    if type(values) is np.ndarray:  # and not mapped
        return change(values)

    def read(key: Key) -> np.ndarray:
        return change(np.asarray(values[(*key[:-1], slice(None))]))[..., key[-1]]

    *others, k = values.shape
    return OnDisk((*others, k if classes is None else classes), dtype, read)


def select_classes(values: Any, order: Sequence[int]) -> Any:
    """``values`` (..., K) with the classes in another order."""
    return changed(values, lambda block: block[..., order], values.dtype)


def stacked(parts: Sequence[Any]) -> Any:
    """Predictions (N, K) or (M, N, K) of several files as one array (M, N, K); in memory if they
    are.
    """
    members = sum(x.shape[0] if len(x.shape) == 3 else 1 for x in parts)
    dtype = np.result_type(*(x.dtype for x in parts))

    def read(key: Key) -> np.ndarray:
        blocks = []
        for x in parts:
            rows, classes = key[1:]
            block = x[:, rows, classes] if len(x.shape) == 3 else x[rows, classes][None]
            blocks.append(np.asarray(block))
        return np.concatenate(blocks, dtype=dtype)[key[0]]

    whole = OnDisk((members, *(int(n) for n in parts[0].shape[-2:])), dtype, read)
    return whole[:] if all(type(x) is np.ndarray for x in parts) else whole


def flattened(values: Any) -> OnDisk:
    """An array (M, N, ..., K) as (M, N · ..., K); whole cases are read."""
    cases, *rest, classes = (int(n) for n in values.shape[1:])
    unit = max(prod(rest), 1)

    def read(key: Key) -> np.ndarray:
        members, rows, columns = key
        first = rows.start // unit
        block = np.asarray(values[members, first : max(first, -(-rows.stop // unit))])
        flat = block.reshape(len(block), -1, classes)
        return flat[:, rows.start - first * unit : rows.stop - first * unit, columns]

    return OnDisk((int(values.shape[0]), cases * prod(rest), classes), values.dtype, read)
