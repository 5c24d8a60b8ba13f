"""Long tables: which columns tell the rows of one member from those of another, and the rows of
each member as a table of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .._column_words import INDEX, is_called_measurement, word_of
from .._errors import InputError
from .columns import Columns
from .table import Table

__all__ = ["are_unique", "find_further_keys", "key_columns", "number_members"]

_MAX_KEYS = 3
_MOST_THERE = 0.5  # of all combinations of keys and cases, so that the others are missing


@dataclass(frozen=True)
class FurtherKeys:
    """Columns besides those called `member` or `model` that make ids unique within each combination
    of their values.
    """

    names: tuple[str, ...] = ()
    filled: float = 0.0
    """The share of all combinations and cases that has a row; 0: there are no such columns."""


def number_members(table: Table, keys: Sequence[str]) -> np.ndarray:
    """For each row the number 0, 1, … of its member, one for each combination of keys."""
    members = np.zeros(table.rows, np.int64)
    for key in keys:
        members = _number_pairs(members, table.column(key))
    return members


def _number_pairs(members: np.ndarray, column: np.ndarray) -> np.ndarray:
    values, inverse = np.unique(column, return_inverse=True)
    return np.unique(members * len(values) + inverse, return_inverse=True)[1]


def are_unique(table: Table, keys: Sequence[str], ids: np.ndarray) -> bool:
    """Whether no id is repeated where all keys have the same values."""
    pairs = _number_pairs(number_members(table, keys), ids)
    return int(pairs.max(initial=-1)) + 1 == table.rows


def find_further_keys(table: Table, columns: Columns, ids: np.ndarray) -> FurtherKeys:
    """The fewest further columns that make ids unique, all combinations with the same ids; if there
    are none, those that lack the fewest rows.
    """
    best = FurtherKeys()
    n_cases = len(np.unique(ids))
    for names in _combinations_of_columns(table, columns, ids):
        keys = [*columns.members, *names]
        if are_unique(table, keys, ids):
            n_members = int(number_members(table, keys).max()) + 1
            filled = table.rows / (n_cases * n_members)
            if filled > best.filled:
                best = FurtherKeys(names, filled)
            if filled == 1:
                break
    return best


def _combinations_of_columns(
    table: Table, columns: Columns, ids: np.ndarray
) -> Iterator[tuple[str, ...]]:
    """The columns that may tell members apart besides those called so, fewest first."""
    most = int(np.unique(ids, return_counts=True)[1].max(initial=0))
    candidates = []
    for name in table.names:
        is_number = name in table.numeric and not is_called_measurement(name)
        if name in columns.taken or word_of(name) in (*INDEX, "id", "ids") or is_number:
            continue
        try:
            levels = len(np.unique(table.column(name)))
        except (TypeError, ValueError):  # of a type that no key has, or too long
            continue
        if 1 < levels <= most:
            candidates.append(name)
    for number in range(1, _MAX_KEYS + 1):
        yield from combinations(candidates, number)


def key_columns(table: Table, columns: Columns, id_column: str) -> Sequence[str]:
    """The columns that tell members apart, so that no id is repeated within a member; refuses ids
    that are.
    """
    ids = table.column(id_column)
    if are_unique(table, columns.members, ids):
        return columns.members
    further = find_further_keys(table, columns, ids)
    if columns.members and further.filled == 1:
        return [*columns.members, *further.names]
    # few rows may be missing: else the columns only describe the cases
    if columns.members and further.filled >= _MOST_THERE:
        raise _missing_row(table, [*columns.members, *further.names], ids)

    pairs = _number_pairs(number_members(table, columns.members), ids)
    _, first_rows, counts = np.unique(pairs, return_index=True, return_counts=True)
    row = int(first_rows[counts > 1][0])
    owner = hint = ""
    if columns.members:
        called = " / ".join(str(table.column(name)[row]) for name in columns.members)
        owner = f"member {called!r} "
    elif further.filled == 1:
        hint = f". If `{further.names[0]}` tells the members apart, call it `model`"
    else:
        hint = ". If it is the group of a case, such as its patient, call it `group`"
    raise InputError(
        f"{table.file}: {owner}has the id {str(ids[row])!r} more than once in column "
        f"{id_column!r}{hint}"
    )


def _missing_row(table: Table, keys: Sequence[str], ids: np.ndarray) -> InputError:
    """Names the first combination of keys that lacks a case."""
    members = number_members(table, keys)
    cases, case_of_row = np.unique(ids, return_inverse=True)
    there = np.zeros((int(members.max()) + 1, len(cases)), dtype=bool)
    there[members, case_of_row] = True
    lacking = np.argwhere(~there)
    member, case = lacking[0]
    row = int(np.argmax(members == member))
    combination = " and ".join(f"{key!r} {str(table.column(key)[row])!r}" for key in keys)
    more = "" if len(lacking) == 1 else f" (in all {len(lacking)} are missing)"
    return InputError(
        f"{table.file}: the row of the id {str(cases[case])!r} for {combination} is missing{more}; "
        "every combination needs the same cases"
    )
