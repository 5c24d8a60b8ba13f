"""JSON lines: an object for each case, as services log them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .columns import order_classes
from .csv import table_of_texts
from .predictions import KINDS
from .table import Table

__all__ = ["read_jsonl"]


def read_jsonl(path: Path) -> Table:
    """The lines of a file as the rows of a table.

    A line has ``probs`` (or ``logits`` and so on) as a list of K numbers, as M lists of K for M
    members, or as an object with a number for each class; or it has a number for each class
    directly. It may have `id`, `y_true` or `label`, `group` and `model`.
    """
    rows = list(_lines(path))
    kind = next((kind for row in rows[:1] for kind in KINDS if kind in row), None)
    if kind is None:
        return _table(path, rows, _names(rows))
    predictions = [row.pop(kind, None) for row in rows]
    table = _table(path, rows, _names(rows))
    if not isinstance(predictions[0], dict):
        return replace(table, kind=kind, listed=_from_lists(path, kind, predictions))
    for i, one in enumerate(predictions):
        if not isinstance(one, dict):
            raise _odd_line(path, i, f"`{kind}` must be an object, as in the first", one)
    classes, class_names = order_classes(_names(predictions))
    values = _table(path, predictions, classes).numbers(classes)
    return replace(table, kind=kind, listed=values, class_names=class_names)


def _table(path: Path, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Table:
    """The values of each line as texts; ``null`` is a missing one, like what is not there."""
    texts = []
    for row in rows:
        values = [row.get(name) for name in names]
        texts.append(["" if value is None else str(value) for value in values])
    return table_of_texts(path.name, names, texts)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except ValueError as error:
                raise ValueError(
                    f"{path.name}: line {number} is not JSON ({error}); cut short?"
                ) from error
            if not isinstance(row, dict):
                raise ValueError(f"{path.name}: line {number} must be an object in {{}}")
            yield row


def _names(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The keys of all lines: a class may be missing in the first one."""
    return tuple(dict.fromkeys(name for row in rows for name in row))


def _from_lists(path: Path, kind: str, lists: Sequence[Any]) -> np.ndarray:
    """(N, K), or (M, N, K) of lists of lists; every line must have the shape of the first."""
    values: list[np.ndarray] = []
    for i, one in enumerate(lists):
        try:
            values.append(np.asarray(one, dtype=float))
        except (TypeError, ValueError, OverflowError) as error:
            raise _odd_line(path, i, f"`{kind}` must hold numbers", one) from error
        if values[i].shape != values[0].shape or values[i].ndim not in (1, 2) or not values[i].size:
            raise _odd_line(path, i, f"`{kind}` must have a number for each class", one)
    stacked = np.stack(values)
    return stacked if stacked.ndim == 2 else stacked.transpose(1, 0, 2)


def _odd_line(path: Path, i: int, rule: str, value: Any) -> ValueError:
    return ValueError(f"{path.name}: line {i + 1}: {rule}; got {str(value)[:50]!r}")
