"""Which column of a table is what: the classes, the labels, the groups, and what tells members
apart. Ids are found in `ids`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .._column_words import (
    CERTAIN,
    columns_called,
    is_called_measurement,
    may_be_no_class,
    word_of,
)
from .._errors import InputError, listed
from .._frames import repeated
from .table import Table, sums_to_one

__all__ = ["Columns", "find_columns"]

# Only a real separator makes a prefix: "alpha thalassemia" is a class.
_PREFIX = re.compile(r"(prob|logit|log_prob|alpha|evidence)s?[._:](.+)", re.IGNORECASE)
_KINDS = {
    "prob": "probs",
    "logit": "logits",
    "log_prob": "log_probs",
    "alpha": "alpha",
    "evidence": "evidence",
}
_MANY_CLASSES = 50  # of more, only one column is tried to be left out, because pairs are many


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns of a table are what."""

    kind: str
    classes: list[str]
    """The columns with numbers; none where the file has lists."""
    class_names: tuple[str, ...] | None
    labels: str | None = None
    groups: str | None = None
    members: Sequence[str] = ()
    """Columns that are called like members."""

    @property
    def taken(self) -> set[str | None]:
        """All of them."""
        return {*self.classes, self.labels, self.groups, *self.members}


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


def find_columns(table: Table, class_names: Sequence[str] | None, exclusive: bool) -> Columns:
    """The classes, labels, groups and members of one table.

    Parameters
    ----------
    table : Table
        As its reader opened it.
    class_names : sequence of str, optional
        Those that the user gave; columns with these names are the classes.
    exclusive : bool
        Whether the classes are said to exclude each other and to be probabilities, so that rows of
        them sum to 1.
    """
    twice = repeated(table.names)
    if twice is not None:
        raise ValueError(
            f"{table.file} has two columns called {twice!r}; which of them is meant cannot be known"
        )
    if table.listed is None:
        kind, classes, names = _find_classes(table, class_names, exclusive)
    else:
        kind, classes, names = table.kind, [], table.class_names
    others = [name for name in table.names if name not in classes]
    labels = next(iter(columns_called(others, "y_true")), None)
    groups = next(iter(columns_called(others, "groups")), None)
    return Columns(kind, classes, names, labels, groups, columns_called(others, "member"))


def _find_classes(
    table: Table, class_names: Sequence[str] | None, exclusive: bool
) -> tuple[str, list[str], tuple[str, ...] | None]:
    """The kind of the numbers, their columns, and the names of the classes."""
    plain, suspects = [], []
    for name in table.names:
        if name in table.numeric and word_of(name) not in CERTAIN:
            suspicious = may_be_no_class(name, whole=True)
            if suspicious and (is_called_measurement(name) or table.is_whole(name)):
                suspects.append(name)
            else:
                plain.append(name)

    marked = {name: match for name in plain if (match := _PREFIX.fullmatch(name.strip()))}
    kinds = {_KINDS[match[1].lower()] for match in marked.values()}
    named = tuple(match[2] for match in marked.values())
    whole_table = len(marked) == len(plain) or set(named) == set(class_names or ())
    # "alpha_thalassemia" by itself is a class
    if len(kinds) == 1 and whole_table and (len(marked) > 1 or not kinds & {"alpha", "evidence"}):
        return kinds.pop(), list(marked), named

    classes = _choose_classes(table, plain, suspects, class_names, exclusive)
    if not classes:
        there = ", ".join(map(repr, table.names[:8])) or "none"
        raise ValueError(
            f"{table.file} must have a column of numbers for each class; it has {there}"
        )
    if len(classes) == 1 and classes[0] in _KINDS.values():
        raise TypeError(
            f"{table.file}: column {classes[0]!r} must hold lists of numbers; a table has a column "
            "for each class instead, with its name"
        )
    unmarked = [name for name in classes if name not in marked]
    if len(marked) > 1 and unmarked and not sums_to_one(table.sample(classes)):
        raise InputError(
            f"column {next(iter(marked))!r} says that it holds {' or '.join(sorted(kinds))}, "
            f"and column {unmarked[0]!r} does not",
            fix="name_classes",
            where=table.file,
            names=Pasted(named),
        )
    stripped = tuple(name.strip() for name in classes)
    return table.kind, classes, stripped if table.named else None


def _choose_classes(
    table: Table,
    plain: list[str],
    suspects: list[str],
    class_names: Sequence[str] | None,
    exclusive: bool,
) -> list[str]:
    """Which columns of numbers are the classes: those that the user names, or those whose rows sum
    to 1. ``suspects`` may be no classes, by their names.
    """
    by_name = {name.strip(): name for name in [*plain, *suspects]}
    if class_names is not None and set(class_names) <= set(by_name):
        wanted = {by_name[name] for name in class_names}
        return [name for name in table.names if name in wanted]
    if not plain:  # a score or confidence by itself is that of one class
        return [name for name in suspects if not table.is_whole(name)][:1]
    if not exclusive:
        return plain
    if len(plain) == 1:  # the probability of one class: a confidence beside it may be 1 minus that
        suspects = [name for name in suspects if not is_called_measurement(name)]
    for further in [[], *([name] for name in suspects), suspects]:
        tried = {*plain, *further}
        columns = [name for name in table.names if name in tried]
        if sums_to_one(table.sample(columns)):
            return columns
    _check_no_odd_column(table, plain)
    return plain


def _check_no_odd_column(table: Table, names: list[str]) -> None:
    """Refuse columns without which rows sum to 1: all that leave the range from 0 to 1, and at most
    two others.
    """
    values = table.sample(names)
    in_range = np.all((values >= 0) & (values <= 1), axis=0)  # not NaN either
    inside = np.flatnonzero(in_range).tolist()
    for number in range(3 if len(inside) <= _MANY_CLASSES else 2):
        for left_out in combinations(inside, number):
            classes = [k for k in inside if k not in left_out]
            if len(classes) < 2 or not sums_to_one(values[:, classes]):
                continue
            odd = [name for k, name in enumerate(names) if k not in classes]
            several = len(odd) > 1
            # rows sum to 1 with and without a column of zeros, which is hardly a class
            offered = [names[k] for k in classes if values[:, k].any()]
            raise InputError(
                f"column{'s' if several else ''} {listed(odd)} cannot be a class: rows sum to 1 "
                f"without {'them' if several else 'it'}, and not with",
                fix="name_classes",
                where=table.file,
                names=Pasted(offered),
            )
