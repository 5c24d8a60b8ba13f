"""Data frames and labeled arrays as input: pandas, polars and xarray, none of which is imported
here.

One rule: names win over positions. Columns are matched by class name and rows by index, in the
order of what came first; what does not fit is refused. Row numbers, 0 to N − 1, are no names: where
one side has nothing else, rows are matched by position, and a warning says so. Arrays have no names
and are matched by position; a warning says so where a series with an index that is no whole numbers
is matched to predictions or scores without.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ._column_words import may_be_no_class
from ._errors import InputError
from ._suggestions import did_you_mean

KINDS = {
    "pandas": ("DataFrame", "Series"),
    "polars": ("DataFrame", "Series"),
    "xarray": ("DataArray", "Dataset"),
}
"""What has names, by library."""
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
    member_names: tuple[str, ...] | None

    def weights(self, weights: Any) -> Any:
        """Weights of the members in their order, by name where both have names."""
        return (
            weights
            if self.member_names is None
            else values_by_class(weights, self.member_names, "weights")
        )


class _Labeled(NamedTuple):
    """An array and, for each of its axes, what its positions are called (``None``: nothing)."""

    values: np.ndarray
    labels: tuple[Any, ...]
    dims: tuple[str, ...] | None = None


def library_of_frame(x: Any) -> str | None:
    """ "pandas", "polars" or "xarray" if ``x`` is one of their frames, series or labeled arrays."""
    for kind in type(x).__mro__:
        library = kind.__module__.partition(".")[0]
        if kind.__name__ in KINDS.get(library, ()):
            return library
    return None


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
    """Frames, a list or a mapping of them, or a labeled array as one array, with all parts in the
    order of the first.

    ``class_names`` must be the names of the columns, if these have any, and their order is that of
    the result. Without them, a column that is called like an id is refused, unless it is known that
    ``any_column`` is a class.
    """
    member_names: tuple[str, ...] | None = None
    given_names = class_names
    if type(given).__name__ == "Dataset" and library_of_frame(given) == "xarray":
        variables = dict(given.data_vars)
        given = next(iter(variables.values())) if len(variables) == 1 else variables
    if isinstance(given, Mapping):
        if not given:
            raise InputError(f"`{name}` must hold at least one member; got an empty mapping")
        member_names = tuple(str(key) for key in given)
        given = list(given.values())
    if isinstance(given, list | tuple):
        if not has_names(given):
            return Input(given, member_axis, class_axis, class_names, None, member_names)
        table = _stack(given, name, class_axis, member_names)
    else:
        table = _read(given, name)
    if table.dims is not None:
        if members and member_axis is None:
            member_axis = _named_axis(table.dims, MEMBER_DIMS)
        if class_axis == -1:
            named = _named_axis(table.dims, CLASS_DIMS)
            class_axis = -1 if named is None else named
    n_axes = table.values.ndim
    if not -n_axes <= class_axis < n_axes:  # refused where axes are checked
        return Input(table.values, member_axis, class_axis, class_names, None, member_names)
    columns = class_axis % n_axes
    taken = {columns}
    if members:
        taken.add(0 if member_axis is None else member_axis % n_axes)
    rows = [axis for axis in range(n_axes) if axis not in taken]
    ids = table.labels[rows[0]] if len(rows) == 1 else None
    values, class_names = _in_class_order(
        table.values, table.labels[columns], columns, name, class_names
    )
    if given_names is None and class_names is not None and not any_column:
        _check_columns(np.moveaxis(values, columns, -1), class_names, name)
    return Input(values, member_axis, class_axis, class_names, ids, member_names)


def moved_last(given: Input) -> Any:
    """The values with members first, where a dimension says which axis they are on, and classes
    last.
    """
    if not isinstance(given.values, np.ndarray):
        return given.values
    if given.member_axis is None:
        return np.moveaxis(given.values, given.class_axis, -1)
    return np.moveaxis(given.values, (given.member_axis, given.class_axis), (0, -1))


def _named_axis(dims: tuple[str, ...], words: Sequence[str]) -> int | None:
    axes = [axis for axis, dim in enumerate(dims) if str(dim).lower() in words]
    return axes[0] if len(axes) == 1 else None


def _read(x: Any, name: str) -> _Labeled:
    """The values of one frame with the labels of its axes."""
    library = library_of_frame(x)
    if library == "xarray":
        labels = tuple(x.indexes.get(dim) for dim in x.dims)
        return _Labeled(np.asarray(x.values), labels, tuple(map(str, x.dims)))
    if type(x).__name__ == "Series" or not hasattr(x, "columns"):
        return _Labeled(np.asarray(x), (x.index if library == "pandas" else None,))
    rows: Any = x.index if library == "pandas" else None
    _distinct(x.columns, f"the columns of `{name}`")
    text = _text_column(x)
    if text is not None:  # a column of different words says what the rows are
        rows = tuple(x[text].to_list())
        x = x.drop(columns=text) if library == "pandas" else x.drop(text)
    return _Labeled(np.asarray(x.to_numpy()), (rows, tuple(str(column) for column in x.columns)))


def named_axes(x: Any, name: str) -> tuple[np.ndarray, tuple[tuple[str, ...] | None, ...]]:
    """The values of a frame, and for each axis what its positions are called; ``None`` for numbers
    from 0.
    """
    table = _read(x, name)
    what = f"each axis of `{name}`"
    return table.values, tuple(
        None if each is None or is_positions(each) else _distinct(each, what)
        for each in table.labels
    )


def _text_column(x: Any) -> Any:
    """The only column that is no numbers, if its values are different words."""
    other = [column for column in x.columns if not _is_numeric(x[column])]
    if len(other) != 1:
        return None
    words = x[other[0]].to_list()
    return (
        other[0]
        if len(set(words)) == len(words) and all(isinstance(word, str) for word in words)
        else None
    )


def _is_numeric(column: Any) -> bool:
    if hasattr(column.dtype, "is_numeric"):  # polars
        return bool(column.dtype.is_numeric())
    return getattr(column.dtype, "kind", "O") in "biufc"


def _distinct(labels: Any, what: str) -> tuple[str, ...]:
    """Labels as different names."""
    names = tuple(str(label) for label in labels)
    if len(set(names)) < len(names):
        twice = next(word for word in names if names.count(word) > 1)
        raise InputError(f"{what} must have different names; got {twice!r} twice", fix="rename")
    return names


def _stack(
    parts: Sequence[Any], name: str, class_axis: int, member_names: tuple[str, ...] | None
) -> _Labeled:
    """The members as one array, each in the order of the first."""
    titles = [
        f"member {i}" if member_names is None else f"member {member_names[i]!r}"
        for i in range(len(parts))
    ]
    for title, part in zip(titles, parts, strict=True):
        if library_of_frame(part) is None:
            raise InputError(
                (
                    f"the members of `{name}` must all be frames with names, or all arrays "
                    f"without; {title} is a {type(part).__name__}"
                ),
                fix="to_numpy",
            )
    tables = [_read(part, name) for part in parts]
    first = tables[0]
    values = []
    columns = class_axis % (first.values.ndim + 1) - 1
    if first.dims is not None and class_axis == -1:
        named = _named_axis(first.dims, CLASS_DIMS)
        columns = columns if named is None else named
    for title, table in zip(titles, tables, strict=True):
        if table.dims is not None and first.dims is not None and table.dims != first.dims:
            if set(table.dims) != set(first.dims):
                raise InputError(
                    f"the members of `{name}` must have the same dimensions; {titles[0]} has "
                    f"{first.dims} and {title} {table.dims}"
                )
            order = [table.dims.index(dim) for dim in first.dims]
            table = _Labeled(
                table.values.transpose(order), tuple(table.labels[i] for i in order), first.dims
            )
        x = table.values
        if x.ndim != first.values.ndim:
            raise InputError(
                f"the members of `{name}` must have the same number of axes; {titles[0]} has shape "
                f"{first.values.shape} and {title} {x.shape}"
            )
        for axis in range(x.ndim):
            if axis == columns:
                wanted, labels = (
                    _class_labels(first.labels[axis], name),
                    _class_labels(table.labels[axis], name),
                )
                order = _class_order(wanted, labels, name, titles[0], title)
            else:
                order = row_order(
                    first.labels[axis],
                    table.labels[axis],
                    f"{titles[0]} of `{name}`",
                    f"{title} of `{name}`",
                )
            x = x if order is None else np.take(x, order, axis=axis)
        if x.shape != first.values.shape:
            raise InputError(
                f"the members of `{name}` must have the same shape; {titles[0]} has "
                f"{first.values.shape} and {title} {x.shape}"
            )
        values.append(x)
    dims = None if first.dims is None else ("member", *first.dims)
    return _Labeled(np.ascontiguousarray(np.stack(values)), (None, *first.labels), dims)


def _class_labels(labels: Any, name: str) -> tuple[str, ...] | None:
    return None if labels is None else _distinct(labels, f"the classes of `{name}`")


def _class_order(
    wanted: tuple[str, ...] | None, given: tuple[str, ...] | None, name: str, first: str, other: str
) -> Any:
    """Where in ``given`` the classes ``wanted`` are; ``None``: there already."""
    if wanted == given or wanted is None or given is None:
        return None
    only_given = [word for word in given if word not in wanted]
    only_wanted = [word for word in wanted if word not in given]
    if only_given or only_wanted:
        if not only_given:
            only_given, wanted, first, other = only_wanted, given, other, first
        meant = did_you_mean(only_given[0], wanted)
        raise InputError(
            (
                f"the members of `{name}` must have the same classes; {other} has "
                f"{only_given[0]!r}, {first} has not: {_listed(wanted)}{meant}"
            ),
            fix=None if meant else "rename",
        )
    return [given.index(word) for word in wanted]


def _in_class_order(
    values: np.ndarray, labels: Any, axis: int, name: str, class_names: Any
) -> tuple[np.ndarray, Any]:
    """The values with their classes in the order of ``class_names``, and the names."""
    names = _class_labels(labels, name)
    if names is None or is_positions(names):
        return values, class_names
    if class_names is None:
        return values, names
    wanted = tuple(
        str(word)
        for word in (class_names.values() if isinstance(class_names, Mapping) else class_names)
    )
    if sorted(wanted) != sorted(names):
        raise InputError(
            (
                f"`class_names` must be the names that `{name}` has, in any order; got "
                f"{_listed(wanted)} for {_listed(names)}"
            ),
            fix="columns",
        )
    return np.take(values, [names.index(word) for word in wanted], axis=axis), wanted


def _check_columns(values: np.ndarray, names: tuple[str, ...], name: str) -> None:
    """Refuse a column (..., K) that is called like an id, a fold or a confidence, unless it is
    needed for rows that sum to 1.
    """
    if values.dtype.kind not in "biuf" or not values.size:
        return
    suspects = [
        k
        for k, word in enumerate(names)
        if may_be_no_class(word, partial(_is_whole, values[..., k]))
    ]
    if not suspects:
        return
    sums = values.sum(axis=-1, dtype=float)
    others = sums - values[..., suspects].sum(axis=-1, dtype=float)
    # 1e-2: also rounded probabilities; a column of zeros, such as a fold, is not needed
    if np.all(np.abs(sums - 1) <= 1e-2) and np.any(np.abs(others - 1) > 1e-9):
        return
    column = names[suspects[0]]
    raise InputError(
        f"`{name}` has a column {column!r}, which by its name is no class",
        fix="no_class",
        column=column,
    )


def _is_whole(values: np.ndarray) -> bool:
    return bool(np.all(values == np.floor(values)))


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")


def is_positions(labels: Any) -> bool:
    """Whether labels are only numbers from 0, as an index is by default."""
    if type(labels).__name__ == "RangeIndex":
        return bool(labels.start == 0 and labels.step == 1)
    if isinstance(labels, tuple):
        return labels == tuple(str(i) for i in range(len(labels)))
    return getattr(getattr(labels, "dtype", None), "kind", "O") in "iu" and np.array_equal(
        np.asarray(labels), np.arange(len(labels))
    )


def row_labels(x: Any) -> Any:
    """The index of the rows of a frame, a series or a labeled array; ``None`` where it has none."""
    library = library_of_frame(x)
    if library == "pandas":
        return x.index
    if library == "xarray" and getattr(x, "dims", None):
        return x.indexes.get(x.dims[0])
    return None


def row_order(wanted: Any, given: Any, first: str, other: str) -> Any:
    """Where in ``given`` the rows ``wanted`` are; ``None``: there already, or there are only
    positions.
    """
    if wanted is None or given is None or _same(wanted, given):
        return None
    order = _places(wanted, given)
    if order is not None:
        return order
    if is_positions(wanted) or is_positions(given):
        by_number, named = (first, other) if is_positions(wanted) else (other, first)
        warnings.warn(
            (
                f"The rows of {other} are matched to those of {first} by position: {named} has an "
                f"index, {by_number} only row numbers"
            ),
            stacklevel=4,
        )
        return None
    for labels, who in ((wanted, first), (given, other)):
        twice = _repeated(labels)
        if twice is not None:
            raise InputError(
                (
                    f"the rows of {other} and {first} are in another order and cannot be matched: "
                    f"{who} has {twice!r} twice in its index"
                ),
                fix="unique_index",
            )
    known = set(wanted)
    missing = next((label for label in given if label not in known), None)
    if missing is None:
        known = set(given)
        missing = next(label for label in wanted if label not in known)
        first, other = other, first
    raise InputError(
        f"{other} and {first} must have the same rows; {missing!r} is in the index of {other} alone",  # noqa: E501
        fix="same_index",
    )


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if hasattr(a, "equals") and hasattr(b, "equals"):
        return bool(a.equals(b))
    return len(a) == len(b) and list(a) == list(b)


def _places(wanted: Any, given: Any) -> np.ndarray | None:
    """The position of each of ``wanted`` in ``given``, if both have the same labels, each once."""
    if len(wanted) != len(given):
        return None
    place = {label: i for i, label in enumerate(given)}
    if len(place) < len(given):
        return None
    found = np.asarray([place.get(label, -1) for label in wanted], dtype=np.intp)
    return found if len(np.unique(found)) == len(given) and found.min(initial=0) >= 0 else None


def _repeated(labels: Any) -> Any:
    seen = set()
    for label in labels:
        if label in seen:
            return label
        seen.add(label)
    return None


def ids_at(ids: Any, index: Any) -> Any:
    """The ids of some instances; ``None`` where there are none, or where one instance is left."""
    if ids is None:
        return None
    (where,) = index if isinstance(index, tuple) else (index,)
    if not isinstance(where, slice):
        where = np.asarray(where)
        if not where.ndim:
            return None
    if hasattr(ids, "take"):
        return ids[where]
    return tuple(np.asarray(ids, dtype=object)[where].tolist())


def same_rows(owner: Any = None, /, **given: Any) -> tuple[Any, ...]:
    """``given`` with their rows in one order: that of the ``ids`` of ``owner``, else of the first
    that has an index.

    >>> same_rows(score=[1, 2], correct=[True, False])
    ([1, 2], [True, False])
    """
    ids = getattr(owner, "ids", None) if library_of_frame(owner) is None else row_labels(owner)
    first = "the predictions"
    nameless = first if owner is not None and ids is None else None
    result = []
    for name, x in given.items():
        labels = None if x is None else row_labels(x)
        if labels is not None and ids is None:
            ids, first = labels, f"`{name}`"
            if (
                nameless is not None and labels.dtype.kind not in "iu"
            ):  # whole numbers are often left over from a split
                warnings.warn(
                    f"The rows of `{name}` are matched to those of {nameless} by position: "
                    f"`{name}` has an index, {nameless} none. "
                    "Give both an index, or leave it out: .to_numpy()",
                    stacklevel=3,
                )
        elif labels is not None:
            order = row_order(ids, labels, first, f"`{name}`")
            x = x if order is None else _take_rows(x, order)
        elif x is not None and ids is None and nameless is None:
            nameless = f"`{name}`"
        if labels is not None and nameless is not None:
            x = _numbered(x)  # said once
        result.append(x)
    return tuple(result)


def _numbered(x: Any) -> Any:
    """``x`` with row numbers instead of its index."""
    return (
        x.reset_index(drop=True)
        if hasattr(x, "reset_index") and hasattr(x, "iloc")
        else x.drop_vars(x.dims[0])
    )


def _take_rows(x: Any, order: np.ndarray) -> Any:
    return x.iloc[order] if hasattr(x, "iloc") else x.isel({x.dims[0]: order})


def columns_by_class(x: Any, names: Sequence[str], name: str) -> Any:
    """A frame (..., K) with its columns in the order of ``names``; anything else, and columns
    without names, as it is.
    """
    if library_of_frame(x) is None or len(x.shape) < 2 or x.shape[-1] != len(names):
        return x
    table = _read(x, name)
    labels = _class_labels(table.labels[-1], name)
    if labels is None or is_positions(labels):
        return x
    _check_same_names(labels, tuple(names), name)
    return np.take(table.values, [labels.index(word) for word in names], axis=-1)


def values_by_class(x: Any, names: Sequence[str], name: str) -> Any:
    """The values of a mapping or a series from class names, in the order of ``names``; anything
    else as it is.
    """
    if (
        library_of_frame(x) == "pandas"
        and type(x).__name__ == "Series"
        and not is_positions(x.index)
    ):
        x = dict(zip(_distinct(x.index, f"the index of `{name}`"), x.tolist(), strict=True))
    if not isinstance(x, Mapping):
        return x
    given = {str(key): value for key, value in x.items()}
    _check_same_names(tuple(given), tuple(names), name)
    return [given[word] for word in names]


def _check_same_names(given: tuple[str, ...], names: tuple[str, ...], name: str) -> None:
    for word in given:
        if word not in names:
            raise InputError(
                f"`{name}` names {word!r}, which is not among "
                f"{_listed(names)}{did_you_mean(word, names)}"
            )
    missing = [word for word in names if word not in given]
    if missing:
        raise InputError(f"`{name}` must have a value for each name; missing: {_listed(missing)}")
