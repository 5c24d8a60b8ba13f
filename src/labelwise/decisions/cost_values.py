"""Costs as users write them (numbers, sequences, mappings from class names), validated and in one
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

CostValues: TypeAlias = float | np.ndarray | Mapping[str, float]


def matrix_by_name(matrix: Any) -> Any:
    """A data frame of costs as a mapping of mappings; anything else, and a frame without names, as
    it is.
    """
    if library_of_frame(matrix) is None or len(matrix.shape) != 2:
        return matrix
    values, (rows, columns) = named_axes(matrix, "matrix")
    names = columns if rows is None else rows
    if names is None or values.shape != (len(names), len(names)):
        return values  # a shape that is not square is refused later
    if rows is None or columns is None:
        without = "index" if rows is None else "columns"
        warnings.warn(
            f"The {without} of `matrix` has no class names: they are taken to be in the order of "
            f"the other axis, {', '.join(names)}",
            stacklevel=3,
        )
    named_rows = [dict(zip(columns or names, row, strict=True)) for row in values.tolist()]
    return dict(zip(names, named_rows, strict=True))


def known_names(
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


def check_number(value: Any, where: str) -> float:
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
    """Costs as one number, or as a mapping from class names; as one per class if there are no
    names.
    """
    if library_of_frame(value) is not None and len(value.shape) == 1:
        values, (index,) = named_axes(value, "costs")
        value = values if index is None else dict(zip(index, values.tolist(), strict=True))
    if value is None:
        return None
    if isinstance(value, Mapping):
        costs = {str(key): cost for key, cost in value.items()}
        for key in costs:
            if known is not None and key not in known:
                raise ValueError(f"`{name}` names the unknown class {key!r}{suggest(key, known)}")
        return {key: check_number(cost, f"`{name}` of {key!r}") for key, cost in costs.items()}
    if isinstance(value, str) or np.ndim(value) == 0:
        return check_number(value.item() if isinstance(value, np.ndarray) else value, f"`{name}`")
    if np.ndim(value) != 1 or (known is not None and len(value) != len(known)):
        expected = "one number per class"
        if known is not None:
            expected = f"one for each of the {len(known)} classes"
        raise ValueError(f"`{name}` must be a number or {expected}; got shape {np.shape(value)}")
    numbers = [
        check_number(cost, f"`{name}` of class {i}")
        for i, cost in enumerate(np.asarray(value).tolist())
    ]
    if known is None:
        return np.asarray(numbers)
    return dict(zip(known, numbers, strict=True))


def per_class(
    name: str, costs: Any, class_names: Sequence[str], default: float | None = None
) -> Any:
    """A cost for each class; ``default`` for those that a mapping does not name."""
    if costs is None:
        return None
    if isinstance(costs, Mapping):
        for key in costs:
            if key not in class_names:
                raise ValueError(
                    f"`{name}` names {key!r}, which is not a class of the "
                    f"prediction{suggest(key, class_names)}"
                )
        if default is None:
            check_same(name, tuple(costs), tuple(class_names))
        return np.asarray([costs.get(key, default) for key in class_names], dtype=float)
    if isinstance(costs, np.ndarray) and len(costs) != len(class_names):
        raise ValueError(
            f"`{name}` is given for {len(costs)} classes; the prediction has K = {len(class_names)}"
        )
    return np.full(len(class_names), costs)


def check_same(what: str, got: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Refuse unknown and missing classes."""
    for key in got:
        if key not in known:
            raise ValueError(f"`{what}` names the unknown class {key!r}{suggest(key, known)}")
    missing = [key for key in known if key not in got]
    if missing:
        raise ValueError(
            f"`{what}` must give a number for every class; missing: "
            f"{', '.join(map(repr, missing[:5]))}"
        )


def check_matrix(matrix: Any, known: tuple[str, ...] | None) -> np.ndarray | None:
    """The cost matrix as an array in the order of the class names."""
    if matrix is None:
        return None
    if isinstance(matrix, Mapping):
        classes = known or ()
        check_same("matrix", tuple(map(str, matrix)), classes)
        rows: dict[str, dict[str, Any]] = {}
        for truth, row in matrix.items():
            if not isinstance(row, Mapping):
                raise TypeError(
                    f"`matrix` of {truth!r} must be a mapping from predicted classes to costs; "
                    f"got {row!r}"
                )
            costs = {str(key): cost for key, cost in row.items()}
            costs.setdefault(str(truth), 0.0)
            check_same(f"matrix of {str(truth)!r}", tuple(costs), classes)
            rows[str(truth)] = costs
        matrix = [
            [check_number(rows[k][j], f"`matrix` of {k!r}, predicted {j!r},") for j in classes]
            for k in classes
        ]
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
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        bad = np.argwhere(~np.isfinite(table) | (table < 0))[0]
        raise ValueError(
            f"`matrix` must be finite and not negative; got {table[tuple(bad)]} for true class "
            f"{bad[0]}, predicted class {bad[1]}. "
            "Subtract the minimum of each row to convert gains into costs"
        )
    if known is not None and len(table) != len(known):
        raise ValueError(
            f"`matrix` must have a row for each of the {len(known)} names; got {len(table)} rows"
        )
    return table.astype(float)
