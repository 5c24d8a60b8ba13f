"""Flat tables of predictions, in every format: wide tables, with a row for each case, and long
ones, with a row for each case and member.

A reader opens a file as a `Table`. `columns` says which column is what, `ids` which has the ids,
for all files of an ensemble together. Names are used where there are any, and what was assumed is
said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._column_words import CERTAIN, INDEX, ROLES, column_word
from .._errors import InputError, listed
from ..sources import varying_factors
from .columns import Columns, find_columns
from .ids import check_unique_ids, find_ids, key_columns, number_combinations
from .members import combine_members
from .predictions import Fields
from .table import Table, labels_of_texts

# a second column of these roles is not noted
_KNOWN = {*CERTAIN, *INDEX, *ROLES["y_true"], *ROLES["groups"], *ROLES["member"]}


def read_tables(
    tables: Sequence[Table], class_names: Sequence[str] | None, notes: list[str]
) -> list[Fields]:
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
            keys = key_columns(table, columns, id_column) or keys
        used = {*columns.taken, *keys, id_column}
        for name in table.names:
            if name not in used and column_word(name) not in _KNOWN:
                not_read[name] = None
        fields = {columns.kind: table.listed}
        if table.listed is None:
            fields[columns.kind] = table.numbers(columns.classes)
        if columns.class_names is not None:
            fields["class_names"] = columns.class_names
        named = {"ids": id_column, "y_true": columns.labels, "groups": columns.groups}
        for key, column in named.items():
            if column is not None:
                fields[key] = table.column(column)
        if "y_true" in fields:
            fields["y_true"] = labels_of_texts(fields["y_true"])
        if keys:
            fields = _members_of_long_table(table, columns, fields, keys, notes)
        elif id_column is not None:
            check_unique_ids(table.file, table.text(id_column))
        parts.append(fields)
    if not_read:
        notes.append(f"not read: {listed(list(not_read))}")
    return parts


def _members_of_long_table(
    table: Table, columns: Columns, fields: Fields, keys: Sequence[str], notes: list[str]
) -> Fields:
    """The rows of a long table as (M, N, K): a part for each member, aligned by id like files."""
    if "ids" not in fields:
        raise InputError(
            f"{table.file} has a row for each case and {keys[0]!r}, but no column of ids to match "
            "the cases by. Add a column `id`"
        )
    if len(fields[columns.kind].shape) == 3:
        raise ValueError(
            f"{table.file} has several members in each row, and column {keys[0]!r} as well; leave "
            "one of them out"
        )
    number = number_combinations(table, keys)
    first_rows = np.sort(np.unique(number, return_index=True)[1])  # members as they come
    factors = {key: tuple(table.column(key)[first_rows].astype(str).tolist()) for key in keys}
    labels = list(map(" / ".join, zip(*factors.values(), strict=True)))
    arrays = {key: np.asarray(x[:]) for key, x in fields.items() if key != "class_names"}
    parts = []
    for row in first_rows:
        rows = number == number[row]
        parts.append(fields | {key: x[rows] for key, x in arrays.items()})
    stacked = combine_members([f"{table.file}, member {label!r}" for label in labels], parts)
    stacked["member_names"] = tuple(labels)
    stacked["factors"] = factors
    varying = varying_factors(factors)
    if len(varying) > 1:
        notes.append(f"members are the {len(parts)} combinations of {' and '.join(varying)}")
    return stacked
