"""A flat table of predictions, a row for each case, as the reader of its format opened it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation.labels import whole_numbers
from .files import FLOOR

__all__ = ["Table", "sums_to_one", "text_array", "typed"]

_SAMPLE = 1000  # rows that show whether columns sum to 1


@dataclass(frozen=True, eq=False)
class Table:
    """What the columns are called, which of them hold numbers, and how to read them."""

    file: str
    rows: int
    names: tuple[str, ...]
    """The columns in their order, without one that holds lists of predictions."""
    numeric: frozenset[str]
    """Columns whose values are numbers, if not in every row."""
    column: Callable[[str], np.ndarray]
    """Read a whole column: text, or numbers in formats that have types."""
    numbers: Callable[[Sequence[str]], Any]
    """Columns of numbers as (N, K), perhaps not yet read; refuses missing values."""
    named: bool = True
    """Whether the names are in the file, or only positions."""
    kind: str = "probs"
    listed: Any = None
    """Predictions that the file holds as lists, (N, K) or (M, N, K)."""
    class_names: tuple[str, ...] | None = None
    """Of the lists."""

    def text(self, name: str) -> np.ndarray:
        """A whole column as text."""
        return self.column(name).astype(str)

    def sample(self, names: Sequence[str]) -> np.ndarray:
        """The first rows of columns of numbers."""
        return np.asarray(self.numbers(names)[:_SAMPLE])

    def is_whole(self, name: str) -> bool:
        """Whether a column holds text or whole numbers."""
        if name not in self.numeric:
            return True
        try:
            values = self.column(name)
        except (TypeError, ValueError):  # with missing values
            return False
        if values.dtype.kind == "U":  # numbers that a format stores as text
            whole = re.compile(r"\s*[+-]?[0-9]*(\.0*)?\s*")
            return all(whole.fullmatch(value) for value in values.tolist())
        return values.dtype.kind in "biu" or bool(np.all(values == np.floor(values)))

    def complete(self, name: str) -> np.ndarray:
        """A whole column, none of whose texts is missing."""
        values = self.column(name)
        missing = np.flatnonzero(values == "") if values.dtype.kind == "U" else values[:0]
        if missing.size:
            raise ValueError(f"{self.file}: row {missing[0] + 1} has no value in column {name!r}")
        return values

    def take(self, rows: np.ndarray, file: str) -> Table:
        """Some rows, which messages call ``file``."""
        return replace(self, file=file, rows=len(rows), column=lambda name: self.column(name)[rows])


def sums_to_one(values: np.ndarray) -> bool:
    """Whether all rows (..., K) are probabilities that sum to 1, or percentages that sum to 100, up
    to coarse rounding.
    """
    if not values.size or not np.isfinite(values).all() or values.min() < 0:
        return False
    sums = values.sum(axis=-1, dtype=float)
    return bool(np.allclose(sums, 1, atol=0.02) or np.allclose(sums, 100, atol=2))


def text_array(texts: Sequence[str], what: str) -> np.ndarray:
    """Texts as an array of bounded size."""
    longest = max(map(len, texts), default=1)
    if 4 * longest * len(texts) > FLOOR:
        raise ValueError(
            f"{what} has {len(texts):,} texts of up to {longest:,} characters; such files are "
            "refused"
        )
    return np.array(texts, dtype=str)


def typed(values: np.ndarray) -> np.ndarray:
    """Labels that are text as integers if all are whole numbers; others as they are."""
    numbers = whole_numbers(values.tolist()) if values.dtype.kind == "U" else None
    return values if numbers is None else numbers
