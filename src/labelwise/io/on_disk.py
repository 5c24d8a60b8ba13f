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

__all__ = ["OnDisk", "flattened", "select_classes", "stacked", "take", "viewed"]

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
    chunk_bytes: int = 0
    """How much can only be decoded together."""

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
    # Positions may come in any order; each block of the file that has some of them is read once.
    step = max(1, _NUMBERS_AT_ONCE * x.shape[axis] // max(prod(x.shape), 1))
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    parts = [x[(*before, slice(0, 0))]]
    for start in np.unique(ascending // step) * step:
        inside = ascending[(ascending >= start) & (ascending < start + step)]
        block = x[(*before, slice(start, start + step))]
        parts.append(block[(*before, inside - start)])
    return np.asarray(np.concatenate(parts, axis)[(*before, np.argsort(order))])


def viewed(
    values: Any,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    axes: Sequence[int],
    change: Callable[[np.ndarray], np.ndarray] | None = None,
) -> OnDisk:
    """``values`` with axes in another order (−1: a new one of length 1) or with changed values.

    ``change`` is applied to what is read, always with all classes: these are last.
    """
    order = [axis for axis in axes if axis >= 0]
    new = [i for i, axis in enumerate(axes) if axis < 0]

    def read(key: Key) -> np.ndarray:
        inner, outer = [slice(None)] * len(values.shape), list(key)
        for i, axis in enumerate(axes):
            if axis >= 0:
                inner[axis], outer[i] = key[i], slice(None)
        if change is not None:
            inner[axes[-1]], outer[-1] = slice(None), key[-1]
        block = np.expand_dims(np.asarray(values[tuple(inner)]).transpose(order), new)
        return (block if change is None else change(block))[tuple(outer)]

    return OnDisk(shape, dtype, read)


def select_classes(values: Any, order: Sequence[int]) -> Any:
    """``values`` (..., K) with the classes in another order."""
    if type(values) is np.ndarray:  # and not mapped
        return values[..., order]
    axes = range(len(values.shape))
    return viewed(values, values.shape, values.dtype, axes, lambda block: block[..., order])


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
