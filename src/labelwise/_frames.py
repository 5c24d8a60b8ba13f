"""Data frames and labeled arrays of pandas, polars and xarray: as input, and as results. None of
these libraries is imported before a result asks for it.

One rule: names win over positions. Columns are matched by class name and rows by index, in the
order of what came first; what does not fit is refused. Row numbers, 0 to N − 1, are no names: where
one side has nothing else, rows are matched by position, and a warning says so. Arrays have no names
and are matched by position; a warning says so where a series with an index that is no whole numbers
is matched to predictions or scores without.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ._arrays import Names, Shape, to_numpy
from ._errors import InputError, did_you_mean, listed
from ._lazy import imported

Library = Literal["pandas", "polars"]
LIBRARIES = ("pandas", "polars")
Columns: TypeAlias = dict[str, np.ndarray]
"""The columns of a table by their names."""
KINDS = {
    "pandas": ("DataFrame", "Series"),
    "polars": ("DataFrame", "Series"),
    "xarray": ("DataArray", "Dataset"),
}
"""What has names, by library."""


class Labeled(NamedTuple):
    """An array and, for each of its axes, what its positions are called (``None``: nothing)."""

    values: np.ndarray
    labels: tuple[Any, ...]
    dims: Names | None = None


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


def read_frame(x: Any, name: str) -> Labeled:
    """The values of one frame, series or labeled array, with the labels of its axes."""
    library = library_of_frame(x)
    if library == "xarray":
        labels = tuple(map(x.indexes.get, x.dims))
        return Labeled(x.values, labels, tuple(map(str, x.dims)))
    rows = x.index if library == "pandas" else None
    if len(x.shape) == 1:
        return Labeled(np.asarray(x), (rows,))
    distinct_names(x.columns, f"the columns of `{name}`", fix="rename")
    texts = [column for column in x.columns if not _is_numeric_column(x[column])]
    if len(texts) == 1:
        words = x[texts[0]].to_list()
        if set(map(type, words)) == {str} and len(set(words)) == len(words):
            rows = tuple(words)  # a column of different words says what the rows are
            x = x[[column for column in x.columns if column != texts[0]]]
    return Labeled(x.to_numpy(), (rows, tuple(map(str, x.columns))))


def _is_numeric_column(column: Any) -> bool:
    if hasattr(column.dtype, "is_numeric"):  # polars
        return column.dtype.is_numeric()
    return getattr(column.dtype, "kind", "O") in "biufc"


# --- names


def distinct_names(labels: Any, what: str, fix: str | None = None) -> Names:
    """Labels as different names."""
    names = tuple(map(str, labels))
    twice = repeated(names)
    if twice is not None:
        raise InputError(f"{what} must have different names; got {twice!r} twice", fix=fix)
    return names


def repeated(labels: Any) -> Any:
    """The first label that is there more than once; ``None`` if there is none."""
    return next((label for label, count in Counter(labels).items() if count > 1), None)


def is_positions(labels: Any) -> bool:
    """Whether labels are only numbers from 0, as an index is by default."""
    if isinstance(labels, tuple):
        return labels == tuple(map(str, range(len(labels))))
    labels = np.asarray(labels)
    return labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels)))


def named_axes(x: Any, name: str) -> tuple[np.ndarray, tuple[tuple[str, ...] | None, ...]]:
    """The values of a frame, and for each axis what its positions are called; ``None`` for numbers
    from 0.
    """
    frame = read_frame(x, name)
    return frame.values, tuple(_names_of_axis(labels, name) for labels in frame.labels)


def _names_of_axis(labels: Any, name: str) -> Names | None:
    if labels is None or is_positions(labels):
        return None
    return distinct_names(labels, f"each axis of `{name}`", fix="rename")


def names_by_position(names: Mapping[Any, Any]) -> Names | None:
    """The names of ``id2label`` of Hugging Face, or of its inverse ``label2id``, in the order of
    their positions, which JSON has as text; ``None`` if some position has no name.
    """
    positions = list(map(str, range(len(names))))
    keys, values = list(map(str, names)), list(map(str, names.values()))
    for here, there in ((keys, values), (values, keys)):
        if sorted(here) == sorted(positions):
            return tuple(there[here.index(position)] for position in positions)
    return None


def columns_by_class(x: Any, names: Sequence[str], name: str) -> Any:
    """A frame (..., K) with its columns in the order of ``names``; anything else, and columns
    without names, as it is.
    """
    if library_of_frame(x) is None or len(x.shape) < 2 or x.shape[-1] != len(names):
        return x
    values, labels, _ = read_frame(x, name)
    columns = _names_of_axis(labels[-1], name)
    if columns is None:
        return x
    return np.take(values, order_of_names(columns, names, f"`{name}`"), axis=-1)


def series_as_mapping(x: Any, name: str) -> Any:
    """A series as a mapping from the names in its index, or its values if it has none; anything
    else as it is.
    """
    if library_of_frame(x) is None or len(x.shape) != 1:
        return x
    values, (names,) = named_axes(x, name)
    if names is None:
        return values
    return dict(zip(names, values.tolist(), strict=True))


def values_by_class(x: Any, names: Sequence[str], name: str) -> Any:
    """The values of a mapping or a series from class names, in the order of ``names``; anything
    else as it is.
    """
    x = series_as_mapping(x, name)
    if not isinstance(x, Mapping):
        return x
    values = list(x.values())
    order = order_of_names(list(map(str, x)), names, f"`{name}`")
    return [values[i] for i in order]


def order_of_names(
    given: Sequence[str], names: Sequence[str], what: str, fix: str | None = None
) -> list[int]:
    """Where each of ``names`` is among those that are given, if these are the same; ``what`` has
    those that are given.
    """
    for word in given:
        if word not in names:
            meant = did_you_mean(word, names)
            raise InputError(
                f"{what} names {word!r}, which is not among {listed(names)}{meant}",
                fix=None if meant else fix,
            )
    missing = [word for word in names if word not in given]
    if missing:
        raise InputError(
            f"{what} must have a value for each name; missing: {listed(missing)}", fix=fix
        )
    return list(map(given.index, names))


# --- rows


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
    if wanted is None or given is None:
        return None
    if hasattr(wanted, "equals") and wanted.equals(given):
        return None
    positions = [who for labels, who in ((wanted, first), (given, other)) if is_positions(labels)]
    # one label of an index after another takes far longer
    if not isinstance(wanted, tuple):
        wanted = tuple(wanted.tolist())
    if not isinstance(given, tuple):
        given = tuple(given.tolist())
    if wanted == given:
        return None
    place = dict(zip(given, range(len(given)), strict=True))
    if len(place) == len(given) == len(wanted) and place.keys() == set(wanted):
        return np.asarray([place[label] for label in wanted])
    if positions:
        warnings.warn(
            f"The rows of {other} are matched to those of {first} by position: {positions[0]} has "
            "only row numbers",
            stacklevel=4,
        )
        return None
    for labels, who in ((wanted, first), (given, other)):
        twice = repeated(labels)
        if twice is not None:
            raise InputError(
                f"the rows of {other} and {first} are in another order and cannot be matched: "
                f"{who} has {twice!r} twice in its index",
                fix="unique_index",
            )
    shared = set(given).intersection(wanted)
    alone = next(label for label in (*given, *wanted) if label not in shared)
    raise InputError(
        f"{first} and {other} must have the same rows; {alone!r} is in the index of only one",
        fix="same_index",
    )


def ids_at(ids: Any, index: Any) -> Any:
    """The ids of some instances; ``None`` where there are none, or where one instance is left."""
    if ids is None:
        return None
    where = index
    if isinstance(index, tuple):
        (where,) = index
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
    ids = row_labels(owner)
    if library_of_frame(owner) is None:
        ids = getattr(owner, "ids", None)
    first = "the predictions"
    nameless = None  # what has no index, if it came first
    if owner is not None and ids is None:
        nameless = first
    result = []
    for name, x in given.items():
        labels = row_labels(x)
        if labels is None:
            if x is not None and ids is None and nameless is None:
                nameless = f"`{name}`"
        elif ids is None:
            ids, first = labels, f"`{name}`"
            # whole numbers are often left over from a split
            if nameless is not None and labels.dtype.kind not in "iu":
                warnings.warn(
                    f"The rows of `{name}` are matched to those of {nameless} by position: "
                    f"`{name}` has an index, {nameless} none. "
                    "Give both an index, or leave it out: .to_numpy()",
                    stacklevel=3,
                )
        else:
            order = row_order(ids, labels, first, f"`{name}`")
            if order is not None:
                x = x.iloc[order] if hasattr(x, "iloc") else x.isel({x.dims[0]: order})
        if labels is not None and nameless is not None:  # row numbers instead, for it is said
            x = x.reset_index(drop=True) if hasattr(x, "iloc") else x.drop_vars(x.dims[0])
        result.append(x)
    return tuple(result)


# --- results


def import_xarray() -> Any:
    """xarray, where a result asks for it."""
    return imported("xarray", "this table needs xarray", "tables")


def frame(columns: Mapping[str, Any], library: str = "pandas", index: Any = None) -> Any:
    """Columns of equal length as a data frame of ``library``; NaN is a missing value. Only pandas
    has an ``index``.
    """
    if library not in LIBRARIES:
        meant = did_you_mean(library, LIBRARIES)
        raise InputError(f"`library` must be 'pandas' or 'polars'; got {library!r}{meant}")
    module = imported(library, f"this table needs {library}", "tables")
    table = {}
    for name, values in columns.items():
        column = np.asarray(values)
        if column.dtype.kind in "OUST":  # text as Python's strings
            column = column.tolist()
        table[name] = column
    if library == "pandas":
        return module.DataFrame(table, index=index)
    return module.DataFrame(table, nan_to_null=True)


def instance_frame(
    columns: Mapping[str, Any],
    shape: Shape,
    library: str,
    *,
    ids: Any = None,
    known: Any = None,
    where: np.ndarray | None = None,
    repeat: int = 1,
) -> Any:
    """A data frame with ``repeat`` rows for each instance, or a row for each at ``where``, numbered
    from 1; it says what the instances are called.

    That is ``ids``, in column ``id``. Else it is the index that the predictions came with
    (``known``), which is the index of a frame of pandas, and column ``id`` in polars. Else it is
    their positions.
    """
    table = {}
    if where is not None:
        table["rank"] = np.arange(1, len(where) + 1)
    elif repeat > 1:
        where = np.repeat(np.arange(prod(shape)), repeat)
    index = None
    if ids is not None or known is None or is_positions(known):
        table |= index_columns(shape, ids, where)
    else:
        index = known if where is None else ids_at(known, where)
        if library != "pandas":
            table["id"] = np.fromiter(index, dtype=object, count=len(index))
    return frame(table | dict(columns), library, index)


def index_columns(shape: Shape, ids: Any = None, where: np.ndarray | None = None) -> Columns:
    """What each instance is called: ``ids``, or its place on each axis of ``shape``; of all
    instances, or of those at ``where``.

    ``where`` holds positions in the flattened instances.
    """
    size = prod(shape)
    if where is None:
        where = np.arange(size)
    if ids is not None:
        given = to_numpy(ids)
        if given.shape not in (shape, (size,)):
            raise InputError(
                f"`ids` must name each of the {size} instances, shape {shape}; got shape "
                f"{given.shape}"
            )
        return {"id": given.reshape(-1)[where]}
    if len(shape) == 1:
        return {"instance": where}
    if not shape:
        return {}
    return {f"axis_{i}": x for i, x in enumerate(np.unravel_index(where, shape))}
