"""Flat tables of predictions, a row for each case: what the columns mean, in every format.

A reader opens a file as a `Table`. Which column is the id, which are classes, and which tell
members apart is decided here, for all files of an ensemble together: names are used where there are
any, and what was assumed is said.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np

from .._column_words import CERTAIN, ID_WORD, INDEX, NOT_A_CLASS, ROLES, may_be_no_class, word_of
from .._errors import InputError
from .._suggestions import did_you_mean
from .files import FLOOR
from .members import combine

__all__ = [
    "Table",
    "check_equal_columns",
    "id_columns",
    "is_label_name",
    "is_row_number",
    "quoted",
    "read_tables",
    "sums_to_one",
    "text_array",
    "typed",
]

# Only a real separator makes a prefix: "alpha thalassemia" is a class.
_PREFIX = re.compile(r"(prob|logit|log_prob|alpha|evidence)s?[._:](.+)", re.IGNORECASE)
_KINDS = {
    "prob": "probs",
    "logit": "logits",
    "log_prob": "log_probs",
    "alpha": "alpha",
    "evidence": "evidence",
}
_SAMPLE = 1000  # rows that show whether columns sum to 1
_LONGEST_ID = 200  # characters; longer texts are comments or questions
_MAX_KEYS = 3
_MOST_THERE = 0.5  # of all combinations of keys and cases, so that the others are missing


@dataclass(frozen=True, eq=False)
class Table:
    """A table as its reader opened it: what the columns are called, which hold numbers, and how to
    read them.
    """

    file: str
    rows: int
    names: tuple[str, ...]
    """The columns in their order, without one that holds lists of predictions."""
    numeric: frozenset[str]
    """Columns whose values are numbers, if not in every row."""
    column: Callable[[str], np.ndarray]
    """Read a whole column: text, or numbers in formats that have types."""
    numbers: Callable[[Sequence[str]], Any]
    """Columns of numbers as (N, K), perhaps not yet read; refuses missing values."""
    named: bool = True
    """Whether the names are in the file, or only positions."""
    kind: str = "probs"
    listed: Any = None
    """Predictions that the file holds as lists, (N, K) or (M, N, K)."""
    class_names: tuple[str, ...] | None = None
    """Of the lists."""

    def is_whole(self, name: str) -> bool:
        """Whether a column holds text or whole numbers."""
        if name not in self.numeric:
            return True
        try:
            values = self.column(name)
        except (TypeError, ValueError):  # with missing values
            return False
        if values.dtype.kind == "U":  # numbers that a format stores as text
            return all(
                re.fullmatch(r"\s*[+-]?[0-9]*(\.0*)?\s*", value) for value in values.tolist()
            )
        return values.dtype.kind in "biu" or bool(np.all(values == np.floor(values)))


class Pasted(list[str]):
    """Class names in the words of a fix, to be pasted into Python or, as ``{names:option}``, into a
    shell.

    >>> names = Pasted(["cat", "big dog"])
    >>> print(f"{names} {names:option}")
    ['cat', 'big dog'] 'cat,big dog'
    """

    def __format__(self, spec: str) -> str:
        stripped = [name.strip() for name in self]
        return shlex.quote(",".join(stripped)) if spec == "option" else repr(stripped)


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns of a table are what."""

    kind: str
    classes: list[str]
    """The columns with numbers; none where the file has lists."""
    class_names: tuple[str, ...] | None
    roles: dict[str, str]
    """`y_true` and `groups`."""
    members: list[str]
    """Columns that tell the members apart."""
    left_out: list[str] = field(default_factory=list)
    """Numbers that are no class by their name."""


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
    ids = _find_ids(tables, meanings, notes)
    fields = []
    not_read: dict[str, list[str]] = {}
    for table, columns, name in zip(tables, meanings, ids, strict=True):
        members = columns.members
        if name is not None:
            members = _key_columns(table, columns, name)
        for sentence in _what_is_not_read(table, columns, {name, *members}, notes):
            not_read.setdefault(sentence, []).append(table.file)
        fields.append(_table_fields(table, columns, name, members, notes))
    for sentence, files in not_read.items():
        others = f" and {len(files) - 1} other{'s' * (len(files) > 2)}" if len(files) > 1 else ""
        warnings.warn(f"{files[0]}{others}: {sentence}", stacklevel=2)
    return fields


