"""JSON lines: an object for each case, as services log them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..language_models import Outputs, outputs_of_lines
from .predictions import KINDS
from .table import TextTable


def read_jsonl(path: Path) -> TextTable | Outputs:
    """The lines of a file as the rows of a table.

    A line has a number for each class, or ``probs`` (or ``logits`` and so on) as a list of K
    numbers, or as M lists of K for M members. It may have `id`, `y_true` or `label`, `group` and
    `model`. Or it is an output of a language model.
    """
    rows = list(_json_objects(path))
    outputs = outputs_of_lines(path, rows)
    if outputs is not None:
        return outputs
    kind = next((kind for kind in KINDS if rows and kind in rows[0]), None)
    listed = None
    if kind is not None:
        listed = _stack_lists(path, kind, [row.pop(kind, None) for row in rows])
    names = list(dict.fromkeys(chain.from_iterable(rows)))  # the first may lack a class
    texts = []
    for row in rows:
        values = [row.get(name) for name in names]  # null is a missing one, like what is not there
        texts.append(["" if value is None else str(value) for value in values])
    table = TextTable(path.name, names, texts)
    if kind is not None:
        table.kind, table.listed = kind, listed
    return table


def _json_objects(path: Path) -> Iterator[dict[str, Any]]:
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


def _stack_lists(path: Path, kind: str, lists: Sequence[Any]) -> np.ndarray:
    """(N, K), or (M, N, K) of lists of lists; every line must have the shape of the first."""
    values = []
    for i, one in enumerate(lists):
        try:
            values.append(np.asarray(one, dtype=float))
            fits = values[i].ndim in (1, 2) and values[i].shape == values[0].shape
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits or not values[i].size:
            raise ValueError(
                f"{path.name}: line {i + 1}: `{kind}` must be a list with a number for each "
                f"class; got {str(one)[:50]!r}"
            )
    return np.stack(values, axis=values[0].ndim - 1)
