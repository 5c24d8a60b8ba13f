"""Costs as users write them (numbers, mappings from class names, matrices), validated and in one
order.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from .._errors import suggest
from .._frames import library_of_frame, named_axes
from .._validation.labels import check_names

CostValues: TypeAlias = float | Mapping[str, float]


def costs_as_mapping(value: Any, name: str) -> Any:
    """A series of costs as a mapping from class names, a data frame of costs as a mapping of
    mappings; anything else, and what has no names, as it is.
    """
    if library_of_frame(value) is None or len(value.shape) > 2:
        return value
    values, labels = named_axes(value, name)
    if values.ndim == 1:
        return values if labels[0] is None else dict(zip(labels[0], values.tolist(), strict=True))
    rows, columns = labels
    names = rows or columns
    if names is None or values.shape != (len(names), len(names)):
        return values  # a shape that is not square is refused later
    if rows is None or columns is None:
        without = "index" if rows is None else "columns"
        warnings.warn(
            f"The {without} of `matrix` has no class names: they are taken to be in the order of "
            f"the other axis, {', '.join(names)}",
            stacklevel=3,
        )
    matrix = {}
    for truth, row in zip(names, values.tolist(), strict=True):
        matrix[truth] = dict(zip(columns or names, row, strict=True))
    return matrix


def names_of_costs(
    matrix: Any, class_names: Sequence[str] | Mapping[Any, str] | None
) -> tuple[str, ...] | None:
    """The given class names, or those of a matrix by name."""
    if class_names is not None:
        if isinstance(class_names, str) or not isinstance(class_names, Sequence | Mapping):
            raise TypeError(f"`class_names` must be a sequence of class names; got {class_names!r}")
        return check_names(class_names, len(class_names))
    if isinstance(matrix, Mapping):
        return tuple(map(str, matrix))
    return None


def check_cost(value: Any, where: str) -> float:
    """A finite cost, not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{where} must be a number; got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer with hundreds of digits
        raise ValueError(
            f"{where} must be below 1e308; got a number of more than 300 digits"
        ) from None
    if not isfinite(number) or number < 0:
        raise ValueError(
            f"{where} must be finite and not negative; got {value!r}. Express a gain by lowering "
            "the alternative's cost"
        )
    return number


def check_costs(name: str, value: Any, known: tuple[str, ...] | None) -> Any:
    """Costs as one number, or as a mapping from class names."""
    value = costs_as_mapping(value, "costs")
    if not isinstance(value, Mapping):
        if np.ndim(value):
            raise TypeError(
                f"`{name}` must be a number or a mapping from class names; got {value!r}"
            )
        return check_cost(value.item() if isinstance(value, np.ndarray) else value, f"`{name}`")
    numbers = {}
    for key, cost in value.items():
        if known is not None and str(key) not in known:
            raise ValueError(f"`{name}` names the unknown class {str(key)!r}{suggest(key, known)}")
        numbers[str(key)] = check_cost(cost, f"`{name}` of {str(key)!r}")
    return numbers


def costs_per_class(
    name: str, costs: Any, class_names: Sequence[str], default: float | None
) -> Any:
    """A cost for each class; ``default`` for those that a mapping does not name."""
    if not isinstance(costs, Mapping):
        return np.full(len(class_names), costs)
    for key in costs:
        if key not in class_names:
            raise ValueError(
                f"`{name}` names {key!r}, which is not a class of the "
                f"prediction{suggest(key, class_names)}"
            )
    return np.asarray([costs.get(key, default) for key in class_names], dtype=float)


def check_matrix(matrix: Any, known: tuple[str, ...] | None) -> np.ndarray | None:
    """The cost matrix as an array in the order of the class names."""
    if matrix is None:
        return None
    if isinstance(matrix, Mapping):
        matrix = _cost_matrix_by_name(matrix, known or ())
    try:
        table = np.asarray(matrix)
    except ValueError as error:
        raise ValueError(
            "`matrix` must be square, one row per true class; its rows have unequal lengths"
        ) from error
    if table.dtype.kind not in "iuf":
        raise TypeError(f"`matrix` must be numbers; got {table.dtype}")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(
            "`matrix` must be square, [true class, predicted class], with at least 2 classes; got "
            f"shape {table.shape}"
        )
    wrong = np.argwhere(~np.isfinite(table) | (table < 0))
    if len(wrong):
        truth, prediction = wrong[0]
        raise ValueError(
            f"`matrix` must be finite and not negative; got {table[truth, prediction]} for true "
            f"class {truth}, predicted class {prediction}. "
            "Subtract the minimum of each row to convert gains into costs"
        )
    if known is not None and len(table) != len(known):
        raise ValueError(
            f"`matrix` must have a row for each of the {len(known)} names; got {len(table)} rows"
        )
    return table.astype(float)


def _cost_matrix_by_name(matrix: Mapping[Any, Any], known: tuple[str, ...]) -> np.ndarray:
    """A matrix by name in the order of the names; right predictions cost 0 unless it says
    otherwise.
    """
    table = np.full((len(known), len(known)), np.nan)
    np.fill_diagonal(table, 0.0)
    for truth, row in matrix.items():
        if not isinstance(row, Mapping):
            raise TypeError(
                f"`matrix` of {truth!r} must be a mapping from predicted classes to costs; "
                f"got {row!r}"
            )
        if str(truth) not in known:
            raise ValueError(
                f"`matrix` names the unknown class {str(truth)!r}{suggest(truth, known)}"
            )
        costs = check_costs(f"matrix of {str(truth)!r}", row, known)
        for prediction, cost in costs.items():
            table[known.index(str(truth)), known.index(prediction)] = cost
    for i, k in np.argwhere(np.isnan(table))[:1]:
        raise ValueError(
            f"`matrix of {known[i]!r}` must give a number for every class; missing: {known[k]!r}"
        )
    return table