def find_columns(table: Table, class_names: Sequence[str] | None, exclusive: bool) -> Columns:
    """The classes, labels, groups and members of one table; its ids are found with those of the
    other files.
    """
    twice = [name for name in table.names if table.names.count(name) > 1]
    if twice:
        raise ValueError(
            f"{table.file} has two columns called {twice[0]!r}; which of them is meant cannot be "
            "known"
        )
    words = {word_of(name): name for name in reversed(table.names)}
    certain = {words[word] for word in CERTAIN if word in words}
    if table.listed is not None:
        return Columns(table.kind, [], table.class_names, *_find_roles(table, words, ()))
    numeric = [name for name in table.names if name in table.numeric and name not in certain]
    suspects = [name for name in numeric if may_be_no_class(name, partial(table.is_whole, name))]
    plain = [name for name in numeric if name not in suspects]
    marked = {name: match for name in plain if (match := _PREFIX.fullmatch(name.strip()))}
    if (
        marked
        and class_names is not None
        and {match[2] for match in marked.values()} == set(class_names)
    ):
        plain = list(marked)
    kinds = {_KINDS[match[1].lower()] for match in marked.values()}
    if (
        marked
        and len(marked) == len(plain)
        and len(kinds) == 1
        and (len(plain) > 1 or not kinds & {"alpha", "evidence"})
    ):
        kind, classes, names = kinds.pop(), plain, [match[2] for match in marked.values()]
    else:
        kind, classes = table.kind, _choose_classes(table, plain, suspects, class_names, exclusive)
        names = [name.strip() for name in classes]
        _check_classes(table, classes, kinds, marked)
    roles, members = _find_roles(table, words, classes)
    left_out = [
        name
        for name in suspects
        if name not in classes and name not in roles.values() and name not in members
    ]
    return Columns(kind, classes, tuple(names) if table.named else None, roles, members, left_out)


def is_label_name(name: str) -> bool:
    """Whether a column is called like true labels."""
    return word_of(name) in ROLES["y_true"]


def _choose_classes(
    table: Table,
    plain: list[str],
    suspects: list[str],
    class_names: Sequence[str] | None,
    exclusive: bool,
) -> list[str]:
    """Which columns of numbers are the classes: those that the user names, or those whose rows sum
    to 1.
    """
    in_file = [*plain, *suspects]
    by_name = {name.strip(): name for name in in_file}
    if class_names is not None and set(class_names) <= set(by_name):
        wanted = {by_name[name] for name in class_names}
        return [name for name in table.names if name in wanted]
    if not plain:
        fractions = [name for name in suspects if not table.is_whole(name)]
        return fractions[:1]  # a score or confidence by itself is that of one class
    if not exclusive or _sum_to_one(table, plain):
        return plain
    if (
        len(plain) == 1
    ):  # one column is the probability of one class, and a confidence beside it may be 1 minus that
        suspects = [name for name in suspects if not NOT_A_CLASS.fullmatch(word_of(name))]
    for extra in [*([name] for name in suspects), suspects]:
        columns = [name for name in table.names if name in plain or name in extra]
        if extra and _sum_to_one(table, columns):
            return columns
    odd = _odd_columns(table, plain)
    if odd:
        called = " and ".join(map(repr, odd[:3])) + (
            f" and {len(odd) - 3} others" if len(odd) > 3 else ""
        )
        raise InputError(
            f"column{'s' if len(odd) > 1 else ''} {called} cannot be a class: rows sum to 1 "
            f"without {'them' if len(odd) > 1 else 'it'}, "
            "and not with",
            fix="name_classes",
            where=table.file,
            names=Pasted(_not_zero(table, [name for name in plain if name not in odd])),
        )
    return plain


