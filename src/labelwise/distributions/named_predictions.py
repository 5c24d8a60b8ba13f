"""Predictions in data frames and labeled arrays as one array: members in the order of the first,
classes by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Names
from .._column_words import may_be_no_class
from .._errors import InputError, listed
from .._frames import (
    Labeled,
    distinct_names,
    has_names,
    is_positions,
    library_of_frame,
    order_of_names,
    read_frame,
    row_order,
    values_by_class,
)
from .._validation.labels import check_names

MEMBER_DIMS = ("member", "members", "model", "models")
CLASS_DIMS = ("class", "classes", "label", "labels")
"""What the axes of xarray are called where they need no number."""


class Input(NamedTuple):
    """Predictions without their names, and the names."""

    values: Any
    member_axis: int | None
    class_axis: int
    class_names: Any
    ids: Any
    """What the instances are called: an index of pandas, a tuple, or ``None``."""
    member_names: Names | None

    def weights(self, weights: Any) -> Any:
        """Weights of the members in their order, by name where both have names."""
        if self.member_names is None:
            return weights
        return values_by_class(weights, self.member_names, "weights")

    def names_of_members(self, wanted: Sequence[str] | None) -> Sequence[str] | None:
        """The names that members came with, or others ``wanted`` in their order."""
        own = self.member_names
        if wanted is None or own is None:
            return wanted or own
        if tuple(wanted) != own and sorted(map(str, wanted)) == sorted(own):
            raise InputError(
                f"`member_names` must be in the order of the members, {listed(own)}, or be left "
                f"out; got {listed(tuple(wanted))}"
            )
        return wanted


def read_names(
    given: Any,
    name: str,
    class_names: Any,
    *,
    member_axis: int | None = None,
    class_axis: int = -1,
    members: bool = True,
) -> Input:
    """Frames, a list or a mapping of them, or a labeled array as one array, with all parts in the
    order of the first; anything else as it is.

    ``class_names`` must be the names of the columns, if these have any, and their order is that of
    the result. Without them, a column that is called like an id is refused.
    """
    if type(given) is np.ndarray or not has_names(given):
        return Input(given, member_axis, class_axis, class_names, None, None)
    if type(given).__name__ == "Dataset" and library_of_frame(given) == "xarray":
        variables = dict(given.data_vars)
        given = next(iter(variables.values())) if len(variables) == 1 else variables
    member_names = None
    if isinstance(given, Mapping):
        if not given:
            raise InputError(f"`{name}` must hold at least one member; got an empty mapping")
        member_names = tuple(str(key) for key in given)
        given = list(given.values())
    if isinstance(given, list | tuple):
        if not has_names(given):
            return Input(given, member_axis, class_axis, class_names, None, member_names)
        frame = _stack_member_frames(given, name, class_axis, member_names)
    else:
        frame = read_frame(given, name)
    if members and member_axis is None:
        member_axis = _axis_of_predictions(frame.dims, MEMBER_DIMS)
        if member_axis is not None:
            labels = frame.labels[member_axis]
            if labels is not None and not is_positions(labels):
                member_names = tuple(map(str, labels))
    class_axis = _class_axis(frame.dims, class_axis)
    n_axes = frame.values.ndim
    if not -n_axes <= class_axis < n_axes:  # refused where axes are checked
        return Input(frame.values, member_axis, class_axis, class_names, None, member_names)

    columns = class_axis % n_axes
    taken = {columns, (member_axis or 0) % n_axes} if members else {columns}
    rows = [axis for axis in range(n_axes) if axis not in taken]
    ids = frame.labels[rows[0]] if len(rows) == 1 else None
    values = frame.values
    names = frame.labels[columns]
    if names is not None:
        names = distinct_names(names, f"the classes of `{name}`", fix="rename")
    if names is None or is_positions(names):
        names = class_names
    elif class_names is not None:
        wanted = check_names(class_names, len(class_names)) or ()
        order = order_of_names(names, wanted, f"`{name}`", fix="columns")
        values, names = np.take(values, order, axis=columns), wanted
    else:
        _refuse_ids_as_classes(np.moveaxis(values, columns, -1), names, name)
    return Input(values, member_axis, class_axis, names, ids, member_names)


def moved_last(given: Input) -> Any:
    """The values with members first, where a dimension says which axis they are on, and classes
    last.
    """
    if given.class_axis == -1 and not given.member_axis:
        return given.values
    if given.member_axis is None:
        return np.moveaxis(given.values, given.class_axis, -1)
    return np.moveaxis(given.values, (given.member_axis, given.class_axis), (0, -1))


def _axis_of_predictions(dims: Names | None, words: Sequence[str]) -> int | None:
    axes = [axis for axis, dim in enumerate(dims or ()) if dim.lower() in words]
    return axes[0] if len(axes) == 1 else None


def _class_axis(dims: Names | None, class_axis: int) -> int:
    """The axis of the classes: what a dimension says, if the caller says nothing."""
    named = _axis_of_predictions(dims, CLASS_DIMS)
    return class_axis if named is None or class_axis != -1 else named


def _stack_member_frames(
    parts: Sequence[Any], name: str, class_axis: int, member_names: Names | None
) -> Labeled:
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
    columns = _class_axis(first.dims, class_axis if class_axis < 0 else class_axis - 1)
    columns %= first.values.ndim
    members = []
    for title, part in zip(titles, parts, strict=True):
        if first.dims is not None and library_of_frame(part) == "xarray":
            part = part.transpose(*first.dims)  # which says so if dimensions differ
        x, labels, _ = read_frame(part, name)
        for axis, (wanted, given) in enumerate(zip(first.labels, labels, strict=False)):
            order = None
            if axis != columns:
                order = row_order(wanted, given, f"{titles[0]} of `{name}`", f"{title} of `{name}`")
            elif wanted is not None and given is not None:
                names_given = distinct_names(given, f"the classes of `{name}`", fix="rename")
                names_wanted = tuple(map(str, wanted))
                order = order_of_names(
                    names_given, names_wanted, f"{title} of `{name}`", fix="rename"
                )
            if order is not None:
                x = np.take(x, order, axis=axis)
        if x.shape != first.values.shape:
            raise InputError(
                f"the members of `{name}` must have the same shape; {titles[0]} has "
                f"{first.values.shape} and {title} {x.shape}"
            )
        members.append(x)
    dims = None if first.dims is None else ("member", *first.dims)
    # sums are added up in the order of memory, which pandas has by column
    return Labeled(np.ascontiguousarray(np.stack(members)), (None, *first.labels), dims)


def _refuse_ids_as_classes(values: np.ndarray, names: Sequence[str], name: str) -> None:
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
