"""Columns and blocks of the page: what they are, and their values as deflated bytes in base64."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._tables import shortened
from .bins import Tail, bin_at, bin_numbers

MIN_BINS, MAX_BINS = 254, 4095
CASES_OF_BIN = 8  # on average: with fewer, the edges take more space than the codes
COARSE_BINS = 62
LONGEST_TEXT = 500  # many ids of any length could be too large for a page
MANY_ROWS, BINS_OF_MANY_ROWS = 50_000, 160  # one byte each, not all of its bits used
# finer towards 0; of probabilities also towards 1, and at multiples of 1/20
SQUARES = (np.arange(256) / 256) ** 2
PROBABILITIES = np.append(np.sin(np.arange(236) * np.pi / 472) ** 2, np.arange(1, 20) / 20)


class PageData:
    """The columns, blocks and arrays of a page with so many rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.columns: list[dict[str, Any]] = []
        self.blocks: dict[str, dict[str, Any]] = {}
        self.arrays: dict[str, str] = {}
        """The text of each array."""

    def add_category(
        self, name: str, title: str, codes: np.ndarray, names: Sequence[str] | str
    ) -> None:
        """A category by its position in ``names``; -1 is missing."""
        self._add_codes(codes, name=name, title=title, kind="category", names=names)

    def add_number(
        self,
        name: str,
        title: str,
        values: np.ndarray,
        *,
        tail: Tail = None,
        coarse: bool = False,
    ) -> None:
        """Numbers in bins; NaN is missing."""
        most = min(max(self.rows // CASES_OF_BIN, MIN_BINS), MAX_BINS)
        if coarse:
            most = COARSE_BINS
        elif self.rows > MANY_ROWS:
            most = BINS_OF_MANY_ROWS
        binned = bin_numbers(values, most, tail)
        bins = {"edges": binned.edges, "centers": binned.centers}
        self._add_codes(binned.codes, name=name, title=title, kind="number", **bins)

    def _add_codes(self, codes: np.ndarray, **about: Any) -> None:
        """A column of codes, in the smallest type."""
        dtype = smallest_type(int(codes.max(initial=0)) + 1)
        self.columns.append({"dtype": dtype, **about})
        self.arrays[about["name"]] = deflated(as_bytes(codes, dtype))

    def add_names(
        self, name: str, texts: Iterable[str], distinct: Sequence[str], *, numbered: bool = False
    ) -> None:
        """Texts as a category of the ``distinct`` ones, or of their numbers; what is none of them
        is missing.
        """
        place = {text: i for i, text in enumerate(distinct)}
        codes = np.array([place.get(text, -1) for text in texts])
        shown = [shortened(text, LONGEST_TEXT) for text in distinct]
        if numbered:
            shown = [str(number + 1) for number in place.values()]
        self.add_category(name, name, codes, shown)

    def add_text(self, name: str, texts: Iterable[str]) -> None:
        """Free text."""
        self.columns.append({"name": name, "title": name, "kind": "text", "dtype": "json"})
        shown = [shortened(text, LONGEST_TEXT) for text in texts]
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        self.arrays[name] = deflated(text.encode("utf-8", "replace"))

    def add_block(
        self, name: str, array: np.ndarray, dtype: str | None = None, **about: Any
    ) -> None:
        """An array with a shape, in its own type unless another is given."""
        dtype = dtype or array.dtype.str[1:]
        self.blocks[name] = {"dtype": dtype, "shape": array.shape, **about}
        self.arrays[name] = deflated(as_bytes(array, dtype))

    def add_rows(self, name: str, rows: np.ndarray) -> None:
        """Increasing positions of rows, as the differences from one to the next."""
        self.add_block(name, np.diff(rows, prepend=0), smallest_type(self.rows), steps=True)

    def add_by_label(self, name: str, values: np.ndarray, edges: np.ndarray) -> None:
        """Numbers of each label in at most 256 bins, with the mean of each."""
        binned = bin_at(values.astype(float), edges)
        about = {"values": binned.centers, "edges": binned.edges}
        self.add_block(name, binned.codes, "u1", **about)


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
    """Compressed, as base64; the strategy is the best for numbers that look random."""
    packer = zlib.compressobj(7, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
    return base64.b64encode(packer.compress(data) + packer.flush()).decode("ascii")