def _not_zero(table: Table, names: list[str]) -> list[str]:
    """Columns without those that are 0 in all rows: rows sum to 1 with and without them."""
    values = np.asarray(table.numbers(names)[:_SAMPLE])
    return [name for name, column in zip(names, values.T, strict=True) if column.any()]


def _odd_columns(table: Table, names: list[str]) -> list[str]:
    """The columns without which rows sum to 1: those that leave the range from 0 to 1, or else one
    or two others.
    """
    values = np.asarray(table.numbers(names)[:_SAMPLE])
    with np.errstate(invalid="ignore"):
        inside = np.all((values >= 0) & (values <= 1), axis=0).tolist()
    likely = [k for k in range(len(names)) if inside[k]]
    outside = [k for k in range(len(names)) if not inside[k]]
    for number in range(min(3, len(likely) - 1)):
        if number == 2 and len(likely) > 50:
            break
        for left_out in combinations(likely, number):
            rest = [k for k in likely if k not in left_out]
            if len(rest) > 1 and sums_to_one(values[:, rest]):
                return [names[k] for k in sorted([*outside, *left_out])]
    return []


def _sum_to_one(table: Table, names: list[str]) -> bool:
    return sums_to_one(np.asarray(table.numbers(names)[:_SAMPLE]))


def sums_to_one(values: np.ndarray) -> bool:
    """Whether all rows (..., K) are probabilities that sum to 1, or percentages that sum to 100, up
    to coarse rounding.
    """
    if not values.size or not np.isfinite(values).all() or values.min() < 0:
        return False
    sums = values.sum(axis=-1, dtype=float)
    return bool(np.allclose(sums, 1, atol=0.02) or np.allclose(sums, 100, atol=2))


def _check_classes(
    table: Table, classes: list[str], kinds: set[str], marked: dict[str, Any]
) -> None:
    if not classes:
        listed = ", ".join(map(repr, table.names[:8])) or "none"
        raise ValueError(
            f"{table.file} must have a column of numbers for each class; it has {listed}"
        )
    if len(classes) == 1 and classes[0] in _KINDS.values():
        raise TypeError(
            f"{table.file}: column {classes[0]!r} must hold lists of numbers; a table has a column "
            "for each class instead, with its name"
        )
    unmarked = [name for name in classes if name not in marked]
    if len(marked) > 1 and unmarked and not _sum_to_one(table, classes):
        raise InputError(
            (
                f"column {next(iter(marked))!r} says that it holds {' or '.join(sorted(kinds))}, "
                f"and column {unmarked[0]!r} does not"
            ),
            fix="name_classes",
            where=table.file,
            names=Pasted(match[2] for match in marked.values()),
        )


