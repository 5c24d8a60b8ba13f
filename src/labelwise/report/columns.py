"""Columns and blocks of the page: what they are, and their values as deflated bytes in base64."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .bins import Tail, bin_at, bin_numbers

MIN_BINS, MAX_BINS = 254, 4095
CASES_OF_BIN = 8  # on average: with fewer, the edges take more space than the codes
COARSE_BINS = 62
MANY_ROWS, BINS_OF_MANY_ROWS = 50_000, 160  # one byte each, not all of its bits used


class PageData:
    """The columns, blocks and arrays of a page with so many rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.columns: list[dict[str, Any]] = []
        self.blocks: dict[str, dict[str, Any]] = {}
        self.arrays: dict[str, str] = {}
        """The text of each array."""

    def add_category(
        self, name: str, title: str, codes: np.ndarray, names: Sequence[str] | str, **about: Any
    ) -> None:
        """A category by its position in ``names``; -1 is missing."""
        n = int(codes.max(initial=0)) + 1
        if not isinstance(names, str):
            n, names = len(names), list(names)
        self._add(name, title, "category", codes, smallest_type(n), names=names, **about)

    def add_number(
        self,
        name: str,
        title: str,
        values: np.ndarray,
        *,
        tail: Tail = None,
        coarse: bool = False,
        **about: Any,
    ) -> None:
        """Numbers in bins; NaN is missing."""
        most = min(max(self.rows // CASES_OF_BIN, MIN_BINS), MAX_BINS)
        if coarse:
            most = COARSE_BINS
        elif self.rows > MANY_ROWS:
            most = BINS_OF_MANY_ROWS
        binned = bin_numbers(values, most, tail)
        about |= {"edges": binned.edges, "centers": binned.centers}
        self._add(name, title, "number", binned.codes, smallest_type(len(binned.centers)), **about)

    def add_text(self, name: str, title: str, texts: Sequence[str], **about: Any) -> None:
        """Free text."""
        self.columns.append(_column(name, title, "text", "json", about))
        text = json.dumps(list(texts), ensure_ascii=False, separators=(",", ":"))
        self.arrays[name] = deflated(text.encode("utf-8", "replace"))

    def add_block(self, name: str, array: np.ndarray, dtype: str, **about: Any) -> None:
        """An array with a shape."""
        self.blocks[name] = {"dtype": dtype, "shape": list(array.shape), **about}
        self.arrays[name] = deflated(as_bytes(array, dtype))

    def add_rows(self, name: str, rows: np.ndarray) -> None:
        """Increasing positions of rows, as the differences from one to the next."""
        self.add_block(name, np.diff(rows, prepend=0), smallest_type(self.rows), steps=True)

    def add_uncertainties(self, name: str, values: np.ndarray) -> None:
        """Numbers from 0 in 256 bins, small ones in smaller bins, with the mean of each."""
        grid = values.max(initial=0.0) * (np.arange(256) / 256) ** 2
        binned = bin_at(values.astype(float), grid)
        self.add_block(name, binned.codes, "u1", values=binned.centers)

    def add_probabilities(self, name: str, values: np.ndarray) -> None:
        """Probabilities in at most 256 bins, smaller ones towards 0 and 1, with the mean of each;
        multiples of 1/20 are edges.
        """
        grid = np.sin(np.arange(236) * np.pi / 472) ** 2
        binned = bin_at(values.astype(float), np.append(grid, np.arange(1, 20) / 20))
        about = {"values": binned.centers, "edges": binned.edges}
        self.add_block(name, binned.codes, "u1", **about)

    def _add(
        self, name: str, title: str, kind: str, values: np.ndarray, dtype: str, **about: Any
    ) -> None:
        self.columns.append(_column(name, title, kind, dtype, about))
        self.arrays[name] = deflated(as_bytes(values, dtype))


def _column(name: str, title: str, kind: str, dtype: str, about: dict[str, Any]) -> dict[str, Any]:
    first = {"name": name, "title": title, "kind": kind, "dtype": dtype}
    return {**first, "source": "model", **about}


def smallest_type(n: int) -> str:
    """The type for the codes 0 … n - 1 and one for missing values, its largest.

    >>> smallest_type(255), smallest_type(256), smallest_type(65536)
    ('u1', 'u2', 'u4')
    """
    return next(f"u{size}" for size in (1, 2, 4) if n < 256**size)


def as_bytes(values: np.ndarray, dtype: str) -> bytes:
    """Little-endian numbers; -1 becomes the largest of an unsigned type."""
    return np.ascontiguousarray(values).astype(np.dtype(dtype).newbyteorder("<")).tobytes()


def deflated(data: bytes) -> str:
    """Compressed, as base64. Of numbers that look random, coding repetitions takes more space."""
    packed = []
    for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY):
        packer = zlib.compressobj(6, zlib.DEFLATED, 15, 9, strategy)
        packed.append(packer.compress(data) + packer.flush())
    return base64.b64encode(min(packed, key=len)).decode("ascii")
