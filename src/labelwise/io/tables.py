"""Flat tables of predictions, in every format: wide tables, with a row for each case, and long
ones, with a row for each case and member.

A reader opens a file as a `Table`. `columns` says which column is what, `ids` which has the ids,
for all files of an ensemble together. Names are used where there are any, and what was assumed is
said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._column_words import CERTAIN, INDEX, ROLES, word_of
from .._suggestions import listed
from .columns import Columns, find_columns
from .ids import check_equal_columns, find_ids, key_columns, number_members
from .members import check_unique, combine
from .table import Table, typed

__all__ = ["read_tables"]

_KNOWN = {*CERTAIN, *INDEX}.union(*ROLES.values())  # a second column of a known role is not noted


def read_tables(
    tables: Sequence[Table], class_names: Sequence[str] | None, notes: list[str]
) -> list[dict[str, Any]]:
    """The fields of predictions in each table, one for each file. Columns with the ``class_names``
    that the user gave are the classes; what was assumed is added to the ``notes``.
    """
    meanings = [find_columns(table, class_names) for table in tables]
    ids = find_ids(tables, meanings, notes)
    parts = []
    not_read: dict[str, None] = {}
    for table, columns, id_column in zip(tables, meanings, ids, strict=True):
        keys = columns.members
        if id_column is not None:
            # if none do, the id that is repeated is refused below
            keys = key_columns(table, columns, table.column(id_column)) or keys
        used = {*columns.taken, *keys, id_column}
        for name in table.names:
            if name not in used and word_of(name) not in _KNOWN:
                not_read[name] = None
        fields = _fields(table, columns, id_column)
        if keys:
            fields = _stack_members(table, columns, fields, keys, notes)
        elif id_column is not None:
            check_unique(table.file, table.text(id_column))
        parts.append(fields)
    if not_read:
        notes.append(f"not read: {listed(list(not_read))}")
    return parts


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
    names, members, parts = [], [], []
    for label, row in zip(labels, first_rows, strict=True):
        rows = np.flatnonzero(number == number[row])
        part: dict[str, Any] = {
            key: np.asarray(x[:])[rows] for key, x in fields.items() if key != "class_names"
        }
        if columns.class_names is not None:
            part["class_names"] = columns.class_names
        names.append(f"{table.file}, member {label!r}")
        members.append(table.take(rows, names[-1]))
        parts.append(part)
    stacked = combine(names, parts)
    if "ids" not in fields:
        for member in members[1:]:
            check_equal_columns(members[0], member, columns.taken)
        notes.append(f"rows of each member matched by number: {table.file} has no column of ids")
    stacked["member_names"] = tuple(labels)
    varying = {key: levels for key, levels in factors.items() if len(set(levels)) > 1}
    if len(varying) > 1:
        notes.append(f"members are the {len(parts)} combinations of {' and '.join(varying)}")
        stacked["factors"] = varying
    return stacked
