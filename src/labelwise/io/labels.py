"""True labels of an array, a table or a file, matched to the cases: by id where both have ids, else
by number, which is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._column_words import column_in_words, columns_called
from .._errors import InputError, listed
from .._frames import columns_by_class, is_positions, order_of_names, row_labels
from .._validation.labels import as_labels, plain_labels
from .columns import Columns
from .ids import id_columns, order_by_ids, refuse_repeated_ids
from .predictions import Fields, kind_of
from .table import Table, labels_of_texts

_SAMPLE = 64  # instances that show whether classes exclude each other


@dataclass(frozen=True, eq=False)
class Labels:
    """True labels of a file or an array, and what their cases are called."""

    source: str
    """What to call them in messages."""
    values: np.ndarray
    ids: np.ndarray | None = None
    id_name: str = "ids"


def labels_of_array(labels: Any, found: Fields) -> Labels:
    """Labels in memory; the index of a series or frame holds the ids, unless it only counts, and
    its columns are classes.
    """
    index = row_labels(labels)
    values = plain_labels(columns_by_class(labels, _known_classes(found), "labels"), "labels")
    if index is None or is_positions(tuple(map(str, index))):
        return Labels("`labels`", values)
    return Labels("`labels`", values, np.asarray(index), "index")


def labels_of_arrays(file: str, arrays: Mapping[str, Any], found: Fields) -> Labels:
    """Labels in a file of arrays, perhaps with ids and with class names of its own."""
    y = arrays.get("y_true")
    if len(arrays) == 1:
        (y,) = arrays.values()
    if y is None:
        raise ValueError(f"{file} holds no labels (`y_true`)")
    values = np.asarray(y)
    if "class_names" in arrays and "class_names" in found:
        names = np.asarray(arrays["class_names"]).astype(str).tolist()
        order = order_of_names(names, found["class_names"], file)
        if values.ndim == 2:  # 0 or 1 for each class
            values = values[:, order]
        else:  # positions among the names of this file
            values = np.asarray(names)[as_labels(values, "y_true", names, values.shape)]
    return Labels(file, values, arrays.get("ids"))


def _known_classes(found: Fields) -> list[str]:
    """The names of the classes, or their positions as text."""
    n_classes = found[kind_of(found)].shape[-1]
    return list(map(str, found.get("class_names", range(n_classes))))


def labels_of_table(table: Table, found: Fields) -> Labels:
    """Labels in a table: a column of them, or 0 and 1 in a column for each class; and the column of
    ids that fits the predictions.
    """
    called = columns_called(table.names, "y_true")[:1]
    by_class = {name.strip(): name for name in table.names}
    classes = _known_classes(found)
    if not called and set(classes) <= set(by_class):
        called = [by_class[name] for name in classes]
    ids = id_columns(table, Columns("probs", called, None))
    if "ids" in found:  # of several that may be, one with the ids of the predictions
        wanted = np.unique(np.asarray(found["ids"]).astype(str))
        ids.sort(key=lambda name: not np.array_equal(np.unique(table.text(name)), wanted))
    if not called:  # the only column besides that of the ids
        called = [name for name in table.names if name not in ids[:1]] or table.names
        if len(called) > 1:
            raise ValueError(
                f"{table.file} must have a column `y_true`; it has {listed(table.names, 8)}"
            )
        ids = [name for name in ids if name not in called]
    if len(called) == 1:
        values = labels_of_texts(table.column(called[0]))
    else:
        values = np.asarray(table.numbers(called)[:])
    if not ids:
        refuse_repeated_ids(table, Columns("probs", called, None))
        return Labels(table.file, values)
    return Labels(table.file, values, table.column(ids[0]), ids[0])


def match_labels(labels: Labels, found: Fields, first: str, notes: list[str]) -> np.ndarray:
    """Labels in the order of the cases: by id where both have ids; refused if only the labels have
    any.

    Labels without ids are in the order of ``first``, the file of the first member, if all members
    have that order.
    """
    if labels.ids is None:
        if "reordered" in found:  # the labels may have any of these orders
            one, other = found["reordered"]
            raise InputError(
                f"{labels.source} has no ids to match labels by, and {one} and {other} have their "
                "cases in different orders. Add the ids to the labels"
            )
        order = ""
        if "ids" in found:
            order = f", in the order of {first}"
        notes.append(f"labels matched by number{order}")
        return labels.values
    there = np.asarray(labels.ids).astype(str)
    if "ids" not in found:
        raise InputError(
            f"{labels.source} has ids ({column_in_words(labels.id_name)}: {str(there[0])!r}, …), "
            "and the predictions have none, so that they cannot be matched. Add the ids to the "
            "predictions; if the rows are in the same order, leave them out of the labels"
        )
    notes.append(f"labels matched by {column_in_words(labels.id_name)}")
    wanted = np.asarray(found["ids"]).astype(str)
    rows = order_by_ids("the predictions", wanted, labels.source, there)
    return labels.values[rows]


def arrange_labels(y: Any, found: Fields, multilabel: bool | None) -> np.ndarray:
    """Labels as they are meant: whole numbers for floats, (N,) for (N, 1) and for one-hot (N,
    K).
    """
    y = to_numpy(y)
    k = found[kind_of(found)].shape[-1]
    if y.ndim == 2 and y.shape[1] == 1 != k:
        y = y[:, 0]
    if y.dtype.kind == "f" and y.size and np.all(y == np.floor(y)):
        y = y.astype(np.int64)
    if y.shape[1:] == (k,) and multilabel is None and y.dtype.kind in "biu" and k > 1:
        return _one_hot_as_classes(y, found)
    if multilabel and k == 1:
        y = y.reshape(-1, 1)  # a table gives a single column as (N,)
    return y


def _one_hot_as_classes(y: np.ndarray, found: Fields) -> np.ndarray:
    """(N, K) of 0 and 1 as (N,) if one class of each row is true, unless probabilities say that
    labels occur together.
    """
    exclusive = False
    if "probs" in found:
        sample = np.asarray(found["probs"][:, :_SAMPLE])
        exclusive = np.allclose(sample.sum(axis=-1), 1, atol=0.02)
    several = np.flatnonzero(y.sum(axis=1) != 1)
    if exclusive and several.size:
        raise InputError(
            "rows of `probs` sum to 1, so that one class is true, and `y_true` has "
            f"{y[several[0]].sum()} in row {several[0] + 1}",
            fix="file_multilabel",
        )
    if several.size or ("probs" in found and not exclusive):
        return y
    warnings.warn(
        "`y_true` (N, K) is one-hot and is read as one class for each instance", stacklevel=4
    )
    return y.argmax(axis=1)
