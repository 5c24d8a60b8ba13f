"""True labels of an array, a table or a file, matched to the cases: by id where both have ids, else
by number, which is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._column_words import columns_called
from .._errors import InputError
from .._frames import read_frame, row_labels
from .._validation.labels import plain_labels
from .arrange import sum_to_one
from .class_names import known_names
from .files import read_text
from .ids import check_equal_columns, id_columns, is_row_number, quoted
from .members import same_order
from .npz import NpzArrays, read_npy
from .predictions import kind_of
from .table import Table, text_array, typed

__all__ = [
    "Labels",
    "arrange_labels",
    "labels_of_array",
    "labels_of_table",
    "match_labels",
    "read_label_arrays",
]

_SAMPLE = 64  # instances that show whether classes exclude each other


@dataclass(frozen=True, eq=False)
class Labels:
    """True labels of a file or an array, and what their cases are called."""

    values: np.ndarray
    ids: np.ndarray | None = None
    id_name: str = "ids"
    table: Table | None = None
    columns: Sequence[str] = ()
    """Those of the table that hold the labels."""


def labels_of_array(labels: Any, found: dict[str, Any]) -> Labels:
    """Labels in memory; the index of a series or frame holds the ids, unless it only counts, and
    its columns are classes.
    """
    index = row_labels(labels)
    if index is None:
        return Labels(np.asarray(to_numpy(labels)))
    values = plain_labels(labels, "labels")
    classes = known_names(found)
    named = read_frame(labels, "labels").labels[-1]
    if values.ndim == 2 and values.shape[1] == len(classes) and named is not None:
        columns = [str(name) for name in named]
        if sorted(columns) != sorted(classes):
            other = next((name for name in columns if name not in classes), columns[0])
            raise InputError(
                f"`labels` has the column {other!r}, which is no class; the classes are "
                f"{', '.join(classes[:8])}"
            )
        values = values[:, [columns.index(name) for name in classes]]
    ids = np.asarray(index)
    return Labels(values, None if is_row_number(ids) else ids, "index")


def labels_of_table(table: Table, found: dict[str, Any]) -> Labels:
    """Labels in a table: a column of them, or 0 and 1 in a column for each class; and the column of
    ids that fits the predictions.
    """
    called = columns_called(table.names, "y_true")[:1]
    by_class = {name.strip(): name for name in table.names}
    classes = known_names(found)
    if not called and set(classes) <= set(by_class):
        called = [by_class[name] for name in classes]
        values = np.asarray(table.numbers(called)[:])
        if values.size and np.all((values == 0) | (values == 1)):
            values = values.astype(np.int64)
    else:
        called = called or [_only_label(table)]
        values = typed(table.column(called[0]))

    ids = id_columns(table, called)
    if not ids:
        return Labels(values, table=table, columns=called)
    best = ids[0]
    if "ids" in found:  # of several that may be, one with the ids of the predictions
        wanted = np.unique(np.asarray(found["ids"][:]).astype(str))
        fitting = [name for name in ids if np.array_equal(np.unique(table.text(name)), wanted)]
        best = [*fitting, *ids][0]
    return Labels(values, table.column(best), best, table, called)


def _only_label(table: Table) -> str:
    """The only column besides that of the ids."""
    ids = id_columns(table)[:1]
    others = [name for name in table.names if name not in ids] or list(table.names)
    if len(others) > 1:
        raise ValueError(
            f"{table.file} must have a column `y_true`; it has "
            f"{', '.join(map(repr, table.names[:8]))}"
        )
    return others[0]


def read_label_arrays(path: Path) -> Labels:
    """True labels from .npy, .npz or .txt, and the ids of their cases if an .npz has them."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Labels(read_npy(path))
    if suffix == ".txt":
        lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
        return Labels(typed(text_array(lines, path.name)))
    arrays = NpzArrays(path)
    names = [name for name in arrays if name in ("y_true", "labels", "label")]
    if not names and "ids" not in arrays:
        names = list(arrays)  # the only array may have any name
    if not names:
        raise ValueError(f"{path.name} holds no labels (`y_true`)")
    return Labels(arrays[names[0]], arrays.get("ids"))


