"""Which column of a table is what: the classes, the labels, the groups, and what tells members
apart. Ids are found in `ids`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .._column_words import (
    CERTAIN,
    columns_called,
    is_called_measurement,
    may_be_no_class,
    word_of,
)
from .._frames import repeated
from .._suggestions import listed
from .table import Table

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
    further: Sequence[str] = ()
    """Columns that belong to the member if ids are repeated within it, such as its prompt."""

    @property
    def taken(self) -> set[str | None]:
        """All of them."""
        return {*self.classes, self.labels, self.groups, *self.members}


def find_columns(table: Table, class_names: Sequence[str] | None) -> Columns:
    """The classes, labels, groups and members of one table; columns with the ``class_names`` that
    the user gave are the classes.
    """
    twice = repeated(table.names)
    if twice is not None:
        raise ValueError(
            f"{table.file} has two columns called {twice!r}; which of them is meant cannot be known"
        )
    kind, classes, names = table.kind, list[str](), table.class_names
    if table.listed is None:
        kind, classes, names = _find_classes(table, class_names)
    others = [name for name in table.names if name not in classes]
    labels = next(iter(columns_called(others, "y_true")), None)
    groups = next(iter(columns_called(others, "groups")), None)
    members, further = columns_called(others, "member"), columns_called(others, "further")
    return Columns(kind, classes, names, labels, groups, members, further)


def _find_classes(
    table: Table, class_names: Sequence[str] | None
) -> tuple[str, list[str], tuple[str, ...]]:
    """The kind of the numbers, their columns, and the names of the classes."""
    numbers = [name for name in table.names if name in table.numeric]
    by_name = {name.strip(): name for name in numbers}
    classes = [name for name in numbers if not _is_no_class(table, name)]
    if class_names is not None and set(class_names) <= set(by_name):
        wanted = {by_name[name] for name in class_names}
        classes = [name for name in numbers if name in wanted]

    marked = [_PREFIX.fullmatch(name.strip()) for name in classes]
    kinds = {_KINDS[match[1].lower()] for match in marked if match}
    # "alpha_thalassemia" by itself is a class
    if len(kinds) == 1 and all(marked) and (len(marked) > 1 or not kinds & {"alpha", "evidence"}):
        return kinds.pop(), classes, tuple(match[2] for match in marked if match)
    plain = [name for name, match in zip(classes, marked, strict=True) if not match]
    if kinds and plain and len(plain) + 1 < len(classes):
        raise ValueError(
            f"{table.file}: some columns say that they hold {' or '.join(sorted(kinds))}, and "
            f"{plain[0]!r} does not; name all alike, or leave it out"
        )
    if not classes:
        raise ValueError(
            f"{table.file} must have a column of numbers for each class; it has "
            f"{listed(table.names, 8) or 'none'}"
        )
    return table.kind, classes, tuple(name.strip() for name in classes)


def _is_no_class(table: Table, name: str) -> bool:
    """Whether a column of numbers is an id, a label, or beside the classes, by its name; whole
    numbers tell a class called "target" from labels.
    """
    if word_of(name) in CERTAIN or is_called_measurement(name):
        return True
    return may_be_no_class(name, whole=True) and table.is_whole(name)
