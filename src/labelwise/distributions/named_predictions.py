"""Predictions in data frames as one array: members in the order of the first, classes by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arrays import check_names
from .._column_words import may_be_no_class
from .._errors import InputError
from .._frames import (
    Labeled,
    distinct_names,
    is_positions,
    library_of_frame,
    read_frame,
    row_order,
    values_by_class,
)
from .._suggestions import did_you_mean, listed


class Input(NamedTuple):
    """Predictions without their names, and the names."""

    values: Any
    member_axis: int | None
    class_axis: int
    class_names: Any
    ids: Any
    """What the instances are called: an index of pandas, a tuple, or ``None``."""
    member_names: tuple[str, ...] | None

    def weights(self, weights: Any) -> Any:
        """Weights of the members in their order, by name where both have names."""
        if self.member_names is None:
            return weights
        return values_by_class(weights, self.member_names, "weights")


def has_names(x: Any) -> bool:
    """Whether ``x`` is a frame, a list of them, or a mapping of named members."""
    if isinstance(x, list | tuple):
        return any(library_of_frame(part) is not None for part in x)
    if isinstance(x, Mapping):
        return all(hasattr(part, "shape") or isinstance(part, list | tuple) for part in x.values())
    return library_of_frame(x) is not None


def read_names(
    given: Any,
    name: str,
    class_names: Any,
    *,
    member_axis: int | None = None,
    class_axis: int = -1,
    members: bool = True,
    any_column: bool = False,
) -> Input:
    """Frames, or a list or a mapping of them, as one array (M, N, K) or (N, K), with all parts in
    the order of the first; anything else as it is.

    ``class_names`` must be the names of the columns, if these have any, and their order is that of
    the result. Without them, a column that is called like an id is refused, unless it is known that
    ``any_column`` is a class.
    """
    if type(given) is np.ndarray or not has_names(given):
        return Input(given, member_axis, class_axis, class_names, None, None)
    member_names = None
    if isinstance(given, Mapping):
        if not given:
            raise InputError(f"`{name}` must hold at least one member; got an empty mapping")
        member_names = tuple(str(key) for key in given)
        given = list(given.values())
    if isinstance(given, list | tuple):
        if not has_names(given):
            return Input(given, member_axis, class_axis, class_names, None, member_names)
        frame = _stack(given, name, member_names)
    else:
        frame = read_frame(given, name)
    values, labels = frame
    if class_axis not in (-1, values.ndim - 1):
        raise InputError(
            f"the classes of `{name}` are the columns of the frames; got {class_axis=}"
        )
    ids = labels[-2] if len(labels) == 3 or (len(labels) == 2 and not members) else None
    names = _class_labels(labels[-1], name)
    if names is None or is_positions(names):
        names = class_names
    elif class_names is not None:
        wanted = check_names(class_names, len(class_names)) or ()
        if sorted(wanted) != sorted(names):
            raise InputError(
                f"`class_names` must be the names that `{name}` has, in any order; got "
                f"{listed(wanted)} for {listed(names)}",
                fix="columns",
            )
        values = np.take(values, [names.index(word) for word in wanted], axis=-1)
        names = wanted
    elif not any_column:
        _check_columns(values, names, name)
    return Input(values, member_axis, -1, names, ids, member_names)


def _class_labels(labels: Any, name: str) -> tuple[str, ...] | None:
    return None if labels is None else distinct_names(labels, f"the classes of `{name}`")


def _stack(parts: Sequence[Any], name: str, member_names: tuple[str, ...] | None) -> Labeled:
    """The members as one array, each in the order of the first."""
    names = range(len(parts)) if member_names is None else member_names
    titles = [f"member {member!r}" for member in names]
    for title, part in zip(titles, parts, strict=True):
        if library_of_frame(part) is None:
            raise InputError(
                f"the members of `{name}` must all be frames with names, or all arrays "
                f"without; {title} is a {type(part).__name__}",
                fix="to_numpy",
            )
    first = read_frame(parts[0], name)
    members = []
    for title, part in zip(titles, parts, strict=True):
        x, labels = read_frame(part, name)
        for axis, (wanted, given) in enumerate(zip(first.labels, labels, strict=False)):
            if axis == first.values.ndim - 1:
                order: Any = _class_order(wanted, given, name, titles[0], title)
            else:
                owners = f"{titles[0]} of `{name}`", f"{title} of `{name}`"
                order = row_order(wanted, given, *owners)
            x = x if order is None else np.take(x, order, axis=axis)
        if x.shape != first.values.shape:
            raise InputError(
                f"the members of `{name}` must have the same shape; {titles[0]} has "
                f"{first.values.shape} and {title} {x.shape}"
            )
        members.append(x)
    # sums are added up in the order of memory, which pandas has by column
    return Labeled(np.ascontiguousarray(np.stack(members)), (None, *first.labels))


def _class_order(
    wanted_labels: Any, given_labels: Any, name: str, first: str, other: str
) -> list[int] | None:
    """Where in ``given`` the classes ``wanted`` are; ``None``: there already."""
    wanted, given = _class_labels(wanted_labels, name), _class_labels(given_labels, name)
    if wanted is None or given is None or wanted == given:
        return None
    for names, others, one, another in (
        (given, wanted, other, first),
        (wanted, given, first, other),
    ):
        alone = [word for word in names if word not in others]
        if alone:
            meant = did_you_mean(alone[0], others)
            raise InputError(
                f"the members of `{name}` must have the same classes; {one} has "
                f"{alone[0]!r}, {another} has not: {listed(others)}{meant}",
                fix=None if meant else "rename",
            )
    return [given.index(word) for word in wanted]


def _check_columns(values: np.ndarray, names: Sequence[str], name: str) -> None:
    """Refuse a column (..., K) that is called like an id, a fold or a confidence, unless it is
    needed for rows that sum to 1.
    """
    if values.dtype.kind not in "biuf" or not values.size:
        return
    suspects = []
    for k, word in enumerate(names):
        if may_be_no_class(word, whole=True):
            column = values[..., k]
            if may_be_no_class(word, whole=bool(np.all(column == np.floor(column)))):
                suspects.append(k)
    if not suspects:
        return
    sums = values.sum(axis=-1, dtype=float)
    others = sums - values[..., suspects].sum(axis=-1, dtype=float)
    # 1e-2: also rounded probabilities; a column of zeros, such as a fold, is not needed
    if np.all(np.abs(sums - 1) <= 1e-2) and np.any(np.abs(others - 1) > 1e-9):
        return
    raise InputError(
        f"`{name}` has a column {names[suspects[0]]!r}, which by its name is no class",
        fix="no_class",
        column=names[suspects[0]],
    )