def match_labels(
    labels: Labels, found: dict[str, Any], file: str, first: Table | str, notes: list[str]
) -> np.ndarray:
    """Labels in the order of the cases: by id where both have ids; refused if only the labels have
    any.

    Labels without ids are in the order of ``first``, the table or file of the first member, if all
    members have that order.
    """
    if labels.ids is None:
        return _match_by_number(labels, found, file, first, notes)
    there = np.asarray(labels.ids).astype(str)
    rows = np.arange(len(there)).astype(str)
    how = f"labels matched by {quoted(labels.id_name)}"
    if "ids" in found:
        wanted = np.asarray(found["ids"][:]).astype(str)
        only_counts = is_row_number(there) and not np.isin(wanted, there).any()
        if only_counts and len(there) == len(wanted):
            return _match_by_number(labels, found, file, first, notes)
    elif np.array_equal(np.sort(there), np.sort(rows)):
        wanted = rows
        how += ", as the numbers of the rows"
        if is_row_number(there):
            _check_same_rows(labels, first)
    else:
        shape = tuple(found[kind_of(found)].shape)
        raise InputError(
            f"{file} has ids ({quoted(labels.id_name)}: {str(there[0])!r}, …), and the predictions "
            f"of shape {shape} have none, so that they cannot "
            "be matched. Add the ids to the predictions; if the rows are in the same order, leave "
            "them out of the labels"
        )
    notes.append(how)
    return np.asarray(labels.values[same_order("the predictions", wanted, file, there)])


def _match_by_number(
    labels: Labels, found: dict[str, Any], file: str, first: Table | str, notes: list[str]
) -> np.ndarray:
    """Labels as they are; refused if members have their cases in different orders, any of which the
    labels may have.
    """
    if "reordered" in found:
        one, other = found["reordered"]
        raise InputError(
            f"{file} has no ids to match labels by, and {one} and {other} have their cases in "
            "different orders. Add the ids to the labels"
        )
    _check_same_rows(labels, first)
    order = ""
    if "ids" in found:
        order = f", in the order of {first.file if isinstance(first, Table) else first}"
    notes.append(f"labels matched by number{order}")
    return labels.values


def _check_same_rows(labels: Labels, first: Table | str) -> None:
    if labels.table is not None and isinstance(first, Table):
        check_equal_columns(first, labels.table, set(labels.columns))


def arrange_labels(y: Any, found: dict[str, Any], multilabel: bool | None) -> np.ndarray:
    """Labels as they are meant: whole numbers for floats, (N,) for (N, 1) and for one-hot (N,
    K).
    """
    y = np.asarray(to_numpy(y))
    k = int(found[kind_of(found)].shape[-1])
    if y.ndim == 2 and y.shape[1] == 1 != k:
        y = y[:, 0]
    if y.dtype.kind == "f" and y.size and np.all(y == np.floor(y)):
        y = y.astype(np.int64)
    if y.ndim == 2 and y.shape[1] == k and multilabel is None and y.dtype.kind in "biu" and len(y):
        y = _one_hot_as_classes(y, found)
    whole = y.ndim == 1 and y.dtype.kind in "iu" and y.size > 0
    if whole and "class_names" not in found and (y.min(), y.max()) == (1, k):
        raise InputError(
            f"`y_true` must lie between 0 and {k - 1} (K = {k} classes); got {k} in row "
            f"{np.argmax(y)}",
            fix="first_label",
            last=k,
        )
    return np.asarray(y)


def _one_hot_as_classes(y: np.ndarray, found: dict[str, Any]) -> np.ndarray:
    """(N, K) of 0 and 1 as (N,) if one class of each row is true and predictions do not say that
    labels occur together.
    """
    kind = kind_of(found)
    values = found[kind]
    sample = np.asarray(values[:, :_SAMPLE] if len(values.shape) == 3 else values[:_SAMPLE])
    exclusive = kind == "probs" and sum_to_one(sample)
    n_true = y.sum(axis=1)
    if not np.all((y == 0) | (y == 1)):
        return y
    if exclusive and y.shape[1] > 1 and n_true.max() > 1:
        row = int(np.argmax(n_true > 1))
        raise InputError(
            "rows of `probs` sum to 1, so that one class is true, and `y_true` has "
            f"{n_true[row]} in row {row + 1}",
            fix="file_multilabel",
        )
    if np.all(n_true == 1) and (exclusive or kind != "probs"):
        warnings.warn(
            "`y_true` (N, K) is one-hot and is read as one class for each instance", stacklevel=4
        )
        return np.asarray(y.argmax(axis=1))
    return y
