"""Columns of a table as text, from ARFF (Weka's format) and CSV files."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files import read_text
from ._limits import human, refuse

MAX_TEXT = 2**28
MAX_CELL = 2**17
"""Characters; as many as the csv module allows at first, but its limit is global, and other code
(SciPy's ARFF reader) raises it.
"""
MISSING = {"", "?", "na", "nan", "n/a", "null", "none"}


@dataclass(frozen=True)
class Column:
    """A column: its cells (``None``: missing) and, if the file declares them, its possible
    values.
    """

    name: str
    cells: list[str | None]
    levels: tuple[str, ...] | None = None
    numeric: bool = False
    """Whether the file declares the column to hold numbers."""


def read_columns(path: str | Path) -> list[Column]:
    """The columns of an .arff or .csv file."""
    path = Path(path)
    if path.stat().st_size > MAX_TEXT:
        raise refuse(
            path,
            (
                f"tables of more than {human(MAX_TEXT)} are not read here; read it with pandas and "
                "build a Dataset"
            ),
        )
    if path.suffix.lower() not in (".arff", ".csv"):
        raise refuse(path, "tables are read from .arff and .csv files")
    text = read_text(path).removeprefix("\ufeff")
    if "\0" in text:
        raise refuse(path, "not a text file: it contains zero bytes")
    return _arff(path, text) if path.suffix.lower() == ".arff" else _csv(path, text)


# Every repetition is possessive: what it has taken is never tried again, so that no line takes
# longer than its length.
_QUOTED = r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)\""""
_VALUE = re.compile(rf"""\s*+(?:(?:{_QUOTED})\s*+|((?!['"])[^,]*+))(,|$)""")
_ATTRIBUTE = re.compile(rf"""@attribute\s++(?:{_QUOTED}|([^\s'"{{]++))\s*+(.*)$""", re.IGNORECASE)
_NUMERIC = re.compile(r"(numeric|real|integer)\b", re.IGNORECASE)


def _values(path: Path, number: int, line: str) -> list[str]:
    """The values of a line, separated by commas, without their quotation marks."""
    if "'" not in line and '"' not in line:
        return [value.strip() for value in line.split(",")]
    values, at, more = [], 0, True
    while more:
        match = _VALUE.match(line, at)
        if match is None:
            raise refuse(path, f"line {number} has a quotation mark without its partner")
        values.append(_text(match))
        at, more = match.end(), match.group(4) == ","
    return values


def _text(match: re.Match[str]) -> str:
    quoted = match.group(1) if match.group(1) is not None else match.group(2)
    return match.group(3).rstrip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _arff(path: Path, text: str) -> list[Column]:
    header: list[tuple[str, tuple[str, ...] | None]] = []
    lines = enumerate(text.splitlines(), start=1)
    for number, line in _content(lines):
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@data":
            break
        if keyword == "@attribute":
            header.append(_attribute(path, number, line))
        elif keyword != "@relation":
            raise refuse(
                path, f"line {number} is neither @relation, @attribute nor @data; not an ARFF file"
            )
    else:
        raise refuse(path, "no @data line; not a whole ARFF file")
    if not header:
        raise refuse(path, "no @attribute line; not a whole ARFF file")
    cells: list[list[str | None]] = [[] for _ in header]
    for number, line in _content(lines):
        if line.startswith("{"):
            raise refuse(
                path,
                (
                    f"line {number} is in sparse ARFF notation, which is not read; save it as "
                    "plain ARFF or CSV"
                ),
            )
        _append(path, number, _values(path, number, line), cells)
    for (name, levels), column in zip(header, cells, strict=True):
        unlisted = set(column) - set(levels) - {None} if levels else set()
        if unlisted:
            raise refuse(
                path,
                (
                    f"column {name!r} has the value {min(map(str, unlisted))!r}, which its "
                    "@attribute line does not list"
                ),
            )
    return [
        Column(name, column, levels, levels is None)
        for (name, levels), column in zip(header, cells, strict=True)
    ]


def _content(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    return (
        (number, line.strip())
        for number, line in lines
        if line.strip() and not line.lstrip().startswith("%")
    )


def _attribute(path: Path, number: int, line: str) -> tuple[str, tuple[str, ...] | None]:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise refuse(path, f"line {number} is not a valid @attribute line")
    name, kind = _text(match), match.group(4).strip()
    if _NUMERIC.match(kind):
        return name, None
    if kind.startswith("{") and kind.endswith("}"):
        return name, tuple(_values(path, number, kind[1:-1]))
    raise refuse(
        path,
        (
            f"attribute {name!r} is of type {kind or 'nothing'!r}; numbers and {{listed, values}} "
            "are read"
        ),
    )


def _csv(path: Path, text: str) -> list[Column]:
    delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
    rows = csv.reader(text.splitlines(), delimiter=delimiter, skipinitialspace=True)
    try:
        names = [name.strip() for name in next(rows, [])]
        if len(names) < 2:
            raise refuse(
                path,
                "its first line must name the columns, separated by commas, semicolons or tabs",
            )
        if len(set(names)) < len(names):
            raise refuse(path, f"two columns are called {Counter(names).most_common(1)[0][0]!r}")
        cells: list[list[str | None]] = [[] for _ in names]
        for row in rows:
            if max(map(len, row), default=0) > MAX_CELL:
                raise refuse(
                    path,
                    (
                        f"line {rows.line_num} cannot be read as CSV (field larger than field "
                        f"limit ({MAX_CELL}))"
                    ),
                )
            if row:
                _append(path, rows.line_num, [cell.strip() for cell in row], cells)
    except csv.Error as error:
        raise refuse(path, f"line {rows.line_num} cannot be read as CSV ({error})") from error
    return [Column(name, column) for name, column in zip(names, cells, strict=True)]


def _append(path: Path, number: int, row: list[str], cells: list[list[str | None]]) -> None:
    if len(row) != len(cells):
        raise refuse(
            path, f"line {number} has {len(row)} values, but there are {len(cells)} columns"
        )
    for cell, column in zip(row, cells, strict=True):
        column.append(None if cell.lower() in MISSING else cell)
