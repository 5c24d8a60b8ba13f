"""Prediction sets of new cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._format import percent
from .._frames import Library, frame, index_columns
from .._tables import Shown, Summary, counted


class CaseResults(Shown):
    """Results with a row for each case."""

    def to_frame(self, *, ids: Any = None, library: Library = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each case, from `columns`."""
        return frame(self.columns(ids=ids), library)

    def columns(self, *, ids: Any = None) -> dict[str, Any]:
        """The columns of `to_frame`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class PredictionSets(CaseResults):
    """Sets of classes, as booleans."""

    member: np.ndarray
    """Whether each class is in the set, (..., K)."""
    class_names: tuple[str, ...]
    guarantee: str
    """What the sets guarantee, in words."""

    @property
    def size(self) -> np.ndarray:
        """Number of classes in each set, (...,)."""
        return np.asarray(self.member.sum(axis=-1))

    @property
    def empty(self) -> np.ndarray:
        """Which sets have no class: no class is plausible. The case may be unlike all calibration
        cases.
        """
        return np.asarray(self.size == 0)

    def __getitem__(self, case: Any) -> tuple[str, ...]:
        """The class names in the set of one case."""
        row = self.member[case]
        if row.ndim != 1:
            raise IndexError("index one case with integers; for several use `member`")
        return tuple(np.asarray(self.class_names, dtype=object)[row])

    def __len__(self) -> int:
        return len(self.member)

    def columns(self, *, ids: Any = None) -> dict[str, Any]:
        """For each case its classes joined by semicolons, the ``size`` and, for each class, whether
        it is in the set.
        """
        shape, names = self.member.shape[:-1], np.asarray(self.class_names, dtype=object)
        rows = self.member.reshape(-1, len(names))
        columns = dict(index_columns(shape, ids))
        columns["set"] = np.asarray(["; ".join(names[row]) for row in rows], dtype=object)
        columns["size"] = self.size.reshape(-1)
        for k, name in enumerate(self.class_names):
            columns[f"in_{name}"] = rows[:, k]
        return columns

    def _summary(self) -> Summary:
        sizes, counts = np.unique(self.size, return_counts=True)
        rows = [
            (int(size), f"{count:,}", percent(count / max(self.size.size, 1)))
            for size, count in zip(sizes, counts, strict=True)
        ]
        return Summary(
            f"Prediction sets of {counted(self.size.size, 'case')}",
            ("classes in the set", "cases", "share"),
            rows,
            self.guarantee,
        )
