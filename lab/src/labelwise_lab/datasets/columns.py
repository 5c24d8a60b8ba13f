"""Columns of a table as text: ARFF files (Weka's format) as SciPy reads them, and CSV files."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..files import read_text, refuse

MISSING = {"", "?", "na", "nan", "n/a", "null", "none"}


@dataclass(frozen=True)
class Column:
    """A column: its cells (``None``: missing) and, if the file declares them, its possible
    values.
    """

    name: str
    cells: list[str | None]
    levels: tuple[str, ...] | None = None


def read_columns(path: str | Path) -> list[Column]:
    """The columns of an .arff or .csv file."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".arff", ".csv"):
        raise refuse(path, "tables are read from .arff and .csv files")
    return _arff(path) if suffix == ".arff" else _csv(path)


def _arff(path: Path) -> list[Column]:
    from scipy.io import arff

    try:
        with path.open(encoding="utf-8") as file:
            records, header = arff.loadarff(file)
    except Exception as error:  # SciPy raises many kinds for damaged files
        # SciPy quotes the line that it cannot read, with its end
        reason = " ".join(str(error).split()) or type(error).__name__
        raise refuse(path, f"not an ARFF file that SciPy reads ({reason:.200})") from error
    columns = []
    for name in header.names():
        kind, levels = header[name]
        if kind == "numeric":
            cells = [None if np.isnan(value) else repr(float(value)) for value in records[name]]
        else:
            texts = [value.decode() for value in records[name]]
            cells = [None if text.lower() in MISSING else text for text in texts]
        columns.append(Column(name, cells, None if kind == "numeric" else tuple(levels)))
    return columns


def _csv(path: Path) -> list[Column]:
    text = read_text(path).removeprefix("\ufeff")
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
            if not row:
                continue
            if len(row) != len(names):
                raise refuse(
                    path,
                    f"line {rows.line_num} has {len(row)} values, but there are {len(names)} "
                    "columns",
                )
            for column, cell in zip(cells, row, strict=True):
                column.append(None if cell.strip().lower() in MISSING else cell.strip())
    except csv.Error as error:
        raise refuse(path, f"line {rows.line_num} cannot be read as CSV ({error})") from error
    return [Column(name, column) for name, column in zip(names, cells, strict=True)]
