"""Costs as users write them (numbers, mappings from class names, matrices), validated and in one
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._errors import suggest
from .._frames import library_of_frame, named_axes
from .._validation.labels import check_names

CostValues: TypeAlias = float | Mapping[str, float]
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
    """A cost: a number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{where} must be a number; got {value!r}")
    if not 0 <= value <= LARGEST:
        raise ValueError(
            f"{where} must be finite and not negative; got {value!r:.50}. Express a gain by "
            "lowering the alternative's cost"
        )
    return float(value)


def check_costs(name: str, value: Any, known: tuple[str, ...] | None) -> Any:
    """Costs as one number, or as a mapping from class names."""
    value = costs_as_mapping(value, "costs")
    if not isinstance(value, Mapping):
        if np.ndim(value):
            raise TypeError(
                f"`{name}` must be a number or a mapping from class names; got {value!r}"
            )
        return check_cost(value, f"`{name}`")
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


def check_cost_matrix(matrix: Any, known: tuple[str, ...] | None) -> np.ndarray | None:
    """The cost matrix as an array in the order of the class names."""
    if matrix is None:
        return None
    if isinstance(matrix, Mapping):
        matrix = _cost_rows_by_name(matrix, known or ())
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
    if known is not None and len(table) != len(known):
        raise ValueError(
            f"`matrix` must have a row for each of the {len(known)} names; got {len(table)} rows"
        )
    for truth, prediction in np.argwhere(~((table >= 0) & (table <= LARGEST)))[:1]:
        where = f"`matrix`, true class {truth}, predicted class {prediction},"
        check_cost(table[truth, prediction].item(), where)
    return table.astype(float)


def _cost_rows_by_name(matrix: Mapping[Any, Any], known: tuple[str, ...]) -> list[list[float]]:
    """The rows of a matrix by name, in the order of the names; right predictions cost 0 unless it
    says otherwise.
    """
    given = {str(truth): row for truth, row in matrix.items()}
    rows = []
    for truth in known:
        if not isinstance(given.get(truth), Mapping):
            raise TypeError(
                f"`matrix` of {truth!r} must be a mapping from predicted classes to costs; "
                f"got {given.get(truth)!r}"
            )
        costs = {truth: 0.0} | check_costs(f"matrix of {truth!r}", given[truth], known)
        for prediction in known:
            if prediction not in costs:
                raise ValueError(
                    f"`matrix of {truth!r}` must give a number for every class; missing: "
                    f"{prediction!r}"
                )
        rows.append([costs[prediction] for prediction in known])
    return rows
