"""JSON lines: an object for each case, as services log them."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .files import open_regular
from .predictions import KINDS
from .tables import find_roles, table_fields, typed

__all__ = ["read_jsonl"]

LONGEST_LINE = 1 << 22


def read_jsonl(path: Path) -> dict[str, Any]:
    """The predictions in the lines of a file.

    A line has ``probs`` (or ``logits`` and so on) as a list of K numbers, as M lists of K for M members, or as an object with a number for
    each class; or it has a number for each class directly. It may have `id`, `y_true` or `label`, `group` and `model`.
    """
    rows = _lines(path)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{path.name} has no lines")
    kind = next((kind for kind in KINDS if kind in first), None)
    inner: Any = first if kind is None else first[kind]
    names = [name for name in inner if _is_number(inner[name])] if isinstance(inner, dict) else None
    if kind is None:
        roles = find_roles(path.name, list(first), names or [])
    else:
        shape = np.shape(inner if names is None else names)
        classes = [str(k) for k in range(shape[-1] if shape else 0)] if names is None else names
        roles = find_roles(path.name, [*classes, *(key for key in first if key != kind)], classes)
    numbers, others = array("d"), {role: list[str]() for role in roles.others}
    count = 0
    for row in chain([first], rows):
        count += 1
        try:
            inner = row if kind is None else row[kind]
            numbers.extend(np.ravel(inner if names is None else [inner[name] for name in roles.classes]).astype(float).tolist())
            for role, name in roles.others.items():
                others[role].append(_text(row[name]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{path.name}: line {count} does not hold what the first one does ({error})") from error
    if len(numbers) != count * (len(numbers) // count):
        raise ValueError(f"{path.name}: its lines must all hold the same number of values")
    shape = (len(roles.classes),) if names is not None else np.shape(first[kind]) if kind else ()
    if len(shape) not in (1, 2) or count * int(np.prod(shape)) != len(numbers):
        raise ValueError(f"{path.name}: each line must hold one number for each class; the first has shape {shape}")
    values = np.array(numbers).reshape(count, *shape)
    columns = {role: typed(texts, f"{path.name}: {roles.others[role]!r}") for role, texts in others.items()}
    found = table_fields(path.name, roles, values if len(shape) == 1 else values.transpose(1, 0, 2), columns)
    return {kind: found.pop(roles.kind), **found} if kind else found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open_regular(path) as file:
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
                raise ValueError(f"{path.name}: line {number} is not JSON ({error}); cut short?") from error
            if not isinstance(row, dict):
                raise ValueError(f'{path.name}: line {number} must be an object such as {{"id": 1, "probs": [0.9, 0.1]}}')
            yield row


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise TypeError(f"{str(value)[:50]!r} is neither text nor a number")
    return str(value)
