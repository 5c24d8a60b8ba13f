"""JSON lines: an object for each case, as services log them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .csv import LARGEST
from .files import open_text_file
from .predictions import KINDS
from .tables import Table, text_array

__all__ = ["read_jsonl"]

LONGEST_LINE = 1 << 22


def read_jsonl(path: Path) -> Table:
    """The lines of a file as the rows of a table.

    A line has ``probs`` (or ``logits`` and so on) as a list of K numbers, as M lists of K for M
    members, or as an object with a number for each class; or it has a number for each class
    directly. It may have `id`, `y_true` or `label`, `group` and `model`.
    """
    rows = list(_lines(path))
    if not rows:
        raise ValueError(f"{path.name} has no lines")
    kind = next((kind for kind in KINDS if kind in rows[0]), None)
    # All lines are looked at: a class may be missing in the first one.
    keys = dict.fromkeys(key for row in rows for key in row if key != kind)

    def read_column(name: str) -> np.ndarray:
        return text_array(
            [_text(path, i, name, row.get(name)) for i, row in enumerate(rows)],
            f"{path.name}: {name!r}",
        )

    def read_numbers(names: Sequence[str]) -> np.ndarray:
        return np.array(
            [
                [_class_number(path, i, name, row.get(name)) for name in names]
                for i, row in enumerate(rows)
            ]
        )

    numeric = frozenset(key for key in keys if _holds_numbers([row.get(key) for row in rows]))
    if kind is None:
        return Table(path.name, len(rows), tuple(keys), numeric, read_column, read_numbers)
    if isinstance(rows[0][kind], dict):
        classes, values = _from_objects(path, kind, rows)
    else:
        classes, values = None, _from_lists(path, kind, rows)
    return Table(
        path.name,
        len(rows),
        tuple(keys),
        numeric,
        read_column,
        read_numbers,
        kind=kind,
        listed=values,
        class_names=classes,
    )


def _holds_numbers(values: list[Any]) -> bool:
    numbers = sum(map(_is_number, values))
    return numbers > 0 and numbers >= sum(isinstance(value, str) for value in values)


def _from_objects(
    path: Path, kind: str, rows: list[dict[str, Any]]
) -> tuple[tuple[str, ...], np.ndarray]:
    """The classes of all lines, and their numbers."""
    objects = []
    for i, row in enumerate(rows):
        if not isinstance(row.get(kind), dict):
            raise ValueError(
                f"{path.name}: line {i + 1} does not hold what the first one does: `{kind}` must "
                "be an object"
            )
        objects.append(row[kind])
    classes = tuple(dict.fromkeys(name for numbers in objects for name in numbers))
    if not classes:
        raise ValueError(f"{path.name}: `{kind}` must have a number for each class; it has none")
    values = [
        [_class_number(path, i, name, numbers.get(name)) for name in classes]
        for i, numbers in enumerate(objects)
    ]
    return classes, np.array(values)


def _from_lists(path: Path, kind: str, rows: list[dict[str, Any]]) -> np.ndarray:
    """(N, K), or (M, N, K) of lists of lists; every line must have the shape of the first."""
    values: list[np.ndarray] = []
    for i, row in enumerate(rows):
        try:
            value = np.asarray(row.get(kind), dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"{path.name}: line {i + 1} does not hold what the first one does ({error})"
            ) from error
        if i == 0 and (value.ndim not in (1, 2) or not value.size):
            raise ValueError(
                f"{path.name}: each line must hold one number for each class; the first has shape "
                f"{value.shape}"
            )
        if i and value.shape != values[0].shape:
            raise ValueError(
                f"{path.name}: line {i + 1} does not hold what the first one does: `{kind}` has "
                f"shape {value.shape}, not {values[0].shape}"
            )
        values.append(value)
    stacked = np.stack(values)
    return stacked if stacked.ndim == 2 else stacked.transpose(1, 0, 2)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open_text_file(path, LARGEST) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{path.name}: line {number} has more than {LONGEST_LINE:,} bytes")
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except ValueError as error:
                raise ValueError(
                    f"{path.name}: line {number} is not JSON ({error}); cut short?"
                ) from error
            if not isinstance(row, dict):
                raise ValueError(
                    f'{path.name}: line {number} must be an object such as {{"id": 1, "probs": '
                    f"[0.9, 0.1]}}"
                )
            yield row


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _class_number(path: Path, i: int, name: str, value: Any) -> float:
    if not _is_number(value):
        came = "it has none" if value is None else f"got {str(value)[:50]!r}"
        raise ValueError(
            f"{path.name}: line {i + 1} does not hold what others do: {name!r} must be a number; "
            f"{came}"
        )
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{path.name}: line {i + 1}: {name!r} is too large a number") from error


def _text(path: Path, i: int, name: str, value: Any) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError(
            f"{path.name}: line {i + 1} does not hold what others do: {name!r} must be text or a "
            f"number; got {str(value)[:50]!r}"
        )
    return str(value)
