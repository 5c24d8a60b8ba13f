"""Which column of a table is what: the classes, the labels, the groups, and what tells members
apart. Ids are found in `ids`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._column_words import (
    CERTAIN,
    column_word,
    columns_called,
    is_called_measurement,
    may_be_no_class,
)
from .._errors import InputError, listed
from .predictions import KINDS
from .table import Table

# Only a real separator makes a prefix: "alpha thalassemia" is a class.
_PREFIXES = {kind: re.compile(rf"{kind.rstrip('s')}s?[._:](.+)", re.IGNORECASE) for kind in KINDS}
_SAMPLE = 1000  # rows that show whether probabilities sum to 1


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
    columns = Columns(table.kind, [], None)
    if table.listed is None:
        columns = _find_classes(table, class_names)
    others = [name for name in table.names if name not in columns.classes]
    return replace(
        columns,
        labels=next(iter(columns_called(others, "y_true")), None),
        groups=next(iter(columns_called(others, "groups")), None),
        members=columns_called(others, "member"),
        further=columns_called(others, "further"),
    )


def _find_classes(table: Table, class_names: Sequence[str] | None) -> Columns:
    """The columns of the classes, what their numbers are, and the names of the classes."""
    numbers = {name.strip(): name for name in table.names if name in table.numeric}
    if class_names is not None and set(class_names) <= set(numbers):
        chosen = [name for name in numbers if name in class_names]
        return Columns(table.kind, [numbers[name] for name in chosen], tuple(chosen))
    classes = class_columns(table)
    if not classes:
        raise ValueError(
            f"{table.file} must have a column of numbers for each class; it has "
            f"{listed(table.names, 8) or 'none'}"
        )
    for kind, prefix in _PREFIXES.items():
        marked = [prefix.fullmatch(name.strip()) for name in classes]
        if all(marked) and len(marked) > 1:
            return Columns(kind, classes, tuple(match[1] for match in marked if match))
    _check_sums(table, classes, list(numbers.values()))
    names = [name.strip() for name in classes]
    if set(names) == set(map(str, range(len(names)))):  # positions, which name nothing
        return Columns(table.kind, sorted(classes, key=int), None)
    return Columns(table.kind, classes, tuple(names))


def class_columns(table: Table) -> list[str]:
    """The columns of numbers that are not called like something else."""
    classes = []
    for name in table.names:
        if name not in table.numeric or column_word(name) in CERTAIN or is_called_measurement(name):
            continue
        # whole numbers tell labels from a class called "target"
        if not (may_be_no_class(name, whole=True) and table.is_whole(name)):
            classes.append(name)
    return classes


def _check_sums(table: Table, classes: list[str], numbers: Sequence[str]) -> None:
    """Refuse classes that the rows contradict: probabilities sum to 1 only with a column that is
    called like something else, or only without one that is taken for a class.
    """
    sums = np.sum(table.numbers(classes)[:_SAMPLE], axis=-1)
    if len(sums) < 2 or _sum_to_one(sums):
        return
    for name in numbers:
        # beside the probability of one class, a confidence may be that of the other
        if column_word(name) in CERTAIN or (len(classes) == 1 and is_called_measurement(name)):
            continue
        try:
            column = np.asarray(table.numbers([name])[:_SAMPLE])[:, 0]
        except ValueError:  # with missing values: no class
            continue
        if name in classes:
            where, changed_sums = "without", sums - column
        else:
            where, changed_sums = "with", sums + column
        if _sum_to_one(changed_sums):
            names = [other for other in numbers if (other in classes) != (other == name)]
            raise InputError(
                f"rows sum to 1 only {where} column {name!r}, so that its name misleads",
                fix="name_classes",
                where=table.file,
                names=",".join(names),
            )


def _sum_to_one(sums: np.ndarray) -> bool:
    return np.allclose(sums, 1, rtol=0, atol=0.02)
