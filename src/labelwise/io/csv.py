"""CSV files: predictions as other programs write them, and results that a spreadsheet only shows (no text becomes a formula)."""

from __future__ import annotations

import csv
import io
import os
import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .files import open_regular
from .tables import find_roles, table_fields, typed

__all__ = ["cell", "csv_text", "open_table", "read_csv"]

LARGEST = 1 << 30
"""Bytes of a table; more are better kept as .npy or .parquet."""
# A spreadsheet runs a cell that begins like this; full-width signs count there too. Others drop a leading tab or line end first.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def read_csv(path: Path) -> dict[str, Any]:
    """The predictions in a table with a column for each class (and `id`, `y_true` or `label`, `group`, `model`)."""
    with open_table(path) as (header, rows):
        first = next(rows, None)
        if first is None:
            raise ValueError(f"{path.name} has no rows below its header")
        numeric = [name for name, text in zip(header, first, strict=True) if _number(text) is not None or not text.strip()]
        roles = find_roles(path.name, header, numeric)
        where = [header.index(name) for name in roles.classes]
        asides = {role: header.index(name) for role, name in roles.others.items()}
        numbers, others = array("d"), {role: list[str]() for role in asides}
        for i, row in enumerate(chain([first], rows)):
            for k in where:
                value = _number(row[k])
                if value is None:
                    raise ValueError(f"{path.name}: row {i + 1} of column {header[k]!r} must be a number; got {row[k][:50]!r}")
                numbers.append(value)
            for role, k in asides.items():
                if not row[k] and role != "ids":
                    raise ValueError(f"{path.name}: row {i + 1} has no value in column {header[k]!r}")
                others[role].append(row[k])
    columns = {role: typed(texts, f"{path.name}: column {roles.others[role]!r}") for role, texts in others.items()}
    return table_fields(path.name, roles, np.array(numbers).reshape(-1, len(where)), columns)


@contextmanager
def open_table(path: Path) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header and the rows of a table with commas, semicolons or tabs between its cells, with or without a byte order mark."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise ValueError(f"{path.name} has {size:,} bytes; tables of more than {LARGEST:,} are refused. Save it as .npy or .parquet")
        start = file.read(1 << 16)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(f"{path.name} is text in UTF-16; save it as UTF-8 (in Excel: CSV UTF-8)")
        file.seek(0)
        line = start.split(b"\n")[0]
        delimiter = max("\t;,", key=lambda sign: line.count(sign.encode()))
        try:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            cells = (row for row in csv.reader(text, delimiter=delimiter) if any(cell.strip() for cell in row))
            header = next(cells, None)
            if header is None:
                raise ValueError(f"{path.name} is empty: it has no header")
            if all(_number(name) is not None for name in header) and any(not name.strip().isdigit() for name in header):
                warnings.warn(
                    f"{path.name} has no header; its {len(header)} columns are taken for the classes 0 … {len(header) - 1}", stacklevel=4
                )
                yield [str(k) for k in range(len(header))], _full(path, chain([header], cells), len(header))
            else:
                yield header, _full(path, cells, len(header))
        except UnicodeDecodeError as error:
            raise ValueError(f"{path.name}: not a text file in UTF-8 ({error.reason}); in Excel, save it as CSV UTF-8") from error
        except csv.Error as error:
            raise ValueError(f"{path.name} is not a readable table: {error}") from error


def _full(path: Path, rows: Iterable[list[str]], width: int) -> Iterator[list[str]]:
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"{path.name}: row {i + 1} has {len(row)} cells where the header has {width}; cut short?")
        yield row


def _number(text: str) -> float | None:
    """A number with a point or a comma."""
    try:
        return float(text.replace(",", ".", 1) if "." not in text else text)
    except ValueError:
        return None


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, line_end: str = "\r\n") -> str:
    """The text of a CSV file, its cells made harmless by `cell`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerow([cell(name) for name in columns])
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair has no place in a file


def cell(value: Any) -> Any:
    """``value``, with an apostrophe before text that a spreadsheet would take for a formula. Numbers stay, also those written as text.

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