def _find_roles(
    table: Table, words: dict[str, str], classes: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """The columns of labels and groups by role, and those that are called like members."""
    there = {word: name for word, name in words.items() if name not in classes}
    roles = {}
    for role in ("y_true", "groups"):
        name = next((there[word] for word in ROLES[role] if word in there), None)
        if name is not None:
            roles[role] = name
    return roles, [there[word] for word in ROLES["member"] if word in there]


# -------------------------------------------------------------------------------------------------------------------------  # noqa: E501
# ids


def _find_ids(
    tables: Sequence[Table], meanings: Sequence[Columns], notes: list[str]
) -> list[str | None]:
    """The column of ids of each table, if it has any.

    Of several columns, one that is called `id` counts first, then one that is called like an id,
    then one of unique text, then the row numbers that pandas writes; with several files, the first
    that has the same values in all of them.
    """
    candidates = []
    for table, columns in zip(tables, meanings, strict=True):
        found = _id_candidates(table, columns)
        # of one table the best will do: others are not even read
        candidates.append(dict(islice(found, 1) if len(tables) == 1 else found))
    chosen = _shared_id(tables, candidates)
    if chosen is None:
        chosen = [
            next((name for name, rank in found.items() if rank != 2), None) for found in candidates
        ]
    if all(_has_only_row_numbers(*pair) for pair in zip(tables, chosen, strict=True)):
        chosen = [None] * len(tables)
    if len(tables) > 1 and not any(name is not None for name in chosen):
        taken = [*meanings[0].classes, *meanings[0].roles.values()]
        for table in tables[1:]:
            check_equal_columns(tables[0], table, taken)
    called = dict.fromkeys(name for name in chosen if name is not None)
    if (
        len(tables) == 1
        and chosen[0] is not None
        and not meanings[0].members
        and word_of(chosen[0]) not in ("id", "ids", *INDEX)
    ):
        notes.append(f"`{chosen[0]}` is the id of each case")
    elif called and (len(tables) > 1 or meanings[0].members):
        notes.append(f"rows matched by {' and '.join(map(quoted, called))}")
    return chosen


def quoted(name: str) -> str:
    """What to call a column in a message.

    >>> quoted("case"), quoted("")
    ('`case`', 'the column without a name')
    """
    return f"`{name}`" if name.strip() else "the column without a name"


def id_columns(table: Table, others: Sequence[str] = ()) -> list[str]:
    """The columns of a table of labels that may be its ids, best first; ``others`` are not."""
    columns = Columns("probs", list(others), None, {}, [])
    return [name for name, _ in _id_candidates(table, columns)]


def _id_candidates(table: Table, columns: Columns) -> Iterator[tuple[str, int]]:
    """The columns that may be ids, best first, each with its rank; what is called `id` is one even
    if values are repeated.
    """
    taken = {*columns.classes, *columns.roles.values(), *columns.members}
    free = [name for name in table.names if name not in taken]
    ranks: list[list[str]] = [[], [], [], []]
    for name in free:
        word = word_of(name)
        if word in ("id", "ids"):
            ranks[0].append(name)
        elif word in INDEX:
            ranks[3].append(name)
        elif ID_WORD.fullmatch(word) or re.fullmatch(r".*[a-z](Id|ID)s?", name.strip()):
            ranks[1].append(name)
        elif name not in table.numeric and not NOT_A_CLASS.fullmatch(word):
            ranks[2].append(name)
    for rank, names in enumerate(ranks):
        for name in names:
            if rank == 0 or (
                table.is_whole(name) and _tells_cases_apart(table, columns, name, text=rank == 2)
            ):
                yield name, rank


def _tells_cases_apart(table: Table, columns: Columns, name: str, *, text: bool) -> bool:
    """Whether no value of a column is repeated within a member; columns of ``text`` that nothing
    calls an id must look like one.
    """
    try:
        values = table.column(name)
    except (TypeError, ValueError):  # of a type that no id has, or too long
        return False
    if text:
        is_short = values.dtype.kind == "U" and values.dtype.itemsize <= 4 * _LONGEST_ID
        if not is_short or table.rows < 2 or set(values.tolist()) <= set(columns.class_names or ()):
            return False
    if columns.members and not text and _keys_that_help(table, columns, values):
        return True
    return _is_unique(values, [table.column(member) for member in columns.members])


def _shared_id(
    tables: Sequence[Table], candidates: Sequence[dict[str, int]]
) -> list[str | None] | None:
    """The best column that all tables have with the same values; an index counts only where nothing
    is called an id.
    """
    first, *others = candidates
    best = min((rank for found in candidates for rank in found.values()), default=0)
    for name, rank in first.items():
        if not all(name in other for other in others) or (rank == 3 and best < 2):
            continue
        if rank == 0:
            return [name] * len(tables)
        values = [np.unique(table.column(name).astype(str)) for table in tables]
        if all(np.array_equal(values[0], x) for x in values[1:]):
            return [name] * len(tables)
    return None


def _has_only_row_numbers(table: Table, name: str | None) -> bool:
    """Whether a table has no ids, or only the numbers of its rows."""
    return name is None or (word_of(name) in INDEX and is_row_number(table.column(name)))


def is_row_number(ids: np.ndarray) -> bool:
    """Whether ids are 0, 1, … in this order."""
    return np.array_equal(ids.astype(str), np.arange(len(ids)).astype(str))


def check_equal_columns(first: Table, other: Table, taken: Sequence[str]) -> None:
    """Refuse tables that would be matched by number although a column called like an id tells that
    their rows are in another order.
    """
    for name in first.names:
        if (
            name in taken
            or name not in other.names
            or not ID_WORD.fullmatch(word_of(name))
            or not first.is_whole(name)
        ):
            continue
        values, others = first.column(name).astype(str), other.column(name).astype(str)
        if len(others) == len(values) and not np.array_equal(values, others):
            row = int(np.flatnonzero(values != others)[0])
            raise InputError(
                f"{first.file} and {other.file} differ in column {name!r}, first in row {row + 1}: "
                f"{str(values[row])!r} and {str(others[row])!r}. "
                "It has repeated values, so that rows cannot be matched by it. Add a column `id`, "
                "another for each case"
            )


def _codes(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """A number for each combination of values."""
    codes = np.zeros(rows, np.int64)
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        codes = np.unique(codes * len(values) + inverse, return_inverse=True)[1]
    return codes


def _is_unique(values: np.ndarray, members: Sequence[np.ndarray]) -> bool:
    codes = _codes([*members, values], len(values))
    return len(np.unique(codes)) == len(values)


def _key_columns(table: Table, columns: Columns, name: str) -> list[str]:
    """The columns that tell members apart, so that no id is repeated within a member; refuses ids
    that are.
    """
    ids = table.column(name)
    members = [table.column(member) for member in columns.members]
    if _is_unique(ids, members):
        return columns.members
    keys = _keys_that_help(table, columns, ids)
    if keys and columns.members:
        return [*columns.members, *keys]
    if columns.members:
        _check_combinations(table, columns, ids)
    repeated, counts = np.unique(_codes([*members, ids], len(ids)), return_counts=True)
    row = int(np.flatnonzero(_codes([*members, ids], len(ids)) == repeated[counts > 1][0])[0])
    owner = "" if not members else f"member {' / '.join(str(member[row]) for member in members)!r} "
    hint = ""
    if keys:
        hint = f". If `{keys[0]}` tells the members apart, call it `model`"
    elif not members:
        hint = ". If it is the group of a case, such as its patient, call it `group`"
    raise InputError(
        f"{table.file}: {owner}has the id {str(ids[row])!r} more than once in column {name!r}{hint}"
    )


def _keys_that_help(table: Table, columns: Columns, ids: np.ndarray) -> list[str]:
    """The fewest further columns that make ids unique within each combination of their values, all
    with the same ids.
    """
    members = [table.column(member) for member in columns.members]
    if _is_unique(ids, members):
        return []
    for names, values in _further_keys(table, columns, ids):
        keys = [*members, *values]
        same_cases = np.unique(np.unique(_codes(keys, len(ids)), return_counts=True)[1])
        if len(same_cases) == 1 and same_cases[0] == len(np.unique(ids)) and _is_unique(ids, keys):
            return names
    return []


def _check_combinations(table: Table, columns: Columns, ids: np.ndarray) -> None:
    """Refuse a table whose ids further columns would make unique, if only some combination of these
    did not lack a case.
    """
    members = [table.column(member) for member in columns.members]
    for names, values in _further_keys(table, columns, ids):
        keys = [*members, *values]
        if not _is_unique(ids, keys):
            continue
        # few rows may be missing: else the columns only describe the cases
        which = _codes(keys, len(ids))
        cases, combinations_there = np.unique(ids), np.unique(which)
        whole = len(cases) * len(combinations_there)
        if len(ids) < _MOST_THERE * whole:
            continue
        for combination in combinations_there:
            rows = np.flatnonzero(which == combination)
            lacking = np.setdiff1d(cases, ids[rows])
            if lacking.size:
                called = " and ".join(
                    f"{name!r} {str(key[rows[0]])!r}"
                    for name, key in zip([*columns.members, *names], keys, strict=True)
                )
                count = whole - len(ids)
                more = "" if count == 1 else f" (in all {count} are missing)"
                raise InputError(
                    f"{table.file}: the row of the id {str(lacking[0])!r} for {called} is "
                    f"missing{more}; "
                    "every combination needs the same cases"
                )


def _further_keys(
    table: Table, columns: Columns, ids: np.ndarray
) -> Iterator[tuple[list[str], list[np.ndarray]]]:
    """The columns that may tell members apart besides those called so, fewest first: their names
    and values.
    """
    taken = {*columns.classes, *columns.roles.values(), *columns.members}
    repeats = int(np.unique(ids, return_counts=True)[1].max(initial=0))
    candidates = {}
    for name in table.names:
        if (
            name in taken
            or word_of(name) in (*INDEX, "id", "ids")
            or (name in table.numeric and not NOT_A_CLASS.fullmatch(word_of(name)))
        ):
            continue
        try:
            values = table.column(name)
        except (TypeError, ValueError):
            continue
        if 1 < len(np.unique(values)) <= repeats:
            candidates[name] = values
    for number in range(1, _MAX_KEYS + 1):
        for names in combinations(candidates, number):
            yield list(names), [candidates[name] for name in names]


# ----------------------------------------------------------------------------------------------------------------------  # noqa: E501
# fields


def _what_is_not_read(
    table: Table, columns: Columns, used: set[str | None], notes: list[str]
) -> Iterator[str]:
    """A note on columns that are no class by their name; a sentence on others, to warn of."""
    used = used | {*columns.classes, *columns.roles.values()}
    words = {word for names in ROLES.values() for word in names} | {*CERTAIN, *INDEX}
    unread = [name for name in table.names if name not in used and word_of(name) not in words]
    routine = [
        name
        for name in unread
        if name in columns.left_out
        or NOT_A_CLASS.fullmatch(word_of(name))
        or ID_WORD.fullmatch(word_of(name))
    ]
    if routine:
        called = ", ".join(f"`{name}`" for name in routine[:5]) + (
            f" and {len(routine) - 5} more" if len(routine) > 5 else ""
        )
        sentence = (
            "not read, because by name "
            f"{'it is no class' if len(routine) == 1 else 'they are no classes'}: {called}"
        )
        if sentence not in notes:
            notes.append(sentence)
    surprising = [name for name in unread if name not in routine]
    if surprising:
        hint = did_you_mean(surprising[0], ["id", *(words[0] for words in ROLES.values())])
        others = len(surprising) - 1
        more = (
            ""
            if others == 0
            else " (nor is 1 other)"
            if others == 1
            else f" (nor are {others} others)"
        )
        yield f"column {surprising[0]!r} is not read{hint}{more}"


def _table_fields(
    table: Table, columns: Columns, id_column: str | None, members: list[str], notes: list[str]
) -> dict[str, Any]:
    """The fields of predictions in one table; rows of several members are stacked."""
    fields: dict[str, Any] = {
        columns.kind: table.listed if table.listed is not None else table.numbers(columns.classes)
    }
    if columns.class_names is not None:
        fields["class_names"] = columns.class_names
    if id_column is not None:
        fields["ids"] = table.column(id_column)
    for role, name in columns.roles.items():
        values = table.column(name)
        if values.dtype.kind == "U":
            _check_none_missing(table, name, values)
            values = typed(values) if role == "y_true" else values
        fields[role] = values
    return fields if not members else _stack_members(table, fields, members, columns, notes)


def _check_none_missing(table: Table, name: str, values: np.ndarray) -> None:
    missing = np.flatnonzero(values == "")
    if missing.size:
        raise ValueError(f"{table.file}: row {missing[0] + 1} has no value in column {name!r}")


def _stack_members(
    table: Table, fields: dict[str, Any], names: list[str], columns: Columns, notes: list[str]
) -> dict[str, Any]:
    """The rows of a long table as (M, N, K): a part for each member, aligned like files."""
    kind = columns.kind
    levels = {name: table.column(name).astype(str) for name in names}
    for name, values in levels.items():
        _check_none_missing(table, name, values)
    if len(fields[kind].shape) == 3:
        raise ValueError(
            f"{table.file} has several members in each row, and column {names[0]!r} as well; leave "
            "one of them out"
        )
    which = _codes(list(levels.values()), table.rows)
    first_rows = np.sort(np.unique(which, return_index=True)[1])
    loaded = {key: x if key == "class_names" else np.asarray(x[:]) for key, x in fields.items()}
    parts, labels, rows_of_members = [], [], []
    for row in first_rows:
        rows = np.flatnonzero(which == which[row])
        rows_of_members.append(rows)
        parts.append({key: x if key == "class_names" else x[rows] for key, x in loaded.items()})
        labels.append(" / ".join(str(values[row]) for values in levels.values()))
    for label, part in zip(labels, parts, strict=True):
        if len(part[kind]) != len(parts[0][kind]):
            raise ValueError(
                f"{table.file}: member {label!r} has {len(part[kind]):,} rows and {labels[0]!r} "
                f"has {len(parts[0][kind]):,}; "
                "all need the same cases"
            )
    called = [f"{table.file}, member {label!r}" for label in labels]
    if "ids" not in fields:
        for owner, rows in zip(called[1:], rows_of_members[1:], strict=True):
            first, other = (
                _rows_of(table, *member)
                for member in ((called[0], rows_of_members[0]), (owner, rows))
            )
            check_equal_columns(first, other, [*columns.classes, *columns.roles.values(), *names])
    stacked = combine(called, parts)
    if "ids" not in fields:
        notes.append(f"rows of each member matched by number: {table.file} has no column of ids")
    stacked["member_names"] = tuple(labels)
    if len(names) > 1:
        notes.append(
            f"members are the {len(parts)} combinations of "
            f"{' and '.join(f'`{name}`' for name in names)}"
        )
        stacked["factors"] = {
            name: tuple(str(values[row]) for row in first_rows) for name, values in levels.items()
        }
    return stacked


def _rows_of(table: Table, name: str, rows: np.ndarray) -> Table:
    """Some rows of a table, which messages call ``name``."""
    return replace(
        table, file=name, rows=len(rows), column=lambda column: table.column(column)[rows]
    )


def text_array(texts: Sequence[str], what: str) -> np.ndarray:
    """Texts as an array of bounded size."""
    longest = max(map(len, texts), default=1)
    if 4 * longest * len(texts) > FLOOR:
        raise ValueError(
            f"{what} has {len(texts):,} texts of up to {longest:,} characters; such files are "
            "refused"
        )
    return np.array(texts, dtype=f"U{max(longest, 1)}")


def typed(texts: np.ndarray) -> np.ndarray:
    """Labels as integers if all are whole numbers, else as text."""
    values = texts.tolist()
    if values and all(re.fullmatch(r"[+-]?[0-9]{1,18}(\.0*)?", value) for value in values):
        return np.array([int(value.partition(".")[0]) for value in values], dtype=np.int64)
    return texts
