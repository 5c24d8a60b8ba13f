"""Class names, labels and scores, as NumPy: for evaluation, calibration and decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from operator import index
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from .._arrays import ClassNames, Names, Shape, dtype_name, to_numpy
from .._errors import InputError, listed, suggest
from .._frames import columns_by_class, distinct_names, names_by_position
from .arrays import as_floating, check_finite

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")


def check_names(names: ClassNames | None, n: int) -> Names | None:
    """``names`` as a tuple of ``n`` different strings, or ``None``; also from positions to names,
    such as ``{0: "cat", 1: "dog"}``, or from names to positions.
    """
    if names is None:
        return None
    if isinstance(names, Mapping):
        in_order = names_by_position(names)
        if in_order is None or len(in_order) != n:
            raise InputError(
                f"`class_names` as a mapping must name each position from 0 to {n - 1} (K = {n} "
                "classes), such as {0: 'cat', 1: 'dog'}; got the keys "
                f"{listed(list(names))}"
            )
        names = in_order
    return check_name_list(names, n, "class_names", f"K = {n} classes")


def check_name_list(names: Any, n: int, parameter: str, what: str) -> Names:
    """``names`` as a tuple of ``n`` different strings; ``what`` they name is for messages."""
    if isinstance(names, str | Set) or not isinstance(names, Iterable):
        raise TypeError(f"`{parameter}` must be a sequence of {n} names, in order; got {names!r}")
    given = tuple(map(str, names))
    if len(given) != n:
        raise InputError(
            f"`{parameter}` must name each of the {what}; got {len(given)} names: {listed(given)}"
        )
    return distinct_names(given, f"`{parameter}`")


def check_fitted_classes(
    n_classes: int, names: Sequence[str] | None, fitted: Sequence[str]
) -> None:
    """Refuse predictions of other classes than those that something was ``fitted`` for; classes
    without names are only counted.
    """
    rule = f"`q` must have the {len(fitted)} classes it was fitted for, in their order"
    if n_classes != len(fitted):
        raise InputError(f"{rule}; got K = {n_classes}")
    for k, (found, wanted) in enumerate(zip(names or fitted, fitted, strict=True)):
        if found != wanted:
            raise InputError(f"{rule}; class {k} is {found!r} instead of {wanted!r}")


def as_numpy(x: Any, name: str) -> np.ndarray:
    """Finite real numbers of any array library as a NumPy array of the same type."""
    if is_array_api_obj(x) and dtype_name(x) in ("float16", "bfloat16"):
        x = as_floating(x, name)
    if hasattr(x, "epistemic"):
        raise TypeError(
            f"`{name}` must be an array; got {type(x).__name__}, which holds three. Use "
            "u.sum().epistemic, or u['name'].epistemic"
        )
    values = to_numpy(x)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"`{name}` must be numbers; got {values.dtype}")
    if values.dtype.kind == "f":
        check_finite(values, name)
    return values


def as_scores(x: Any, name: str) -> np.ndarray:
    """One finite number per instance."""
    values = as_numpy(x, name)
    if values.ndim != 1:
        raise InputError(
            f"`{name}` must have one value per instance, shape (N,); got shape {values.shape}. "
            "From label-wise uncertainty take a label, u['name'].epistemic, or the sum, "
            "u.sum().epistemic"
        )
    if values.size == 0:
        raise InputError(f"`{name}` must have at least one value; got none")
    return values


def same_length(x: np.ndarray, name: str, n: int, other: str) -> np.ndarray:
    """``x`` if it has ``n`` values like ``other``."""
    if x.shape[0] != n:
        raise InputError(
            f"`{name}` must have one value for each of the {n} values of `{other}`; got "
            f"{x.shape[0]}"
        )
    return x


def as_correct(x: Any, n: int) -> np.ndarray:
    """Right (1) or wrong (0), as booleans."""
    values = same_length(as_scores(x, "correct"), "correct", n, "score")
    odd = values[(values != 0) & (values != 1)]
    if odd.size:
        raise InputError(
            f"`correct` must be True or False (1 or 0); got {odd[0]!r}. For other values use "
            "`risk` or `utility`"
        )
    return values.astype(bool)


def as_labels(y: Any, name: str, names: Sequence[str], shape: Shape) -> np.ndarray:
    """True or predicted classes as positions 0 … K−1, flattened.

    Labels are matched to class values. Text (also pandas' strings and categories, and Python
    objects) is a class name. Whole numbers, also as floating point or nullable integers, are class
    names where all names are integers (as scikit-learn's classes often are), else positions.
    One-hot rows and a trailing axis of length 1 are recognized. Everything else is refused.
    """
    labels, k = plain_labels(columns_by_class(y, names, name), name), len(names)
    if labels.shape == (*shape, 1):
        labels = labels[..., 0]
    if labels.shape == (*shape, k) and labels.dtype.kind in "biuf":
        labels = _from_one_hot(labels, name)
    if labels.shape != shape:
        raise InputError(
            f"`{name}` must have one class per instance, shape {shape}; got shape {labels.shape}"
        )
    labels = labels.reshape(-1)
    if labels.dtype.kind == "b" and {"False", "True"} >= set(names):
        labels = labels.astype(str)
    if labels.dtype.kind == "f":
        odd = np.flatnonzero(labels != np.floor(labels))  # also NaN
        if len(odd):
            raise InputError(
                f"`{name}` must be whole numbers or class names, none missing; got "
                f"{labels[odd[0]]} in row {odd[0]}"
            )
        labels = labels.astype(np.int64)
    if labels.dtype.kind not in "iuU":
        raise TypeError(
            f"`{name}` must be class positions 0 … {k - 1} or class names; got {labels.dtype}"
        )
    return positions(labels, name, names, row=0)


def plain_labels(y: Any, name: str) -> np.ndarray:
    """Labels of any library as a NumPy array of numbers, booleans or text, without missing
    values.
    """
    # categories, strings and nullable numbers alike are objects
    if type(y).__module__.partition(".")[0] in ("pandas", "polars"):
        y = np.asarray(y, dtype=object)
    labels = to_numpy(y)
    if labels.dtype.kind == "S":
        return labels.astype(str)
    if labels.dtype.kind not in "OT":
        return labels
    values = labels.reshape(-1).tolist()
    wanted: Any = int | float | np.number | np.bool_
    if values and isinstance(values[0], str):
        wanted = str
    odd_rows = [row for row, value in enumerate(values) if not isinstance(value, wanted)]
    if not odd_rows:
        plain = np.array(values)
        if plain.dtype.kind != "O":  # as integers that are too large would be
            return plain.reshape(labels.shape)
        odd_rows = [0]
    raise InputError(
        f"`{name}` must be all class names or all whole numbers, none missing; got "
        f"{values[odd_rows[0]]!r} in row {odd_rows[0]}"
    )


def _from_one_hot(labels: np.ndarray, name: str) -> np.ndarray:
    """The position of the 1 in each row."""
    one_hot = ((labels == 0) | (labels == 1)).all(-1) & (labels.sum(-1) == 1)
    if not one_hot.all():
        raise InputError(
            f"`{name}` of shape {labels.shape} must be one-hot, with a single 1 in each row; row "
            f"{np.argwhere(~one_hot)[0][0]} is not. Labels that may occur together need a "
            "MultiLabelEnsemble"
        )
    return labels.argmax(-1)


def positions(
    labels: np.ndarray, name: str, names: Sequence[str], *, row: int | None = None
) -> np.ndarray:
    """Labels (N,) as positions 0 … K−1 in ``names``: text is a name; integers are names where all
    names are integers, else positions.

    ``row`` is the number of the first label, for messages; without it they name none.
    """
    k = len(names)
    known: list[Any] | None = None
    if labels.dtype.kind == "U":
        known = list(names)
    else:
        values = integer_names(names)
        if values is not None and not np.array_equal(values, np.arange(k)):
            known = values.tolist()
    if known is None:
        found = np.where((labels >= 0) & (labels < k), labels.astype(np.int64), -1)
    else:
        place_of = {value: i for i, value in enumerate(known)}
        values, inverse = np.unique(labels, return_inverse=True)
        found = np.array([place_of.get(value, -1) for value in values.tolist()], int)[inverse]
    if found.min(initial=0) >= 0:
        return found
    first = np.argmax(found < 0)
    label = labels[first].item()
    place = "" if row is None else f" in row {row + first}"
    if isinstance(label, str):
        raise InputError(
            f"`{name}` names the unknown class {label!r}{place}{suggest(label, names)}"
        )
    if known is None:
        raise InputError(
            f"`{name}` must lie between 0 and {k - 1} (K = {k} classes); got {label}{place}"
        )
    raise InputError(
        f"`{name}` must be among the class names, which are integers: {listed(names, 8, str)}; "
        f"got {label}{place}",
        fix="positions",
        last=k - 1,
        name=name,
    )


def class_position(label: Any, names: Sequence[str]) -> int:
    """The position of one class, called ``label``: text is its name; a whole number is its name
    where all names are integers, else its position.

    >>> class_position(1, ["cat", "dog"]), class_position(1, ["1", "2"])
    (1, 0)
    """
    if isinstance(label, bool) or not (isinstance(label, str) or hasattr(label, "__index__")):
        raise TypeError(f"`label` must be a class: its name, or a whole number; got {label!r}")
    if not isinstance(label, str):
        label = index(label)
    return int(positions(np.asarray([label]), "label", names)[0])


def integer_names(names: Sequence[str]) -> np.ndarray | None:
    """Class names such as '1' (or '1.0', from a floating-point column) as integers, if all names
    are distinct integers.
    """
    values = whole_numbers(names)
    if values is None or len(np.unique(values)) < len(values):
        return None
    return values


def whole_numbers(texts: Sequence[str]) -> np.ndarray | None:
    """Texts such as '1' or '1.0' as integers, if all are whole numbers.

    >>> whole_numbers(["1", "02"]), whole_numbers(["1", "a"])
    (array([1, 2]), None)
    """
    if not all(_WHOLE.fullmatch(text) for text in texts):
        return None
    return np.asarray([int(text.partition(".")[0]) for text in texts], dtype=np.int64)


def outcomes_by_class(y_true: Any, names: Sequence[str], shape: Shape) -> np.ndarray:
    """(N, K): whether each instance belongs to each class, from class labels or an array (..., K)
    of 0 and 1.
    """
    y = plain_labels(columns_by_class(y_true, names, "y_true"), "y_true")
    k = len(names)
    if y.shape == (*shape, k) and y.dtype.kind in "biuf" and np.all((y == 0) | (y == 1)):
        return y.reshape(-1, k).astype(bool)
    return as_labels(y, "y_true", names, shape)[:, None] == np.arange(k)
