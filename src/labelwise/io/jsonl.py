"""JSON lines: an object for each case, as services log them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .csv import LARGEST
from .files import open_text_file
from .predictions import KINDS
from .table import Table, text_array

__all__ = ["read_jsonl"]

LONGEST_LINE = 1 << 22
FIRST, OTHERS = "the first one does", "others do"


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
    predictions = [] if kind is None else [row.pop(kind, None) for row in rows]
    names = _names(rows)

    def read_column(name: str) -> np.ndarray:
        texts = []
        for i, row in enumerate(rows):
            value = row.get(name)
            if not isinstance(value, str) and not _is_number(value):
                came = str(value)[:50]
                raise _odd_line(path, i, OTHERS, f"{name!r} must be text or a number; got {came!r}")
            texts.append(str(value))
        return text_array(texts, f"{path.name}: {name!r}")

    def read_numbers(wanted: Sequence[str]) -> np.ndarray:
        return _numbers(path, rows, wanted)

    numeric = frozenset(name for name in names if _holds_numbers(rows, name))
    table = Table(path.name, len(rows), names, numeric, read_column, read_numbers)
    if kind is None:
        return table
    if not isinstance(predictions[0], dict):
        return replace(table, kind=kind, listed=_from_lists(path, kind, predictions))
    for i, one in enumerate(predictions):
        if not isinstance(one, dict):
            raise _odd_line(path, i, FIRST, f"`{kind}` must be an object")
    classes = _names(predictions)
    values = _numbers(path, predictions, classes)
    return replace(table, kind=kind, listed=values, class_names=classes)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open_text_file(path, LARGEST) as file:
        lines = iter(lambda: file.readline(LONGEST_LINE + 1), b"")
        for number, line in enumerate(lines, 1):
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


def _names(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The keys of all lines: a class may be missing in the first one."""
    return tuple(dict.fromkeys(name for row in rows for name in row))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _holds_numbers(rows: Sequence[dict[str, Any]], name: str) -> bool:
    values = [row.get(name) for row in rows]
    n_numbers = sum(map(_is_number, values))
    return n_numbers >= max(1, sum(isinstance(value, str) for value in values))


def _numbers(path: Path, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> np.ndarray:
    """(N, K): the number of each line under each name."""
    if not names:
        raise ValueError(f"{path.name} must have a number for each class; it has none")
    for i, row in enumerate(rows):
        for name in names:
            value = row.get(name)
            if not _is_number(value):
                came = "it has none" if value is None else f"got {str(value)[:50]!r}"
                raise _odd_line(path, i, OTHERS, f"{name!r} must be a number; {came}")
    return np.array([[row[name] for name in names] for row in rows], dtype=float)


def _from_lists(path: Path, kind: str, lists: Sequence[Any]) -> np.ndarray:
    """(N, K), or (M, N, K) of lists of lists; every line must have the shape of the first."""
    values: list[np.ndarray] = []
    for i, one in enumerate(lists):
        try:
            values.append(np.asarray(one, dtype=float))
        except (TypeError, ValueError, OverflowError) as error:
            raise _odd_line(path, i, FIRST, f"`{kind}` must hold numbers ({error})") from error
        if values[i].shape != values[0].shape:
            shapes = f"{values[i].shape}, not {values[0].shape}"
            raise _odd_line(path, i, FIRST, f"`{kind}` has shape {shapes}")
    if values[0].ndim not in (1, 2) or not values[0].size:
        raise ValueError(
            f"{path.name}: each line must hold one number for each class; the first has shape "
            f"{values[0].shape}"
        )
    stacked = np.stack(values)
    return stacked if stacked.ndim == 2 else stacked.transpose(1, 0, 2)


def _odd_line(path: Path, i: int, others: str, why: str) -> ValueError:
    return ValueError(f"{path.name}: line {i + 1} does not hold what {others}: {why}")
