"""CSV files: predictions as other programs write them, and results that a spreadsheet only shows
(no text becomes a formula).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from .._column_words import may_be_no_class
from .table import Table

_ROWS_AT_ONCE = 4096
_TEXT_AT_ONCE = 1 << 16  # characters that are written at once
_MAX_TEXT_BYTES = 1 << 28  # of a column: every text takes the room of the longest
# A spreadsheet runs a cell that begins like this; full-width signs count there too. Others drop a
# leading tab or line end first.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def read_csv(path: Path) -> Table:
    """A table of predictions."""
    with csv_rows(path) as (names, rows):
        return table_of_texts(path.name, names, rows)


@contextmanager
def csv_rows(path: Path) -> Iterator[tuple[list[str], Iterator[Sequence[str]]]]:
    """The header and the rows of a table with commas, semicolons, tabs, bars or blanks between its
    cells, with or without a byte order mark and the line ``sep=;`` of Excel.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        first_line = file.readline()
        delimiter = _delimiter_of(first_line)
        if first_line.lower().startswith("sep="):  # for Excel
            delimiter, first_line = first_line[4], file.readline()
        # strict: a quote that is never closed must not swallow the rows after it
        reader = csv.reader(
            chain([first_line], file),
            delimiter=delimiter,
            strict=True,
            skipinitialspace=delimiter == " ",  # columns that are aligned by blanks
        )
        rows = (row for row in reader if any(map(str.strip, row)))
        names = next(rows, None)
        if names is None:
            raise ValueError(f"{path.name} is empty: it has no header")
        checked = _check_row_widths(path.name, rows, len(names), delimiter)
        first = list(islice(checked, _ROWS_AT_ONCE))
        _check_header(path.name, names, first)
        yield names, chain(first, checked)


def _delimiter_of(header: str) -> str:
    """What is between the names of columns most often; blanks only if there is nothing else."""
    delimiter = max("\t;,|", key=header.count)
    if delimiter not in header and " " in header.strip():
        return " "
    return delimiter


def table_of_texts(file: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """The table of rows that have a text for each column; ``file`` is its name for messages."""
    in_order = [_TextColumn(name) for name in names]
    n, rows = 0, iter(rows)
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        n += len(chunk)
        for column, cells in zip(in_order, zip(*chunk, strict=True), strict=True):
            column.extend(cells)
    if not n:
        raise ValueError(f"{file} has no rows of predictions")
    columns = dict(zip(names, in_order, strict=True))

    def read_column(name: str) -> np.ndarray:
        texts = columns[name].texts
        if texts is None:
            return read_numbers([name])[:, 0]
        if "" in texts:
            raise ValueError(f"{file}: row {texts.index('') + 1} has no value in column {name!r}")
        longest = max(map(len, texts))
        if 4 * longest * n > _MAX_TEXT_BYTES:
            raise ValueError(
                f"{file}: column {name!r} has {n:,} texts of up to {longest:,} characters; such "
                "files are refused"
            )
        return np.array(texts, dtype=str)

    def read_numbers(wanted: Sequence[str]) -> np.ndarray:
        for name in wanted:
            first_text = columns[name].first_text
            if first_text is not None:
                row, text = first_text
                raise ValueError(
                    f"{file}: row {row + 1} of column {name!r} must be a number; got {text[:50]!r}"
                )
        return np.stack([np.concatenate(columns[name].numbers) for name in wanted], axis=-1)

    def read_texts() -> dict[str, list[str]]:
        return {name: column.texts or [] for name, column in columns.items()}

    numeric = {name for name in names if columns[name].n_numbers >= max(columns[name].n_texts, 1)}
    return Table(file, n, tuple(names), numeric, read_column, read_numbers, texts=read_texts)


class _TextColumn:
    """The cells of a column, as numbers and as text."""

    def __init__(self, name: str) -> None:
        self._may_be_class = not may_be_no_class(name, whole=True)
        self.rows = self.n_numbers = self.n_texts = 0
        self.numbers: list[np.ndarray] = []
        self.texts: list[str] | None = []
        """``None`` for probabilities, whose text would take far more memory."""
        self.first_text: tuple[int, str] | None = None
        """The first cell that is no number: its row, and what it holds."""

    def extend(self, cells: Sequence[str]) -> None:
        try:
            numbers = np.array(cells, np.float64)
        except ValueError:  # decimal commas, missing values, or text
            numbers = np.array([_number_in_cell(text) for text in cells])
        for i in np.flatnonzero(np.isnan(numbers)).tolist():
            self.first_text = self.first_text or (self.rows + i, cells[i])
            self.n_numbers -= 1
            self.n_texts += bool(cells[i].strip())  # an empty cell is missing
        self.n_numbers += len(cells)
        self.rows += len(cells)
        self.numbers.append(numbers)
        if self.texts is not None:
            self.texts.extend(cells)
        if self._may_be_class and self.first_text is None and np.any(numbers % 1):
            self.texts = None


def _check_header(file: str, names: list[str], following: list[list[str]]) -> None:
    """Refuse a first row that may be a case: numbers are names only if they are whole."""
    numbers = [name for name in names if not isnan(_number_in_cell(name))]
    whole = [name for name in numbers if name.strip().isdigit()]
    ambiguous = len(whole) < len(numbers)  # 0.5, or 1.0
    positions = list(range(len(names)))
    if len(whole) == len(names) and (len(names) == 2 or sorted(map(int, names)) != positions):
        for row in following:
            ambiguous |= all(map(str.isdigit, map(str.strip, row)))
    if ambiguous:
        raise ValueError(
            f"{file}: the first row must name the columns; it holds numbers: "
            f"{', '.join(map(repr, names[:4]))}. Add a header, such as id,cat,dog"
        )


def _check_row_widths(
    file: str, rows: Iterable[list[str]], width: int, delimiter: str
) -> Iterator[list[str]]:
    """The rows, if all have as many cells as the header and no cell holds other rows."""
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(
                f"{file}: row {i + 1} has {len(row)} cells where the header has {width}; cut short?"
            )
        for text in row:
            lines = text.split("\n")
            if len(lines) > 1 and any(line.count(delimiter) >= width - 1 for line in lines):
                raise ValueError(
                    f"{file}: a cell of row {i + 1} holds whole rows: {text[:50]!r}; is a "
                    'quote (") not closed?'
                )
        yield row


def _number_in_cell(text: str) -> float:
    """A number with a point or a comma; NaN for other text."""
    try:
        if "." not in text:
            text = text.replace(",", ".", 1)
        return float(text)
    except ValueError:
        return nan


def csv_texts(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The text of a CSV file, some rows at a time, its cells made harmless by `harmless_cell`."""
    rows = iter(rows)
    while True:
        text = io.StringIO()
        writer = csv.writer(text)
        for row in rows:
            writer.writerow(map(harmless_cell, row))
            if text.tell() > _TEXT_AT_ONCE:
                break
        if not text.tell():
            return
        # half of a surrogate pair has no place in a file
        yield text.getvalue().encode("utf-8", "replace").decode("utf-8")


def harmless_cell(value: Any) -> Any:
    """``value``, with an apostrophe before text that a spreadsheet would take for a formula.
    Numbers stay, also those written as text.

    >>> harmless_cell("=HYPERLINK(A1)"), harmless_cell("-12"), harmless_cell(-0.5)
    ("'=HYPERLINK(A1)", '-12', -0.5)
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and isnan(_number_in_cell(value)):
        return "'" + value
    return value
