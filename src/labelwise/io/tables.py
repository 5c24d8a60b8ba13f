"""Flat tables of predictions, in every format: wide tables, with a row for each case, and long
ones, with a row for each case and member.

A reader opens a file as a `Table`. `columns` says which column is what, `ids` which has the ids,
for all files of an ensemble together, and `member_keys` what tells members apart. Names are used
where there are any, and what was assumed is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._column_words import (
    CERTAIN,
    INDEX,
    ROLES,
    is_called_id,
    is_called_measurement,
    word_of,
)
from .._errors import did_you_mean
from .columns import Columns, find_columns
from .ids import check_equal_columns, find_ids, quoted
from .member_keys import key_columns, number_members
from .members import combine
from .table import Table, text_array, typed

__all__ = ["Table", "read_tables", "text_array", "typed"]


def read_tables(
    tables: Sequence[Table], *, class_names: Sequence[str] | None, exclusive: bool, notes: list[str]
) -> list[dict[str, Any]]:
    """The fields of predictions in each table.

    Parameters
    ----------
    tables : sequence of Table
        One for each file.
    class_names : sequence of str, optional
        Those that the user gave; columns with these names are the classes.
    exclusive : bool
        Whether the classes are said to exclude each other and to be probabilities, so that rows of
        them sum to 1.
    notes : list
        What was assumed is added.
    """
    meanings = [find_columns(table, class_names, exclusive) for table in tables]
    ids = find_ids(tables, meanings, notes)
    parts = []
    not_read: dict[str, list[str]] = {}
    for table, columns, id_column in zip(tables, meanings, ids, strict=True):
        keys = columns.members
        if id_column is not None:
            keys = key_columns(table, columns, id_column)
        routine, surprising = _not_read(table, {*columns.taken, *keys, id_column})
        if routine and routine not in notes:
            notes.append(routine)
        if surprising:
            not_read.setdefault(surprising, []).append(table.file)
        fields = _fields(table, columns, id_column)
        if keys:
            fields = _stack_members(table, columns, fields, keys, notes)
        parts.append(fields)
    for sentence, files in not_read.items():
        others = "" if len(files) == 1 else f" and {_counted(len(files) - 1)}"
        warnings.warn(f"{files[0]}{others}: {sentence}", stacklevel=2)
    return parts


def _counted(number: int) -> str:
    return "1 other" if number == 1 else f"{number} others"


def _not_read(table: Table, used: set[str | None]) -> tuple[str, str]:
    """A note on columns that are no classes by their names, and a warning of others; empty if there
    are none.
    """
    known = {*CERTAIN, *INDEX}.union(*ROLES.values())
    unread = [name for name in table.names if name not in used and word_of(name) not in known]
    routine = [name for name in unread if is_called_measurement(name) or is_called_id(name)]
    surprising = [name for name in unread if name not in routine]
    note = warning = ""
    if routine:
        rule = "it is no class" if len(routine) == 1 else "they are no classes"
        more = f" and {len(routine) - 5} more" if len(routine) > 5 else ""
        note = f"not read, because by name {rule}: {', '.join(map(quoted, routine[:5]))}{more}"
    if surprising:
        hint = did_you_mean(surprising[0], ["id", *(words[0] for words in ROLES.values())])
        others = len(surprising) - 1
        also = f" (nor {'is' if others == 1 else 'are'} {_counted(others)})" if others else ""
        warning = f"column {surprising[0]!r} is not read{hint}{also}"
    return note, warning


def _fields(table: Table, columns: Columns, id_column: str | None) -> dict[str, Any]:
    """The fields of predictions in one table, row by row."""
    values = table.numbers(columns.classes) if table.listed is None else table.listed
    fields: dict[str, Any] = {columns.kind: values}
    if columns.class_names is not None:
        fields["class_names"] = columns.class_names
    if id_column is not None:
        fields["ids"] = table.column(id_column)
    if columns.labels is not None:
        fields["y_true"] = typed(table.complete(columns.labels))
    if columns.groups is not None:
        fields["groups"] = table.complete(columns.groups)
    return fields


def _stack_members(
    table: Table, columns: Columns, fields: dict[str, Any], keys: Sequence[str], notes: list[str]
) -> dict[str, Any]:
    """The rows of a long table as (M, N, K): a part for each member, aligned like files."""
    if len(fields[columns.kind].shape) == 3:
        raise ValueError(
            f"{table.file} has several members in each row, and column {keys[0]!r} as well; leave "
            "one of them out"
        )
    number = number_members(table, keys)
    first_rows = np.sort(np.unique(number, return_index=True)[1])  # members as they come
    factors = {key: tuple(table.complete(key)[first_rows].astype(str).tolist()) for key in keys}
    labels = [" / ".join(combination) for combination in zip(*factors.values(), strict=True)]

    class_names = {key: x for key, x in fields.items() if key == "class_names"}
    arrays = {key: np.asarray(x[:]) for key, x in fields.items() if key != "class_names"}
    members, parts = [], []
    for label, row in zip(labels, first_rows, strict=True):
        rows = np.flatnonzero(number == number[row])
        members.append(table.take(rows, f"{table.file}, member {label!r}"))
        parts.append({key: x[rows] for key, x in arrays.items()} | class_names)
        if len(rows) != members[0].rows:
            raise ValueError(
                f"{table.file}: member {label!r} has {len(rows):,} rows and {labels[0]!r} "
                f"has {members[0].rows:,}; all need the same cases"
            )
    if "ids" not in fields:
        for member in members[1:]:
            check_equal_columns(members[0], member, {*columns.taken, *keys})
        notes.append(f"rows of each member matched by number: {table.file} has no column of ids")
    stacked = combine([member.file for member in members], parts)
    stacked["member_names"] = tuple(labels)
    if len(keys) > 1:
        combinations = " and ".join(map(quoted, keys))
        notes.append(f"members are the {len(parts)} combinations of {combinations}")
        stacked["factors"] = factors
    return stacked
