"""Flat tables of predictions, a row for each case, as the readers of their formats opened them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from math import nan
from typing import Any

import numpy as np

from .._column_words import may_be_no_class
from .._frames import repeated
from .._validation.labels import whole_numbers

_ROWS_AT_ONCE = 4096
_MAX_TEXT_BYTES = 1 << 28  # of a column: every text takes the room of the longest


class Table:
    """What the columns are called, which of them hold numbers, and how to read them."""

    kind = "probs"
    """What the lists are, or else the columns of classes, unless their names say more."""
    listed: Any = None
    """Predictions that the file holds as lists, (N, K) or (M, N, K)."""

    def __init__(
        self, file: str, rows: int, names: Sequence[str], numeric: Collection[str]
    ) -> None:
        twice = repeated(names)
        if twice is not None:
            raise ValueError(
                f"{file} has two columns called {twice!r}; which of them is meant cannot be known"
            )
        self.file = file
        self.rows = rows
        self.names = list(names)
        """The columns in their order, without one that holds lists of predictions."""
        self.numeric = numeric
        """Columns whose values are numbers, if not in every row."""

    def column(self, name: str) -> np.ndarray:
        """A whole column: text, or numbers in formats that have types; refuses missing values."""
        raise NotImplementedError

    def numbers(self, names: Sequence[str]) -> Any:
        """Columns of numbers as (N, K), perhaps not yet read; refuses missing values."""
        raise NotImplementedError

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


class TextTable(Table):
    """A table of a format without types: rows that have a text for each column."""

    def __init__(self, file: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        columns = [_TextColumn(name) for name in names]
        n, rows = 0, iter(rows)
        while chunk := list(islice(rows, _ROWS_AT_ONCE)):
            for column, cells in zip(columns, zip(*chunk, strict=True), strict=True):
                column.extend(n, cells)
            n += len(chunk)
        if not n:
            raise ValueError(f"{file} has no rows of predictions")
        self.columns = dict(zip(names, columns, strict=True))
        numeric = {name for name, column in self.columns.items() if column.is_numeric}
        super().__init__(file, n, names, numeric)

    def column(self, name: str) -> np.ndarray:
        texts = self.columns[name].texts
        if texts is None:
            return self.numbers([name])[:, 0]
        if "" in texts:
            row = texts.index("") + 1
            raise ValueError(f"{self.file}: row {row} has no value in column {name!r}")
        longest = max(map(len, texts))
        if 4 * longest * self.rows > _MAX_TEXT_BYTES:
            raise ValueError(
                f"{self.file}: column {name!r} has {self.rows:,} texts of up to {longest:,} "
                "characters; such files are refused"
            )
        return np.array(texts, dtype=str)

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        for name in names:
            first_text = self.columns[name].first_text
            if first_text is not None:
                row, text = first_text
                raise ValueError(
                    f"{self.file}: row {row + 1} of column {name!r} must be a number; got "
                    f"{text[:50]!r}"
                )
        return np.stack([np.concatenate(self.columns[name].numbers) for name in names], axis=-1)


class _TextColumn:
    """The cells of a column, as numbers and as text."""

    def __init__(self, name: str) -> None:
        self.numbers: list[np.ndarray] = []
        self.texts: list[str] | None = []
        """``None`` for probabilities, whose text would take far more memory."""
        self.first_text: tuple[int, str] | None = None
        """The first cell that is no number: its row, and what it holds."""
        self._may_be_class = not may_be_no_class(name, whole=True)
        self._n_texts = self._n_numbers = 0

    @property
    def is_numeric(self) -> bool:
        return self._n_numbers >= max(self._n_texts, 1)

    def extend(self, row: int, cells: Sequence[str]) -> None:
        """Add the cells from a row on."""
        try:
            numbers = np.array(cells, np.float64)
        except ValueError:  # decimal commas, missing values, or text
            numbers = np.array([number_in_cell(text) for text in cells])
        for i in np.flatnonzero(np.isnan(numbers)).tolist():
            self.first_text = self.first_text or (row + i, cells[i])
            self._n_numbers -= 1
            self._n_texts += bool(cells[i].strip())  # an empty cell is missing
        self._n_numbers += len(cells)
        self.numbers.append(numbers)
        if self.texts is not None:
            self.texts.extend(cells)
        if self._may_be_class and self.first_text is None and np.any(numbers % 1):
            self.texts = None


def number_in_cell(text: str) -> float:
    """A number with a point or a comma, or a percentage; NaN for other text."""
    try:
        if "." not in text:
            text = text.replace(",", ".", 1)
        if text.rstrip().endswith("%"):
            return float(text.rstrip(" %")) / 100
        return float(text)
    except ValueError:
        return nan


def labels_of_texts(values: np.ndarray) -> np.ndarray:
    """Labels that are text as integers if all are whole numbers; others as they are."""
    if values.dtype.kind == "U":
        numbers = whole_numbers(values.tolist())
        if numbers is not None:
            return numbers
    return values
