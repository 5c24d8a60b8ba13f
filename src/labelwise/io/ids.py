"""Which column of a table holds the ids of its cases, so that rows are matched by them.

Of several columns, one that is called `id` counts first, then one that is called like an id, then
one of unique text, then the row numbers that pandas writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import islice

import numpy as np

from .._column_words import INDEX, is_called_id, is_called_measurement, word_of
from .._errors import InputError
from .columns import Columns
from .member_keys import are_unique, find_further_keys
from .table import Table

__all__ = ["check_equal_columns", "find_ids", "id_columns", "is_row_number", "quoted"]

_LONGEST_ID = 200  # characters; longer texts are comments or questions


class Rank(IntEnum):
    """How likely a column holds ids; the first are best."""

    CALLED_ID = 0
    LIKE_AN_ID = 1
    UNIQUE_TEXT = 2
    INDEX = 3


def find_ids(
    tables: Sequence[Table], meanings: Sequence[Columns], notes: list[str]
) -> list[str | None]:
    """The column of ids of each table, if it has any; with several tables, the best that has the
    same values in all of them.
    """
    # of one table the best will do: others are not even read
    most = 1 if len(tables) == 1 else None
    candidates = [
        dict(islice(_candidates(table, columns), most))
        for table, columns in zip(tables, meanings, strict=True)
    ]
    shared = _shared_id(tables, candidates)
    chosen: list[str | None] = [shared] * len(tables)
    if shared is None:
        for i, ranks in enumerate(candidates):
            chosen[i] = next((x for x, rank in ranks.items() if rank != Rank.UNIQUE_TEXT), None)
    if all(_only_counts(table, name) for table, name in zip(tables, chosen, strict=True)):
        chosen = [None] * len(tables)

    called = list(dict.fromkeys(name for name in chosen if name is not None))
    if not called:
        for table in tables[1:]:
            check_equal_columns(tables[0], table, meanings[0].taken)
    elif len(tables) > 1 or meanings[0].members:
        notes.append(f"rows matched by {' and '.join(map(quoted, called))}")
    elif word_of(called[0]) not in ("id", "ids", *INDEX):
        notes.append(f"{quoted(called[0])} is the id of each case")
    return chosen


def id_columns(table: Table, others: Sequence[str] = ()) -> list[str]:
    """The columns of a table of labels that may be its ids, best first; ``others`` are not."""
    columns = Columns("probs", list(others), None)
    return [name for name, _ in _candidates(table, columns)]


def quoted(name: str) -> str:
    """What to call a column in a message.

    >>> quoted("case"), quoted("")
    ('`case`', 'the column without a name')
    """
    return f"`{name}`" if name.strip() else "the column without a name"


def _candidates(table: Table, columns: Columns) -> Iterator[tuple[str, Rank]]:
    """The columns that may be ids, best first; what is called `id` is one even if values are
    repeated.
    """
    free = [name for name in table.names if name not in columns.taken]
    ranks = {name: rank for name in free if (rank := _rank(table, name)) is not None}
    for name in sorted(ranks, key=ranks.__getitem__):
        rank = ranks[name]
        if rank == Rank.CALLED_ID or _tells_cases_apart(table, columns, name, rank):
            yield name, rank


def _rank(table: Table, name: str) -> Rank | None:
    word = word_of(name)
    if word in ("id", "ids"):
        return Rank.CALLED_ID
    if word in INDEX:
        return Rank.INDEX
    if is_called_id(name):
        return Rank.LIKE_AN_ID
    if name not in table.numeric and not is_called_measurement(name):
        return Rank.UNIQUE_TEXT
    return None


def _tells_cases_apart(table: Table, columns: Columns, name: str, rank: Rank) -> bool:
    """Whether no value of a column is repeated within a member; columns of text that nothing calls
    an id must look like one.
    """
    if not table.is_whole(name):
        return False
    try:
        values = table.column(name)
    except (TypeError, ValueError):  # of a type that no id has, or too long
        return False
    if rank == Rank.UNIQUE_TEXT:
        is_short = values.dtype.kind == "U" and values.dtype.itemsize <= 4 * _LONGEST_ID
        if not is_short or table.rows < 2 or set(values.tolist()) <= set(columns.class_names or ()):
            return False
    if are_unique(table, columns.members, values):
        return True
    if not columns.members or rank == Rank.UNIQUE_TEXT:
        return False
    return find_further_keys(table, columns, values).filled == 1


def _shared_id(tables: Sequence[Table], candidates: Sequence[dict[str, Rank]]) -> str | None:
    """The best column that all tables have with the same values."""
    ranks = [rank for found in candidates for rank in found.values()]
    for name, rank in candidates[0].items():
        if not all(name in found for found in candidates):
            continue
        if rank == Rank.CALLED_ID:
            return name
        if rank == Rank.INDEX and min(ranks) < Rank.UNIQUE_TEXT:
            continue  # beside what is called an id, row numbers are none
        first, *others = (np.unique(table.text(name)) for table in tables)
        if all(np.array_equal(first, other) for other in others):
            return name
    return None


def _only_counts(table: Table, name: str | None) -> bool:
    """Whether a table has no ids, or only the numbers of its rows."""
    return name is None or (word_of(name) in INDEX and is_row_number(table.column(name)))


def is_row_number(ids: np.ndarray) -> bool:
    """Whether ids are 0, 1, … in this order."""
    return np.array_equal(ids.astype(str), np.arange(len(ids)).astype(str))


def check_equal_columns(first: Table, other: Table, taken: set[str | None]) -> None:
    """Refuse tables that would be matched by number although a column called like an id tells that
    their rows are in another order.
    """
    for name in first.names:
        if name in taken or name not in other.names or not is_called_id(name):
            continue
        if not first.is_whole(name) or first.rows != other.rows:
            continue
        values, others = first.text(name), other.text(name)
        differing = np.flatnonzero(values != others)
        if differing.size:
            row = int(differing[0])
            raise InputError(
                f"{first.file} and {other.file} differ in column {name!r}, first in row {row + 1}: "
                f"{str(values[row])!r} and {str(others[row])!r}. "
                "It has repeated values, so that rows cannot be matched by it. Add a column `id`, "
                "another for each case"
            )
