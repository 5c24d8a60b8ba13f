"""Coverage and size of prediction sets on labeled cases."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InputError
from .._format import fixed, number, percent
from .._resampling import check_confidence, mean_over_groups, share_estimate
from .._tables import Shown, Summary, counted, frame, json_ready
from .._validation.labels import as_labels
from ._input import case_groups
from ._result import PredictionSets

if TYPE_CHECKING:
    from ._predictor import SetPredictor


@dataclass(frozen=True)
class Coverage:
    """Coverage and mean set size of the cases of one class or event."""

    name: str
    n: int
    """Cases; of whole groups, groups."""
    coverage: float
    low: float
    high: float
    size: float
    """Mean number of classes in the sets."""
    guaranteed: bool
    """Whether the guarantee is about exactly these cases."""
    method: str = ""
    """How the interval was computed, and from how many groups."""


@dataclass(frozen=True, eq=False, repr=False)
class SetEvaluation(Shown):
    """Coverage and size for all cases, each event with a guarantee, and each class; prints as a
    table.
    """

    rows: tuple[Coverage, ...]
    target: float
    size_counts: np.ndarray
    """Number of cases by set size, (K + 1,)."""
    confidence: float
    guarantee: str
    unit: str = "case"
    note: str = ""
    """Of intervals over groups: what they are about."""

    def __getitem__(self, name: str) -> Coverage:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no class or event {name!r}")

    @property
    def empty(self) -> float:
        """Share of empty sets."""
        return float(self.size_counts[0] / max(self.size_counts.sum(), 1))

    def to_frame(self, *, library: str = "pandas") -> Any:
        """A data frame of pandas or polars with a row for all cases, each event and each class."""
        names = vars(self.rows[0])
        return frame({name: [getattr(row, name) for row in self.rows] for name in names}, library)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found: dict[str, Any] = json_ready(asdict(self))
        del found["confidence"]
        return found

    def _summary(self) -> Summary:
        interval = f"{100 * self.confidence:g} % interval"
        header = ("", f"{self.unit}s", "guaranteed", "coverage", interval, "mean size")
        title = (
            f"Coverage of {counted(int(self.size_counts.sum()), 'set')}, {percent(self.empty)} of "
            "them empty"
        )
        after = f"{self.guarantee} {self.note}".rstrip()
        return Summary(title, header, [self._cells(row) for row in self.rows], after)

    def _cells(self, row: Coverage) -> list[str]:
        guaranteed = number(self.target, 4) if row.guaranteed else ""
        cells = [row.name, f"{row.n:,}", guaranteed]
        if row.n == 0:
            return [*cells, "", "", ""]
        interval = f"{percent(row.low)} to {percent(row.high)}"
        return [*cells, percent(row.coverage), interval, fixed(row.size, 2)]


def evaluate_sets(
    fitted: SetPredictor, sets: PredictionSets, y_true: Any, groups: Any, confidence: float
) -> SetEvaluation:
    """Coverage and size of the sets."""
    check_confidence(confidence)
    names = fitted.class_names
    y = as_labels(y_true, "y_true", names, sets.member.shape[:-1])
    member = sets.member.reshape(len(y), -1)
    if fitted.coverage_unit is not None and groups is None:
        raise InputError(
            "these sets were fitted with `groups`, so they are evaluated by group", fix="groups"
        )
    code = case_groups(groups, len(y))
    covered, size = member[np.arange(len(y)), y], member.sum(axis=-1)
    # All cases, those of each event with a guarantee, and those of each class.
    events = {event.name: np.isin(y, event.classes) for event in fitted.events}
    where = {"all classes": np.ones(len(y), bool)} | events
    for k, name in enumerate(names):
        where.setdefault(name, y == k)
    rows = []
    for name, here in where.items():
        cases = covered[here], size[here], code[here]
        rows.append(_coverage_row(fitted, name, *cases, confidence, name in events))
    return SetEvaluation(
        rows=tuple(rows),
        target=fitted.coverage,
        size_counts=np.bincount(size, minlength=len(names) + 1),
        confidence=confidence,
        guarantee=fitted.guarantee,
        unit="group" if fitted.coverage_unit == "group" else "case",
        note="" if groups is None else _note_on_groups(fitted, rows),
    )


def _note_on_groups(fitted: SetPredictor, rows: list[Coverage]) -> str:
    """What intervals over groups are about."""
    if fitted.coverage_unit == "group":
        return "Intervals are exact for whole groups."
    who = "a random case of a random group" if fitted.coverage_unit == "case" else "a random case"
    note = f"Coverage is that of {who}, and intervals allow for dependence within groups."
    if any(row.method.startswith("exact") for row in rows):
        note += (
            " Where nothing was missed, or everything, the groups are the units of an exact "
            "interval."
        )
    return note


def _coverage_row(
    fitted: SetPredictor,
    name: str,
    covered: np.ndarray,
    size: np.ndarray,
    code: np.ndarray,
    confidence: float,
    guaranteed: bool,
) -> Coverage:
    if not len(covered):
        return Coverage(name, 0, nan, nan, nan, nan, guaranteed)
    mean_size = float(size.mean())
    if fitted.coverage_unit == "group":
        _, group = np.unique(code, return_inverse=True)
        covered = np.bincount(group, ~covered) == 0  # of each group: nothing was missed
        share = share_estimate(covered, None, confidence)
    elif fitted.coverage_unit == "case":
        share = share_estimate(covered, code, confidence, estimand="group")
        mean_size = float(mean_over_groups(size.astype(float), code, confidence, estimand="group"))
    else:
        share = share_estimate(covered, code, confidence)
    return Coverage(
        name=name,
        n=len(covered),
        coverage=float(share),
        low=share.low,
        high=share.high,
        size=mean_size,
        guaranteed=guaranteed,
        method=share.method,
    )
