"""Costs as users write them (numbers, mappings from class names, matrices), validated and in one
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._frames import library_of_frame, named_axes, values_by_class

LARGEST = 1e150  # sums and products of costs stay finite


def costs_as_mapping(value: Any, name: str) -> Any:
    """A series of costs as a mapping from class names, a data frame of costs as a mapping of
    mappings; anything else, and what has no names, as it is.
    """
    if library_of_frame(value) is None:
        return value
    values, labels = named_axes(value, name)
    if all(names is None for names in labels):
        return values
    if len(labels) == 1:
        return dict(zip(labels[0] or (), values.tolist(), strict=True))
    truths, predictions = labels
    if truths is None or predictions is None:
        raise ValueError(
            f"`{name}` must have the class names both in its index (the truth) and in its columns "
            "(the prediction), or in neither"
        )
    rows = [dict(zip(predictions, row, strict=True)) for row in values.tolist()]
    return dict(zip(truths, rows, strict=True))


def check_cost(value: Any, where: str) -> float:
    """A cost: a number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{where} must be a number; got {value!r}")
    if not 0 <= value <= LARGEST:
        raise ValueError(
            f"{where} must be finite and not negative; got {value!r:.50}. Express a gain by "
            "lowering the alternative's cost"
        )
    return float(value)


def read_costs(value: Any, where: str) -> float | dict[str, float]:
    """Costs as one number, or as a mapping from class names."""
    value = costs_as_mapping(value, "costs")
    if isinstance(value, Mapping):
        return {
            str(key): check_cost(cost, f"{where} of {str(key)!r}") for key, cost in value.items()
        }
    if np.ndim(value):
        raise TypeError(f"{where} must be a number or a mapping from class names; got {value!r}")
    return check_cost(value, where)


def costs_per_class(
    name: str, costs: Any, class_names: Sequence[str], default: float | None
) -> Any:
    """A cost for each class; ``default`` for those that a mapping does not name."""
    if costs is None:
        costs = default
    if isinstance(costs, Mapping):
        by_name = {**dict.fromkeys(class_names, default), **costs}
        costs = values_by_class(by_name, class_names, name)
    return np.full(len(class_names), costs, dtype=float)


def check_cost_matrix(matrix: Any, names: Sequence[str] | None) -> np.ndarray:
    """The cost matrix as an array, one by name in the order of the class names."""
    if isinstance(matrix, Mapping):
        names = names or ()
        rows = []
        for truth, costs in zip(names, values_by_class(matrix, names, "matrix"), strict=True):
            if not isinstance(costs, Mapping):
                raise TypeError(
                    f"`matrix` of {truth!r} must be a mapping from predicted classes to costs; got "
                    f"{costs!r}"
                )
            # right predictions cost 0 unless it says otherwise
            row = {truth: 0.0} | {str(key): cost for key, cost in costs.items()}
            rows.append(values_by_class(row, names, f"matrix of {truth!r}"))
        matrix = rows
    try:
        table = np.asarray(matrix)
    except ValueError as error:
        raise ValueError("the rows of `matrix` must have equal lengths") from error
    if table.dtype.kind not in "iuf":
        raise TypeError(f"`matrix` must be numbers; got {table.dtype}")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(
            "`matrix` must be square, [true class, predicted class], with at least 2 classes; got "
            f"shape {table.shape}"
        )
    if names is not None and len(table) != len(names):
        raise ValueError(
            f"`matrix` must have a row for each of the {len(names)} names; got {len(table)} rows"
        )
    for truth, prediction in np.argwhere(~((table >= 0) & (table <= LARGEST)))[:1]:
        where = f"`matrix`, true class {truth}, predicted class {prediction},"
        check_cost(table[truth, prediction].item(), where)
    return table.astype(float)
