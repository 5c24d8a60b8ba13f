"""Coverage and size of prediction sets on labeled cases."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._format import percent
from .._resampling import check_confidence, mean_over_groups, share_estimate
from .._tables import Tabular, counted
from .._validation.labels import as_labels
from ._input import groups_to_evaluate
from ._result import PredictionSets

if TYPE_CHECKING:
    from ._predictor import SetPredictor


@dataclass(frozen=True)
class Coverage:
    """Coverage and mean set size of the cases of one class or event."""

    name: str
    n: int
    """Number of cases."""
    coverage: float
    low: float
    high: float
    size: float
    """Mean number of classes in the sets."""
    guaranteed: bool
    """Whether the guarantee is about exactly these cases."""


@dataclass(frozen=True, eq=False, repr=False)
class SetEvaluation(Tabular):
    """Coverage and size for all cases, each event with a guarantee, and each class; prints as a
    table.
    """

    _longest: ClassVar[int] = 50

    rows: tuple[Coverage, ...]
    target: float
    size_counts: np.ndarray
    """Number of cases by set size, (K + 1,)."""
    guarantee: str
    """What is guaranteed and, with groups, what the shares and intervals are about."""

    def __getitem__(self, name: str) -> Coverage:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no class or event {name!r}")

    @property
    def empty(self) -> float:
        """Share of empty sets."""
        return float(self.size_counts[0] / max(self.size_counts.sum(), 1))

    def _title(self) -> str:
        n = counted(int(self.size_counts.sum()), "set")
        return f"Coverage of {n}, {percent(self.empty)} of them empty. {self.guarantee}"

    def _columns(self) -> dict[str, Any]:
        columns = {name: [getattr(row, name) for row in self.rows] for name in vars(self.rows[0])}
        columns["coverage_low"], columns["coverage_high"] = columns.pop("low"), columns.pop("high")
        return columns


def evaluate_sets(
    fitted: SetPredictor, sets: PredictionSets, y_true: Any, groups: Any, confidence: float
) -> SetEvaluation:
    """Coverage and size of the sets."""
    check_confidence(confidence)
    names = fitted.class_names
    y = as_labels(y_true, "y_true", names, sets.member.shape[:-1])
    member = sets.member.reshape(len(y), -1)
    code, estimand, note = groups_to_evaluate(groups, len(y), fitted.grouped)
    covered, size = member[np.arange(len(y)), y], member.sum(axis=-1)
    # All cases, those of each event with a guarantee, and those of each class.
    events = {event.name: np.isin(y, event.classes) for event in fitted.events}
    where = {"all classes": np.ones(len(y), bool)} | events
    for k, name in enumerate(names):
        where.setdefault(name, y == k)
    rows = []
    for name, here in where.items():
        share = share_estimate(covered[here], code[here], confidence, estimand=estimand)
        mean_size = nan
        if here.any():
            sizes = size[here].astype(float)
            mean_size = float(mean_over_groups(sizes, code[here], confidence, estimand=estimand))
        numbers = float(share), float(share.low), float(share.high), mean_size
        rows.append(Coverage(name, int(here.sum()), *numbers, guaranteed=name in events))
    return SetEvaluation(
        rows=tuple(rows),
        target=fitted.coverage,
        size_counts=np.bincount(size, minlength=len(names) + 1),
        guarantee=fitted.guarantee + note,
    )
