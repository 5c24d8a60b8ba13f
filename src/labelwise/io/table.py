"""A flat table of predictions, a row for each case, as the reader of its format opened it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation.labels import whole_numbers


@dataclass(frozen=True, eq=False)
class Table:
    """What the columns are called, which of them hold numbers, and how to read them."""

    file: str
    rows: int
    names: tuple[str, ...]
    """The columns in their order, without one that holds lists of predictions."""
    numeric: Collection[str]
    """Columns whose values are numbers, if not in every row."""
    column: Callable[[str], np.ndarray]
    """Read a whole column: text, or numbers in formats that have types; refuses missing values."""
    numbers: Callable[[Sequence[str]], Any]
    """Columns of numbers as (N, K), perhaps not yet read; refuses missing values."""
    kind: str = "probs"
    texts: Callable[[], dict[str, list[str]]] | None = None
    """All columns of text, in formats without types; a missing value is empty."""
    listed: Any = None
    """Predictions that the file holds as lists, (N, K) or (M, N, K)."""
    class_names: tuple[str, ...] | None = None
    """Of the lists."""

    def text(self, name: str) -> np.ndarray:
        """A whole column as text."""
        return self.column(name).astype(str)

    def is_whole(self, name: str) -> bool:
        """Whether a column holds text or whole numbers."""
        if name not in self.numeric:
            return True
        try:
            values = labels_of_texts(self.column(name))
        except (TypeError, ValueError):  # with missing values
            return False
        if values.dtype.kind == "f":
            return bool(np.all(values == np.floor(values)))
        return values.dtype.kind in "biu"


def labels_of_texts(values: np.ndarray) -> np.ndarray:
    """Labels that are text as integers if all are whole numbers; others as they are."""
    if values.dtype.kind == "U":
        numbers = whole_numbers(values.tolist())
        if numbers is not None:
            return numbers
    return values
