"""Results as records: what a number is about in named fields, its value beside them.

``{"set": "mnist", "measure": "variance", "part": "total", "mean": 0.9, "sd": 0.01, …}``
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from labelwise.typing import Estimate

from ..statistics import mean_over_runs
from ..text import plain

__all__ = ["Record", "RunNumbers", "distinct", "estimate", "over_runs", "pick", "select"]

Record = dict[str, Any]


def select(records: Iterable[Record], **fields: Any) -> list[Record]:
    """The records that have these values in these fields."""
    return [
        record
        for record in records
        if all(record.get(name) == value for name, value in fields.items())
    ]


def pick(records: Iterable[Record], **fields: Any) -> Record:
    """The one record that has these values in these fields."""
    found = select(records, **fields)
    if len(found) != 1:
        raise KeyError(f"{len(found)} records instead of one have {fields}")
    return found[0]


def distinct(records: Iterable[Record], name: str) -> list[Any]:
    """The values of a field, each once, in the order of the records."""
    return list(dict.fromkeys(record[name] for record in records))


def over_runs(values: Any) -> Record:
    """Mean, standard deviation (n − 1) and 95 % t-interval of one number per run, and the numbers.

    Where a run has no such number (NaN, such as the possible gain of a run without errors), there
    is no mean over the runs either: ``None``.
    """
    x = np.asarray(values, dtype=float)
    mean = sd = low = high = None
    if np.isfinite(x).all():
        mean = float(x.mean())
        if len(x) > 1:
            over = mean_over_runs(x)
            sd, low, high = float(x.std(ddof=1)), float(over.low), float(over.high)
    return {"mean": mean, "sd": sd, "low": low, "high": high, "runs": x.tolist()}


def estimate(found: Estimate) -> Record:
    """A number with the ends of its interval, which are ``None`` if it has none."""
    return dict(plain({"value": found.value, "low": found.low, "high": found.high}))


class RunNumbers:
    """Numbers of several runs, added one at a time."""

    def __init__(self) -> None:
        self._values: dict[str, dict[tuple[tuple[str, Any], ...], list[float]]] = {}

    def add(self, quantity: str, value: Any, **fields: Any) -> None:
        """The value of a quantity in the next run; ``fields`` say what it is about."""
        cells = self._values.setdefault(quantity, {})
        cells.setdefault(tuple(fields.items()), []).append(float(value))

    def over_runs(self) -> dict[str, Any]:
        """Quantity -> its records over the runs; a single one, if it has no fields."""
        found: dict[str, Any] = {}
        for quantity, cells in self._values.items():
            records = [dict(fields) | over_runs(values) for fields, values in cells.items()]
            found[quantity] = records[0] if () in cells else records
        return found
