"""Validate scores and labels and convert them to NumPy, for evaluation and calibration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from ._arrays import as_floating, check_finite, dtype_name, to_numpy
from ._suggestions import suggest


def as_numpy(x: Any, name: str) -> np.ndarray:
    """Finite real numbers of any array library as a NumPy array of the same type."""
    if is_array_api_obj(x) and dtype_name(x) in ("float16", "bfloat16"):
        x = as_floating(x, name)
    values: np.ndarray = to_numpy(x)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"`{name}` must be numbers; got {values.dtype}")
    if values.dtype.kind == "f":
        check_finite(values, name)
    return values


def as_scores(x: Any, name: str) -> np.ndarray:
    """One finite number per instance."""
    values = as_numpy(x, name)
    if values.ndim != 1:
        raise ValueError(
            f"`{name}` must have one value per instance, shape (N,); got shape {values.shape}. "
            "From label-wise uncertainty take a label, u['name'].epistemic, or the sum, u.sum().epistemic"
        )
    if values.size == 0:
        raise ValueError(f"`{name}` must have at least one value; got none")
    return values


def same_length(x: np.ndarray, name: str, n: int, other: str) -> np.ndarray:
    """``x`` if it has ``n`` values like ``other``."""
    if x.shape[0] != n:
        raise ValueError(f"`{name}` must have one value for each of the {n} values of `{other}`; got {x.shape[0]}")
    return x


def as_correct(x: Any, n: int) -> np.ndarray:
    """Right (1) or wrong (0), as booleans."""
    values = same_length(as_scores(x, "correct"), "correct", n, "score")
    odd = values[(values != 0) & (values != 1)] if values.dtype.kind != "b" else values[:0]
    if odd.size:
        raise ValueError(f"`correct` must be True or False (1 or 0); got {odd[0]!r}. For other values use `risk` or `utility`")
    return values.astype(bool)


def as_labels(y: Any, name: str, names: Sequence[str], shape: tuple[int, ...]) -> np.ndarray:
    """True or predicted classes as positions 0 … K−1, flattened.

    Text is a class name. Integers are class names if all names are integers (as scikit-learn's often are), else positions.
    """
    labels: np.ndarray = to_numpy(y)
    k = len(names)
    if labels.shape != shape:
        hint = f". For probabilities use {name}.argmax(-1)" if labels.shape == (*shape, k) else ""
        raise ValueError(f"`{name}` must have one class per instance, shape {shape}; got shape {labels.shape}{hint}")
    labels = labels.reshape(-1)
    if labels.dtype.kind in "US":
        labels = labels.astype(str)
        unknown = sorted(set(np.unique(labels).tolist()) - set(names))
        if unknown:
            raise ValueError(f"`{name}` names the unknown class {unknown[0]!r}{suggest(unknown[0], list(names))}")
        position = {word: i for i, word in enumerate(names)}
        return np.asarray([position[word] for word in labels.tolist()], dtype=np.int64)
    if labels.dtype.kind == "f" and np.all(labels == np.floor(labels)):  # labels read from a table
        labels = labels.astype(np.int64)
    if labels.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must be class positions 0 … {k - 1} or class names; got {labels.dtype}")
    return positions(labels, name, names)


def positions(labels: np.ndarray, name: str, names: Sequence[str]) -> np.ndarray:
    """Integer labels (N,) as positions 0 … K−1 in ``names``: by value if all names are integers, else unchanged."""
    k = len(names)
    values = integer_names(names)
    if values is None or np.array_equal(values, np.arange(k)):
        if labels.size and (labels.min() < 0 or labels.max() >= k):
            odd = labels.max() if labels.max() >= k else labels.min()
            raise ValueError(f"`{name}` must lie between 0 and {k - 1} (K = {k} classes); got {odd}")
        return labels.astype(np.int64)
    order = np.argsort(values)
    found = order[np.minimum(np.searchsorted(values, labels, sorter=order), k - 1)]
    unknown = labels[values[found] != labels]
    if unknown.size:
        raise ValueError(
            f"`{name}` must be among the class names, which are integers: {', '.join(names[:8])}{', …' if k > 8 else ''}; got {unknown[0]}. "
            f"If these are positions 0 … {k - 1}, pass the names: np.asarray(names)[{name}]"
        )
    return np.asarray(found, dtype=np.int64)


def integer_names(names: Sequence[str]) -> np.ndarray | None:
    """Class names such as '1' (or '1.0', from a floating-point column) as integers, if all names are distinct integers."""
    if not all(re.fullmatch(r"[+-]?[0-9]{1,18}(\.0*)?", word) for word in names):
        return None
    values = np.asarray([int(word.partition(".")[0]) for word in names], dtype=np.int64)
    return values if len(np.unique(values)) == len(values) else None


def named_labels(y: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """Positions as integer labels: the inverse of `positions`."""
    values = None if names is None else integer_names(names)
    return y if values is None else values[y]


def happened_by_class(y_true: Any, names: Sequence[str], shape: tuple[int, ...]) -> np.ndarray:
    """(N, K): whether each instance belongs to each class, from class labels or an array (..., K) of 0 and 1."""
    y = to_numpy(y_true)
    k = len(names)
    if y.shape == (*shape, k) and y.dtype.kind in "biu" and np.all((y == 0) | (y == 1)):
        return np.asarray(y.reshape(-1, k).astype(bool))
    return np.asarray(as_labels(y, "y_true", names, shape)[:, None] == np.arange(k))
