"""CSV files: predictions as other programs write them, and results that a spreadsheet only shows
(no text becomes a formula).
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from .._column_words import may_be_no_class
from .files import open_text_file
from .table import Table, text_array

__all__ = ["cell", "csv_text", "read_csv"]

LARGEST = 1 << 30
"""Bytes of a table; more are better kept as .npy or .parquet."""
_ROWS_AT_ONCE = 4096
_ROWS_THAT_TELL = 100  # whether the first one is a header
_MISSING = ("", "na", "n/a", "null", "none", "-", "?")
# A spreadsheet runs a cell that begins like this; full-width signs count there too. Others drop a
# leading tab or line end first.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def read_csv(path: Path) -> Table:
    """A table with commas, semicolons or tabs between its cells, with or without a byte order mark
    or a header.
    """
    with open_text_file(path, LARGEST) as file:
        start = file.peek(1 << 16)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(
                f"{path.name} is text in UTF-16; save it as UTF-8 (in Excel: CSV UTF-8)"
            )
        first_line = start.split(b"\n")[0]
        delimiter = max("\t;,", key=lambda sign: first_line.count(sign.encode()))
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        # strict: a quote that is never closed must not swallow the rows after it
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            return _read_rows(path.name, reader, delimiter)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path.name}: not a text file in UTF-8 ({error.reason}); in Excel, save it as CSV "
                "UTF-8"
            ) from error
        except csv.Error as error:
            at_end = "end of data" in str(error)
            place = "" if at_end else f" near line {reader.line_num}"
            open_quote = at_end or "expected after" in str(error)
            hint = '; is a quote (") not closed?' if open_quote else ""
            raise ValueError(
                f"{path.name} is not a readable table{place}: {error}{hint}"
            ) from error


def _read_rows(file: str, reader: Iterator[list[str]], delimiter: str) -> Table:
    """The table of all rows; ``file`` is its name for messages."""
    rows = (row for row in reader if any(map(str.strip, row)))
    names = next(rows, None)
    if names is None:
        raise ValueError(f"{file} is empty: it has no header")
    first_rows = list(islice(rows, _ROWS_THAT_TELL))
    has_header = _is_header(file, names, first_rows)
    if not has_header:
        first_rows.insert(0, names)
        names = [str(k) for k in range(len(names))]
        warnings.warn(
            f"{file} has no header; its {len(names)} columns are taken for the classes 0 … "
            f"{names[-1]}",
            stacklevel=4,
        )
    in_order = [_Column(name) for name in names]
    checked = _checked_rows(file, chain(first_rows, rows), len(names), delimiter)
    n = 0
    while chunk := list(islice(checked, _ROWS_AT_ONCE)):
        for column, cells in zip(in_order, zip(*chunk, strict=True), strict=True):
            column.extend(cells, n)
        n += len(chunk)
    if not n:
        raise ValueError(f"{file} has no rows below its header")
    columns = dict(zip(names, in_order, strict=True))

    def read_column(name: str) -> np.ndarray:
        texts = columns[name].texts
        if texts is None:
            return read_numbers([name])[:, 0]
        return text_array(texts, f"{file}: column {name!r}")

    def read_numbers(wanted: Sequence[str]) -> np.ndarray:
        for name in wanted:
            found = columns[name].not_a_number
            if found is not None:
                row, text = found
                raise ValueError(
                    f"{file}: row {row + 1} of column {name!r} must be a number; got {text[:50]!r}"
                )
        return np.stack([np.concatenate(columns[name].numbers) for name in wanted], axis=-1)

    numeric = frozenset(name for name, column in columns.items() if column.is_numeric)
    return Table(file, n, tuple(names), numeric, read_column, read_numbers, named=has_header)


class _Column:
    """The cells of a column, as numbers and as text."""

    def __init__(self, name: str) -> None:
        self._may_be_class = not may_be_no_class(name, whole=True)
        self._n_numbers = self._n_texts = 0
        self.numbers: list[np.ndarray] = []
        self.texts: list[str] | None = []
        """``None`` for probabilities, whose text would take far more memory."""
        self.not_a_number: tuple[int, str] | None = None
        """The first cell that is missing or text: its row, and what it holds."""

    @property
    def is_numeric(self) -> bool:
        return self._n_numbers >= max(self._n_texts, 1)

    def extend(self, cells: Sequence[str], row: int) -> None:
        """Add cells, of which the first is in this row."""
        if self.texts is not None:
            self.texts.extend(cells)
        if self._n_texts and not self._n_numbers:  # thousands of rows have shown that it is text
            self._n_texts += len(cells)
            return
        others: list[int] = []
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:  # decimal commas, missing values, or text, which becomes NaN
            found = [_number(text) for text in cells]
            others = [i for i, value in enumerate(found) if value is None]
            values = np.array(found, dtype=np.float64)
        self.numbers.append(values)
        self._n_numbers += len(cells) - len(others)
        self._n_texts += sum(cells[i].strip().lower() not in _MISSING for i in others)
        if others and self.not_a_number is None:
            self.not_a_number = row + others[0], cells[others[0]]
        if self._may_be_class and self._n_texts == 0 and np.any(values > np.floor(values)):
            self.texts = None


def _is_header(file: str, first: list[str], following: list[list[str]]) -> bool:
    """Whether the first row names the columns. Numbers do so only if they are whole and different,
    as in `0,1,2`.
    """
    numbers = [_number(cell) for cell in first]
    if None in numbers:
        fractions = [x for x in numbers if x is not None and x % 1 != 0]
        if 2 * len(fractions) >= len(first):
            raise ValueError(
                f"{file}: the first row must name the columns; it holds numbers: "
                f"{', '.join(map(repr, first[:4]))}. Add a header, such as id,cat,dog"
            )
        return True
    different = len(set(numbers)) == len(first) > 1
    if not different or not all(cell.strip().isdigit() for cell in first):
        return False
    cells = {cell.strip() for row in following for cell in row}
    if set(numbers) == {0, 1} and cells & {"0", "1"}:
        raise ValueError(
            f"{file}: its first row, {','.join(first)}, may be a header or a case. Add a "
            "header with the class names, such as cat,dog"
        )
    counted = [*range(len(first))], [*range(1, len(first) + 1)]
    return sorted(map(int, first)) in counted or not all(map(str.isdigit, cells))


def _checked_rows(
    file: str, rows: Iterable[list[str]], width: int, delimiter: str
) -> Iterator[list[str]]:
    """The rows, if all have as many cells as the header and no cell holds other rows."""
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(
                f"{file}: row {i + 1} has {len(row)} cells where the header has {width}; cut short?"
            )
        for text in row:
            if "\n" in text and _holds_a_row(text, width, delimiter):
                raise ValueError(
                    f"{file}: a cell of row {i + 1} holds whole rows: {text[:50]!r}; is a "
                    'quote (") not closed?'
                )
        yield row


def _holds_a_row(text: str, width: int, delimiter: str) -> bool:
    """Whether a line of a cell looks like a row of the table."""
    for line in text.split("\n"):
        cells = line.split(delimiter)
        has_number = any(_number(cell) is not None for cell in cells)
        if has_number and len(cells) >= max(width, 2):
            return True
    return False


def _number(text: str) -> float | None:
    """A number with a point or a comma."""
    try:
        return float(text if "." in text else text.replace(",", ".", 1))
    except ValueError:
        return None


def csv_text(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, line_end: str = "\r\n"
) -> str:
    """The text of a CSV file, its cells made harmless by `cell`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    for row in chain([columns], rows):
        writer.writerow(map(cell, row))
    # half of a surrogate pair has no place in a file
    return text.getvalue().encode("utf-8", "replace").decode("utf-8")


def cell(value: Any) -> Any:
    """``value``, with an apostrophe before text that a spreadsheet would take for a formula.
    Numbers stay, also those written as text.

    >>> cell("=HYPERLINK(A1)"), cell("-12"), cell(-0.5), cell("melanoma")
    ("'=HYPERLINK(A1)", '-12', -0.5, 'melanoma')
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and _number(value) is None:
        return "'" + value
    return value
