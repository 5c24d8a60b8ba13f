"""CSV files: predictions as other programs write them, and results that a spreadsheet only shows
(no text becomes a formula).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from math import isnan
from pathlib import Path
from typing import Any

from .table import TextTable, number_in_cell

_ROWS_AT_ONCE = 4096  # that show whether the first row is a header
_ROWS_WRITTEN = 64  # at once
# A spreadsheet runs a cell that begins like this; full-width signs count there too. Others drop a
# leading tab or line end first.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def read_csv(path: Path) -> TextTable:
    """A table of predictions."""
    with csv_rows(path) as (names, rows):
        return TextTable(path.name, names, rows)


@contextmanager
def csv_rows(path: Path) -> Iterator[tuple[list[str], Iterator[Sequence[str]]]]:
    """The header and the rows of a table with commas, semicolons, tabs, bars or blanks between its
    cells, with or without a byte order mark and the line ``sep=;`` of Excel.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        first_line = next(filter(str.strip, file), "")
        # what is between the names most often; blanks only if there is nothing else
        delimiter = max("\t;,|", key=first_line.count)
        if delimiter not in first_line and " " in first_line.strip():
            delimiter = " "
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


def _check_header(file: str, names: list[str], following: list[list[str]]) -> None:
    """Refuse a first row that may be a case: numbers are names only if they are whole."""
    numbers = [name for name in names if not isnan(number_in_cell(name))]
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


def csv_texts(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """The text of a CSV file, some rows at a time, its cells made harmless by `harmless_cell`."""
    rows = iter(rows)
    while chunk := list(islice(rows, _ROWS_WRITTEN)):
        text = io.StringIO()
        writer = csv.writer(text)
        for row in chunk:
            writer.writerow(map(harmless_cell, row))
        # half of a surrogate pair has no place in a file
        yield text.getvalue().encode("utf-8", "replace").decode("utf-8")


def harmless_cell(value: Any) -> Any:
    """``value``, with an apostrophe before text that a spreadsheet would take for a formula.
    Numbers stay, also those written as text.

    >>> harmless_cell("=HYPERLINK(A1)"), harmless_cell("-12"), harmless_cell(-0.5)
    ("'=HYPERLINK(A1)", '-12', -0.5)
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and isnan(number_in_cell(value)):
        return "'" + value
    return value
