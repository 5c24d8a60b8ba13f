"""Coverage and size of prediction sets on labeled cases."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InputError
from .._format import fixed, number, percent
from .._resampling import check_confidence, mean_over_groups, share_estimate
from .._tables import Shown, Summary, counted, frame, plain
from .._validation.labels import as_labels
from ._input import codes_of
from ._quantiles import as_level, conformal_rank
from ._result import PredictionSets

if TYPE_CHECKING:
    from ._predictor import EventScores, SetPredictor


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
    expected: tuple[float, float] | None = None
    """Where the coverage of so many new cases lies with the confidence of the interval, given the
    number of calibration cases: the (beta-)binomial law of scores without ties. ``None`` where it
    is not known, as for an event that shares a class with another.
    """
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
        names = ("name", "n", "coverage", "low", "high", "size", "guaranteed", "method")
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        expected = [row.expected or (nan, nan) for row in self.rows]
        columns["expected_low"], columns["expected_high"] = map(list, zip(*expected, strict=True))
        return frame(columns, library)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found: dict[str, Any] = plain(asdict(self))
        del found["confidence"]
        return found

    def _summary(self) -> Summary:
        interval = f"{100 * self.confidence:g} % interval"
        header = ("", f"{self.unit}s", "guaranteed", "coverage", interval, "expected", "mean size")
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
            return [*cells, "", "", "", ""]
        expected = ""
        if row.expected is not None:
            expected = f"{percent(row.expected[0])} to {percent(row.expected[1])}"
        interval = f"{percent(row.low)} to {percent(row.high)}"
        return [*cells, percent(row.coverage), interval, expected, fixed(row.size, 2)]


def evaluate_sets(
    fitted: SetPredictor, sets: PredictionSets, y_true: Any, groups: Any, confidence: float
) -> SetEvaluation:
    """Coverage and size of the sets."""
    check_confidence(confidence)
    names = fitted.class_names
    y = as_labels(y_true, "y_true", names, sets.member.shape[:-1])
    member = sets.member.reshape(len(y), -1)
    code = codes_of(groups, len(y))
    if fitted.cover is not None and code is None:
        raise InputError(
            "these sets were fitted with `groups`, so they are evaluated by group", fix="groups"
        )
    covered, size = member[np.arange(len(y)), y], member.sum(axis=-1)
    # All cases, those of each event with a guarantee, and those of each class.
    events = {e.name: e for e in fitted.events}
    where = {"all classes": np.ones(len(y), bool)} if "all classes" not in events else {}
    where |= {name: event.inside[y] for name, event in events.items()}
    where |= {name: y == k for k, name in enumerate(names) if name not in events}
    rows = []
    for name, here in where.items():
        code_here = None if code is None else code[here]
        event = events.get(name)
        rows.append(_row(fitted, name, covered[here], size[here], code_here, confidence, event))
    counts = np.bincount(size, minlength=len(names) + 1)
    unit = "group" if fitted.cover == "group" else "case"
    note = _note(fitted, rows, code)
    return SetEvaluation(
        tuple(rows), fitted.coverage, counts, confidence, fitted.guarantee, unit, note
    )


def _note(fitted: SetPredictor, rows: list[Coverage], code: np.ndarray | None) -> str:
    """What intervals over groups are about."""
    if code is None:
        return ""
    if fitted.cover == "group":
        return "Intervals are exact for whole groups."
    who = "a random case of a random group" if fitted.cover == "case" else "a random case"
    note = f"Coverage is that of {who}, and intervals allow for dependence within groups."
    if any(row.method.startswith("exact") for row in rows):
        note += (
            " Where nothing was missed, or everything, the groups are the units of an exact "
            "interval."
        )
    return note


def _row(
    fitted: SetPredictor,
    name: str,
    covered: np.ndarray,
    size: np.ndarray,
    code: np.ndarray | None,
    confidence: float,
    event: EventScores | None,
) -> Coverage:
    guaranteed, n = event is not None, len(covered)
    if n == 0:
        return Coverage(name, 0, nan, nan, nan, nan, guaranteed)
    expected = None
    mean_size = float(size.mean())
    if fitted.cover == "group":
        assert code is not None  # noqa: S101 - evaluate_sets refuses
        _, group = np.unique(code, return_inverse=True)
        covered = np.bincount(group, ~covered) == 0  # of each group: nothing was missed
        n = len(covered)
        share = share_estimate(covered, None, confidence)
    elif fitted.cover == "case":
        share = share_estimate(covered, code, confidence, estimand="group")
        mean_size = float(mean_over_groups(size.astype(float), code, confidence, estimand="group"))
    else:
        share = share_estimate(covered, code, confidence)
        if code is None and event is not None and _law_is_known(fitted, event):
            expected = _expected(event.n_cases, n, fitted, confidence)
    return Coverage(
        name, n, float(share), share.low, share.high, mean_size, guaranteed, expected, share.method
    )


def _law_is_known(fitted: SetPredictor, event: EventScores) -> bool:
    """Whether the threshold of the event is its own: a class of several events has the largest of
    theirs.
    """
    return (
        event.weights is None and fitted.order is None and not (fitted.shared & event.inside).any()
    )


def _expected(
    n_calibration: int, n: int, fitted: SetPredictor, confidence: float
) -> tuple[float, float]:
    """The central share of the beta-binomial law of the coverage of n new cases."""
    from scipy.stats import betabinom

    rank = conformal_rank(n_calibration, as_level(fitted.coverage))
    tail = (1 - confidence) / 2
    low, high = betabinom.ppf([tail, 1 - tail], n, rank, n_calibration + 1 - rank)
    return float(low) / n, float(high) / n
