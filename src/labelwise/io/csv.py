"""CSV files: predictions as other programs write them, and results that a spreadsheet only shows
(no text becomes a formula).
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from .files import open_text_file
from .tables import Table, text_array

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
    with _open_rows(path) as (header, rows, named):
        columns = [_Column() for _ in header]
        n = 0
        while chunk := list(islice(rows, _ROWS_AT_ONCE)):
            n += len(chunk)
            for column, cells in zip(columns, zip(*chunk, strict=True), strict=True):
                column.extend(cells)
    if not n:
        raise ValueError(f"{path.name} has no rows below its header")
    by_name = dict(zip(header, columns, strict=True))

    def read_column(name: str) -> np.ndarray:
        texts = by_name[name].texts
        if texts is None:  # numbers with fractions, of which nobody needed the text before
            place = header.index(name)
            with _open_rows(path, say=False) as (_, again, _):
                texts = [row[place] for row in again]
        return text_array(texts, f"{path.name}: column {name!r}")

    def read_numbers(names: Sequence[str]) -> np.ndarray:
        for name in names:
            bad = by_name[name].not_a_number
            if bad is not None:
                raise ValueError(
                    f"{path.name}: row {bad[0] + 1} of column {name!r} must be a number; got "
                    f"{bad[1][:50]!r}"
                )
        return np.stack([by_name[name].numbers() for name in names], axis=-1)

    numeric = frozenset(
        name for name, column in by_name.items() if column.n_numbers >= max(column.n_texts, 1)
    )
    return Table(path.name, n, tuple(header), numeric, read_column, read_numbers, named=named)


class _Column:
    """The cells of a column, as numbers and, until a fraction shows that they are probabilities, as
    text.
    """

    def __init__(self) -> None:
        self.texts: list[str] | None = []
        self.n_numbers = self.n_texts = self.rows = 0
        self.not_a_number: tuple[int, str] | None = None
        """The first cell that is missing or text, and its row."""
        self._numbers: list[np.ndarray] = []

    def extend(self, cells: Sequence[str]) -> None:
        if (
            self.n_texts and not self.n_numbers and self.texts is not None
        ):  # a column of text, as thousands of rows have shown
            self.texts.extend(cells)
            self.n_texts += len(cells)
            return
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
            self.n_numbers += len(cells)
        except ValueError:
            values = self._slowly(cells)
        fractions = values != np.floor(values)
        if (
            self.texts is not None
            and self.n_texts == 0
            and bool((fractions & ~np.isnan(values)).any())
        ):
            self.texts = None
        if self.texts is not None:
            self.texts.extend(cells)
        self._numbers.append(values)
        self.rows += len(cells)

    def _slowly(self, cells: Sequence[str]) -> np.ndarray:
        """The numbers of cells of which some have a decimal comma, are missing, or are text; these
        are NaN.
        """
        values = np.full(len(cells), np.nan)
        for i, text in enumerate(cells):
            value = _number(text)
            if value is not None:
                values[i] = value
                self.n_numbers += 1
                continue
            if self.not_a_number is None:
                self.not_a_number = self.rows + i, text
            if text.strip().lower() not in _MISSING:
                self.n_texts += 1
        return values

    def numbers(self) -> np.ndarray:
        if len(self._numbers) > 1:
            self._numbers = [np.concatenate(self._numbers)]
        return self._numbers[0]


@contextmanager
def _open_rows(
    path: Path, *, say: bool = True
) -> Iterator[tuple[list[str], Iterator[list[str]], bool]]:
    """The names of the columns, the rows, and whether the names are in the file."""
    with open_text_file(path, LARGEST) as file:
        start = file.peek(1 << 16)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(
                f"{path.name} is text in UTF-16; save it as UTF-8 (in Excel: CSV UTF-8)"
            )
        line = start.split(b"\n")[0]
        delimiter = max("\t;,", key=lambda sign: line.count(sign.encode()))
        try:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            # strict: a quote that is never closed must not swallow the rows after it
            reader = csv.reader(text, delimiter=delimiter, strict=True)
            cells = (row for row in reader if any(cell.strip() for cell in row))
            header = next(cells, None)
            if header is None:
                raise ValueError(f"{path.name} is empty: it has no header")
            following = list(islice(cells, _ROWS_THAT_TELL))
            if _is_header(path, header, following):
                yield (
                    header,
                    _check_rows(path, chain(following, cells), len(header), delimiter),
                    True,
                )
            else:
                if say:
                    last = len(header) - 1
                    warnings.warn(
                        (
                            f"{path.name} has no header; its {len(header)} columns are taken for "
                            f"the classes 0 … {last}"
                        ),
                        stacklevel=4,
                    )
                names = [str(k) for k in range(len(header))]
                yield (
                    names,
                    _check_rows(path, chain([header], following, cells), len(header), delimiter),
                    False,
                )
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path.name}: not a text file in UTF-8 ({error.reason}); in Excel, save it as CSV "
                "UTF-8"
            ) from error
        except csv.Error as error:
            row = f" near line {reader.line_num}" if "end of data" not in str(error) else ""
            hint = (
                '; is a quote (") not closed?'
                if "end of data" in str(error) or "expected after" in str(error)
                else ""
            )
            raise ValueError(f"{path.name} is not a readable table{row}: {error}{hint}") from error


def _is_header(path: Path, first: list[str], following: list[list[str]]) -> bool:
    """Whether the first row names the columns. Numbers do so only if they are whole and different,
    as in `0,1,2`.
    """
    numbers = [_number(cell) for cell in first]
    fractions = [x for x in numbers if x is not None and x != math.floor(x)]
    if None in numbers:
        if 2 * len(fractions) >= len(first):
            shown = ", ".join(map(repr, first[:4]))
            raise ValueError(
                f"{path.name}: the first row must name the columns; it holds numbers: {shown}. Add "
                "a header, such as id,cat,dog"
            )
        return True
    if (
        fractions
        or len(set(numbers)) < len(first)
        or len(first) == 1
        or any(not cell.strip().isdigit() for cell in first)
    ):
        return False
    cells = [cell for row in following for cell in row]
    all_whole = all(re.fullmatch(r"\s*[0-9]+\s*", cell) for cell in cells)
    if set(numbers) == {0, 1} and any(re.fullmatch(r"\s*[01]\s*", cell) for cell in cells):
        raise ValueError(
            f"{path.name}: its first row, {','.join(first)}, may be a header or a case. Add a "
            "header with the class names, such as cat,dog"
        )
    counted = set(numbers) in ({*range(len(first))}, {*range(1, len(first) + 1)})
    return counted or not all_whole


def _check_rows(
    path: Path, rows: Iterable[list[str]], width: int, delimiter: str
) -> Iterator[list[str]]:
    """The rows, if all have as many cells as the header and no cell holds other rows."""
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(
                f"{path.name}: row {i + 1} has {len(row)} cells where the header has {width}; cut "
                "short?"
            )
        for text in row:
            if "\n" in text and any(
                _looks_like_a_row(line, width, delimiter) for line in text.split("\n")
            ):
                raise ValueError(
                    f"{path.name}: a cell of row {i + 1} holds whole rows: {text[:50]!r}; is a "
                    'quote (") not closed?'
                )
        yield row


def _looks_like_a_row(line: str, width: int, delimiter: str) -> bool:
    cells = line.split(delimiter)
    return len(cells) >= max(width, 2) and any(_number(cell) is not None for cell in cells)


def _number(text: str) -> float | None:
    """A number with a point or a comma."""
    try:
        return float(text.replace(",", ".", 1) if "." not in text else text)
    except ValueError:
        return None


def csv_text(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, line_end: str = "\r\n"
) -> str:
    """The text of a CSV file, its cells made harmless by `cell`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerow([cell(name) for name in columns])
    writer.writerows([cell(value) for value in row] for row in rows)
    return (
        text.getvalue().encode("utf-8", "replace").decode("utf-8")
    )  # half of a surrogate pair has no place in a file


def cell(value: Any) -> Any:
    """``value``, with an apostrophe before text that a spreadsheet would take for a formula.
    Numbers stay, also those written as text.

    >>> cell("=HYPERLINK(A1)"), cell("-12"), cell(-0.5), cell("melanoma")
    ("'=HYPERLINK(A1)", '-12', -0.5, 'melanoma')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA) or _is_number(value):
        return value
    return "'" + value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
