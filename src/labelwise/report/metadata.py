"""Columns from elsewhere (site, scanner, age, votes), joined to the cases by id."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._column_words import columns_called, is_called_id
from .._errors import InputError
from .._frames import is_positions, library_of_frame, repeated, row_labels
from .._tables import counted, shortened
from ..io.csv import csv_rows, harmless_cell
from ..io.files import check_regular, reading
from .columns import PageData

MISSING = ("", "na", "n/a", "nan", "nat", "none", "null", "<na>")
MAX_CATEGORIES = 20  # distinct numbers that are categories
MAX_NAMES = 5000  # distinct texts that are categories
LONGEST_NAME = 100
ROW = "row"  # the page exports numbers from 1 where the predictions have no ids
VOTES = re.compile(r"^votes?[ _.:]", re.IGNORECASE)
PAGE_NAMES = {
    *("total", "aleatoric", "epistemic", "pred", "wrong", "flagged", "decision", "tag", "next"),
    *("hit", "missed", "alarm", "has", "id"),
}
"""Names that the page gives a meaning of its own."""


@dataclass(eq=False)
class Metadata:
    """Columns of the N cases, in their order."""

    columns: dict[str, np.ndarray] = field(default_factory=dict)
    """Text, empty where missing."""
    groups: np.ndarray | None = None
    votes: np.ndarray | None = None
    """Counts (N, K)."""
    notes: list[str] = field(default_factory=list)
    """How the rows were matched."""


def join_metadata(given: Any, ids: Any, n: int, class_names: Sequence[str]) -> Metadata:
    """Read metadata and put its rows in the order of the cases: by id where the predictions have
    ids, else by a column ``row`` of numbers from 1, else by number.
    """
    name, columns = _metadata_columns(given)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise InputError(f"{name} must have columns of the same length; got {sorted(lengths)[:5]}")
    found = Metadata(columns)
    order = _rows_of_cases(name, columns, ids, n, found.notes)
    for column, texts in columns.items():
        columns[column] = np.append(texts, "")[order]
    for column in list(columns):  # such as votes_melanoma: how many readers chose the class
        class_name = VOTES.sub("", column)
        if class_name == column or class_name not in class_names:
            continue
        numbers = as_numbers(columns.pop(column))
        if numbers is None or np.any(numbers < 0) or np.any(numbers % 1 > 0):
            raise InputError(f"column {column!r} of the metadata must hold whole numbers of votes")
        if found.votes is None:
            found.votes = np.zeros((n, len(class_names)))
        found.votes[:, class_names.index(class_name)] = np.nan_to_num(numbers)
    called = columns_called(list(columns), "groups")
    if called:
        groups = columns.pop(called[0])
        alone = np.array([f"{called[0]} missing: {i}" for i in range(n)])
        found.groups = np.where(groups == "", alone, groups)
    return found


def _metadata_columns(given: Any) -> tuple[str, dict[str, np.ndarray]]:
    """What to call metadata in messages, and its columns as text, empty where missing."""
    name = "`metadata`"
    columns: dict[str, Any] = {}
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        name = path.name
        if path.suffix not in (".csv", ".tsv"):
            raise ValueError(f"metadata are read from .csv or .tsv; got {name!r}")
        with reading(path):
            check_regular(path)
            with csv_rows(path) as (header, rows):
                columns = dict(zip(header, zip(*rows, strict=True), strict=False))
    elif isinstance(given, Mapping) or library_of_frame(given) is not None:
        index = row_labels(given)
        if index is not None and not is_positions(index):
            columns["index"] = index
        for key in getattr(given, "columns", given):
            columns[str(key)] = given[key]
    else:
        raise TypeError(
            "`metadata` must be a data frame, a mapping from names to columns, or the path of a "
            f".csv file; got {type(given).__name__}"
        )
    if not columns:
        raise InputError(f"{name} must have at least one column, with a row for each case")
    for column, values in columns.items():
        columns[column] = np.array(list(map(_plain_text, values)), dtype=object)
    return name, columns


def _plain_text(value: Any) -> str:
    """A cell as text, empty where missing, without the apostrophe of `harmless_cell`."""
    text = str(value).strip()
    if text.lower() in MISSING:
        return ""
    if text == harmless_cell(text[1:]):
        return text[1:]
    return text


def _rows_of_cases(
    name: str, columns: dict[str, np.ndarray], ids: Any, n: int, notes: list[str]
) -> np.ndarray:
    """For each case its row, -1 where there is none. The column of ids is taken out; how rows were
    matched, and which were not, is noted.

    The ids are in the column with the most of them; of equal ones, in what is called an id. A
    column ``row`` numbers the cases from 1, whatever their ids are.
    """
    key, kind, wanted = ROW, "numbers", list(map(str, range(1, n + 1)))
    if ids is not None:
        texts = np.asarray(ids[:]).astype(str).tolist()
        known = set(texts)
        highest = (0, ROW in columns)  # then a column that is only called like an id is none
        for column, values in columns.items():
            rank = len(known & set(values)), is_called_id(column)
            if column != ROW and rank > highest:
                highest, key, kind, wanted = rank, column, "ids", texts
    if key not in columns:
        rows = len(next(iter(columns.values())))
        if rows != n:
            raise InputError(
                f"{name} has {counted(rows, 'row')} and there are {counted(n, 'case')}, which only "
                "ids in both can match. Give both a column of the same ids"
            )
        notes.append(f"rows of {name} matched by number: there are no ids in both")
        return np.arange(n)
    given = columns.pop(key).tolist()
    twice = repeated(filter(None, given))
    if twice is not None:
        raise InputError(f"{name} has the id {twice!r} more than once in column {key!r}")
    place = {text: i for i, text in enumerate(given) if text}
    order = np.array([place.get(text, -1) for text in wanted])
    notes.append(f"rows of {name} matched by `{key}`")
    matched = int(np.sum(order >= 0))
    if not matched:
        raise InputError(
            f"column {key!r} of {name} has none of the {kind} of the cases, such as {wanted[0]!r}; "
            f"it has {given[0]!r}"
        )
    if kind == "numbers" and "0" in place:
        raise InputError(f"column {key!r} of {name} must number the cases from 1; it has a 0")
    if matched < n:
        notes.append(f"{counted(n - matched, 'case')} of {n:,} not in {name}")
    if matched < len(place):
        notes.append(f"{counted(len(place) - matched, 'row')} of {name} of no case")
    return order


def as_numbers(texts: np.ndarray) -> np.ndarray | None:
    """Text as numbers, NaN where missing; ``None`` if some are none."""
    try:
        numbers = np.array([float(x or "nan") for x in texts.tolist()])
    except ValueError:
        return None
    if np.any(np.isinf(numbers)):
        return None
    return numbers


def add_metadata(page: PageData, columns: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
    """Columns of metadata on the page, as numbers, categories or text.

    ``rows`` are the positions of the page's rows in the columns; -1 out of distribution.
    """
    for given, texts in columns.items():
        taken = PAGE_NAMES | {column["name"] for column in page.columns}
        add_column(page, column_name(given, taken), np.append(texts, "")[rows])
        page.columns[-1]["source"] = "metadata"


def column_name(given: str, taken: set[str]) -> str:
    """A short name in one line that is not taken."""
    name = base = shortened(" ".join(given.split()) or "column", LONGEST_NAME)
    number = 2
    while name in taken:
        name = f"{base} ({number})"
        number += 1
    return name


def add_column(page: PageData, name: str, texts: np.ndarray) -> None:
    """One column of text, empty where missing, as what it holds."""
    distinct = sorted(set(texts.tolist()) - {""})
    numbers = as_numbers(texts)
    if numbers is not None:
        if len(distinct) > MAX_CATEGORIES:
            page.add_number(name, name, numbers)
            return
        distinct.sort(key=float)
    if len(distinct) > MAX_NAMES:
        page.add_text(name, texts)
    else:
        page.add_names(name, texts, distinct)
