"""Columns from elsewhere (site, scanner, age, votes), joined to the cases by id."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._column_words import column_word, columns_called, is_called_id
from .._errors import InputError
from .._frames import is_positions, library_of_frame, repeated, row_labels
from .._tables import counted, shortened
from ..io.csv import csv_rows
from ..io.files import check_regular, reading
from .columns import PageData

MISSING = ("", "na", "n/a", "nan", "nat", "none", "null", "<na>")
MAX_CATEGORIES = 20  # distinct numbers that are categories
MAX_NAMES = 5000  # distinct texts that are categories
LONGEST_NAME, LONGEST_TEXT = 100, 500
ROW = "row"  # the page exports numbers from 1 where the predictions have no ids
VOTES = re.compile(r"votes?[ _.:]", re.IGNORECASE)
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
    name, columns = _read(given)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise InputError(f"{name} must have columns of the same length; got {sorted(lengths)[:5]}")
    found = Metadata()
    key, lacking = None, "the predictions have"
    if ids is not None:
        wanted = np.asarray(ids[:]).astype(str)
        key, lacking = _id_column(name, columns, wanted), f"{name} has"
    elif ROW in columns:
        wanted, key = np.arange(1, n + 1).astype(str), ROW
    if key is None:
        (rows,) = lengths
        if rows != n:
            raise InputError(
                f"{name} has {counted(rows, 'row')} and there are {counted(n, 'case')}, and "
                f"{lacking} no ids to match the rows by. Give both a column of the same ids"
            )
        found.notes.append(f"rows of {name} matched by number: {lacking} no ids")
    else:
        order = _order_by_id(name, columns.pop(key), wanted, found.notes, key)
        for column, texts in columns.items():
            columns[column] = np.append(texts, "")[order]
    _take_votes(found, columns, class_names)
    called = columns_called(list(columns), "groups")
    if called:
        groups = columns.pop(called[0])
        alone = np.array([f"{called[0]} missing: {i}" for i in range(n)])
        found.groups = np.where(groups == "", alone, groups)
    found.columns = columns
    return found


def _read(given: Any) -> tuple[str, dict[str, np.ndarray]]:
    """What to call metadata in messages, and its columns as text."""
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
                cells = list(rows)
        columns = {column: [row[j] for row in cells] for j, column in enumerate(header)}
    elif library_of_frame(given) is not None:
        index = row_labels(given)
        if index is not None and not is_positions(index):
            columns["index"] = index
        columns |= {str(key): given[key] for key in given.columns}
    elif isinstance(given, Mapping):
        columns = {str(key): values for key, values in given.items()}
    else:
        raise TypeError(
            "`metadata` must be a data frame, a mapping from names to columns, or the path of a "
            f".csv file; got {type(given).__name__}"
        )
    if not columns:
        raise InputError("`metadata` must have at least one column")
    return name, {column: _as_text(values) for column, values in columns.items()}


def _as_text(values: Any) -> np.ndarray:
    """Values as stripped text, empty where missing."""
    texts = [str(x).strip() for x in values]
    return np.array(["" if x.lower() in MISSING else x for x in texts], dtype=object)


def _id_column(name: str, columns: Mapping[str, np.ndarray], wanted: np.ndarray) -> str | None:
    """The column with the most ids of the cases; of equal ones, what is called an id. ``None``:
    there are no ids.
    """
    known = set(wanted.tolist())

    def rank(column: str) -> tuple[int, bool, bool]:
        shared = len(known.intersection(columns[column].tolist()))
        return shared, column_word(column) in ("id", "ids"), is_called_id(column)

    best = max(columns, key=rank)
    shared, _, called_id = rank(best)
    if shared:
        return best
    if called_id:
        raise InputError(
            f"column {best!r} of {name} has none of the ids of the cases, such as "
            f"{str(wanted[0])!r}; it has {str(columns[best][0])!r}"
        )
    return None


def _order_by_id(
    name: str, there: np.ndarray, wanted: np.ndarray, notes: list[str], key: str
) -> np.ndarray:
    """For each case its row; -1 where there is none, which is noted."""
    twice = repeated([x for x in there.tolist() if x])
    if twice is not None:
        raise InputError(f"{name} has the id {twice!r} more than once in column {key!r}")
    place = {text: i for i, text in enumerate(there.tolist()) if text}
    order = np.array([place.get(text, -1) for text in wanted.tolist()])
    notes.append(f"rows of {name} matched by `{key}`")
    absent = int(np.sum(order < 0))
    if absent:
        notes.append(f"{counted(absent, 'case')} of {len(order):,} not in {name}")
    unused = len(place) - (len(order) - absent)
    if unused > 0:
        notes.append(f"{counted(unused, 'row')} of {name} of no case")
    return order


def _take_votes(
    found: Metadata, columns: dict[str, np.ndarray], class_names: Sequence[str]
) -> None:
    """Columns such as ``votes_melanoma``: how many readers chose the class."""
    place = {class_name: k for k, class_name in enumerate(class_names)}
    for name in list(columns):
        prefix = VOTES.match(name)
        if prefix is None or name[prefix.end() :] not in place:
            continue
        numbers = _whole_numbers(name, columns.pop(name))
        if found.votes is None:
            found.votes = np.zeros((len(numbers), len(class_names)))
        found.votes[:, place[name[prefix.end() :]]] = numbers


def _whole_numbers(name: str, texts: np.ndarray) -> np.ndarray:
    numbers = as_numbers(np.where(texts == "", "0", texts))
    if numbers is None or np.any(numbers < 0) or np.any(numbers != np.floor(numbers)):
        raise InputError(f"column {name!r} of the metadata must hold whole numbers of votes")
    return numbers


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
    taken = {*PAGE_NAMES, *(column["name"] for column in page.columns)}
    for given, texts in columns.items():
        name = column_name(given, taken)
        taken.add(name)
        add_column(page, name, np.append(texts, "")[rows])


def column_name(given: str, taken: set[str]) -> str:
    """A short printable name that is not taken."""
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in given)
    name = base = shortened(printable.strip() or "column", LONGEST_NAME)
    number = 2
    while name in taken:
        name = f"{base} ({number})"
        number += 1
    return name


def add_column(page: PageData, name: str, texts: np.ndarray) -> None:
    """One column of text, empty where missing, as what it holds."""
    source = "metadata"
    distinct = sorted(set(texts.tolist()) - {""})
    numbers = as_numbers(texts)
    if numbers is not None and len(distinct) > MAX_CATEGORIES:
        page.add_number(name, name, numbers, source=source)
        return
    if numbers is not None:
        distinct.sort(key=float)
    if len(distinct) > MAX_NAMES:
        page.add_text(name, name, [shortened(x, LONGEST_TEXT) for x in texts], source=source)
        return
    place = {text: i for i, text in enumerate(distinct)}
    codes = np.array([place.get(text, -1) for text in texts.tolist()])
    shown = [shortened(text, LONGEST_TEXT) for text in distinct]
    page.add_category(name, name, codes, shown, source=source)
