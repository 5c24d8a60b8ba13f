"""Rows matched by ids, and which column of a table holds the ids of its cases.

Of several columns, one that is called `id` counts first, then one that is called like an id, then
one of unique text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np

from .._column_words import (
    INDEX,
    column_in_words,
    column_word,
    id_rank,
    is_called_id,
    is_called_measurement,
)
from .._errors import InputError
from .._frames import is_positions, repeated
from .columns import Columns
from .table import Table


def find_ids(
    tables: Sequence[Table], meanings: Sequence[Columns], notes: list[str]
) -> list[str | None]:
    """The column of ids of each table, if it has any; with several tables, the best that has the
    same values in all of them.
    """
    candidates = list(map(id_columns, tables, meanings))
    chosen: list[str | None] = []
    for name in candidates[0]:
        if not chosen and all(name in names for names in candidates):
            values = {tuple(np.unique(table.text(name)).tolist()) for table in tables}
            if id_rank(name) == 0 or len(values) == 1:
                chosen = [name] * len(tables)
    if not chosen:
        for names in candidates:
            # text that nothing calls an id differs because it is none
            chosen.append(names[0] if names and id_rank(names[0]) < 2 else None)
    called = [column_in_words(name) for name in dict.fromkeys(chosen) if name is not None]
    if called:
        notes.append(f"rows matched by {' and '.join(called)}")
    elif len(tables) > 1:
        for table, columns in zip(tables, meanings, strict=True):
            refuse_repeated_ids(table, columns)
    return chosen


def id_columns(table: Table, columns: Columns) -> list[str]:
    """The columns that may be ids, best first."""
    names = []
    for name in table.names:
        if name not in columns.taken and _may_hold_ids(table, columns, name):
            names.append(name)
    return sorted(names, key=id_rank)


def _may_hold_ids(table: Table, columns: Columns, name: str) -> bool:
    """Whether no value of a column is repeated within a member; what is called `id` is one even
    then, so that it is refused.
    """
    if id_rank(name) == 0:
        return True
    only_text = id_rank(name) == 2
    if only_text and (name in table.numeric or is_called_measurement(name)):
        return False
    try:
        values = table.column(name)
    except (TypeError, ValueError):  # of a type that no id has, too long, or with missing values
        return False
    if not table.is_whole(name):
        return False
    if column_word(name) in INDEX and is_positions(tuple(values.astype(str).tolist())):
        return False  # as pandas writes it: tells nothing
    if only_text and (table.rows < 2 or set(values) <= {*(columns.class_names or ())}):
        return False
    return key_columns(table, columns, name) is not None


def key_columns(table: Table, columns: Columns, id_column: str) -> Sequence[str] | None:
    """The columns that tell members apart, so that no id is repeated within a member: those called
    so, or also their prompt, seed or fold if each combination then has every id. ``None``: none do.
    """
    n_cases = _count_combinations(table, [id_column])
    sizes = range(len(columns.further) + 1)
    subsets = chain.from_iterable(combinations(columns.further, size) for size in sizes)
    for further in subsets:  # the smallest first
        keys = [*columns.members, *further]
        complete = table.rows == _count_combinations(table, keys) * n_cases
        unique = table.rows == _count_combinations(table, [*keys, id_column])
        if unique and (complete or not further):
            return keys
    return None


def _count_combinations(table: Table, names: Sequence[str]) -> int:
    return number_combinations(table, names).max(initial=-1) + 1


def number_combinations(table: Table, names: Sequence[str]) -> np.ndarray:
    """For each row the number 0, 1, … of the values that it has in some columns."""
    numbers = np.zeros(table.rows, np.int64)
    for name in names:
        values, inverse = np.unique(table.column(name), return_inverse=True)
        numbers = np.unique(numbers * len(values) + inverse, return_inverse=True)[1]
    return numbers


def refuse_repeated_ids(table: Table, columns: Columns) -> None:
    """Refuse a table whose rows would be matched by number although it has a column called like an
    id: its values are repeated, so that they do not tell in which order the rows are.
    """
    for name in table.names:
        if is_called_id(name) and name not in columns.taken and table.is_whole(name):
            raise InputError(
                f"{table.file} has repeated values in column {name!r}, so that rows cannot be "
                "matched by it. Add a column `id`, another for each case"
            )


def check_unique_ids(owner: str, ids: np.ndarray) -> None:
    """Refuse an id that is there more than once."""
    twice = repeated(ids.tolist())
    if twice is not None:
        raise InputError(
            f"{owner} has the id {twice!r} more than once; cases cannot be aligned by it"
        )


def order_by_ids(name: str, wanted: np.ndarray, file: str, there: np.ndarray) -> np.ndarray:
    """Where the ids ``wanted`` are among those that are ``there``; the first that is missing on one
    side is named.
    """
    check_unique_ids(name, wanted)
    check_unique_ids(file, there)
    for one, other, ids, others in ((name, file, wanted, there), (file, name, there, wanted)):
        missing = ids[~np.isin(ids, others)]
        if missing.size:
            raise ValueError(
                f"{one} and {other} have different cases; the first to differ is "
                f"{str(missing[0])!r}, only in {one}"
            )
    place = np.argsort(there, kind="stable")
    return place[np.searchsorted(there, wanted, sorter=place)]
