"""A fitted set predictor: what it guarantees, sets of new cases, and their evaluation."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._frames import same_rows
from .._tables import SHOWN, Shown, Summary, first_names
from ._input import check_classes, one_class_each
from ._quantiles import as_level, conformal_threshold
from ._result import PredictionSets
from ._shapes import without_gaps

if TYPE_CHECKING:
    from ._evaluation import SetEvaluation


@dataclass(frozen=True, eq=False)
class EventScores:
    """The calibration scores of the cases whose true class lies in one event."""

    name: str
    inside: np.ndarray
    """The classes of the event, (K,) booleans."""
    scores: np.ndarray
    """Sorted, (n,); of whole groups, the largest score of each."""
    weights: np.ndarray | None
    """Of the scores, where groups differ in size; ``None``: equal."""
    n_cases: int
    n_groups: int | None


@dataclass(frozen=True, eq=False, repr=False)
class SetPredictor(Shown):
    """Thresholds fitted on calibration cases; made by `fit_sets` and `load_sets`. Prints its
    guarantee and thresholds.
    """

    events: tuple[EventScores, ...]
    class_names: tuple[str, ...]
    coverage: float
    per: str
    """``"marginal"``, ``"class"`` or ``"events"``."""
    cover: str | None = None
    """With groups: ``"case"``, a random case of a new group, or ``"group"``, all cases of a new
    group.
    """
    order: np.ndarray | None = None
    """Of ordered classes: their positions from lowest to highest; sets then have no gaps."""

    @cached_property
    def thresholds(self) -> np.ndarray:
        """A class is in the set if its score −p is at most this, (K,). A class of several events
        has the largest threshold, so that the guarantee of each holds.
        """
        level = as_level(self.coverage)
        found = np.full(len(self.class_names), -inf)
        for event in self.events:
            limit = conformal_threshold(event.scores, level, event.weights)
            found[event.inside] = np.maximum(found[event.inside], limit)
        return found

    @property
    def shared(self) -> np.ndarray:
        """Which classes belong to several events, (K,): they are covered at least as often as each
        of these asks for.
        """
        return np.asarray(np.sum([event.inside for event in self.events], axis=0) > 1)

    @property
    def guarantee(self) -> str:
        """What is guaranteed, for whom, and on average over what."""
        from ._guarantee import guarantee

        return guarantee(self)

    def predict(self, q: Any) -> PredictionSets:
        """The prediction set of each case.

        Parameters
        ----------
        q : distribution, Predictions or mean probabilities (..., K)
            Of the classes the thresholds were fitted for, from the same model.
        """
        p = self._probabilities(q)
        member = -p.reshape(-1, p.shape[-1]) <= self.thresholds
        if self.order is not None:
            member = without_gaps(member, self.order)
        return PredictionSets(member.reshape(p.shape), self.class_names, self.guarantee)

    def evaluate(
        self, q: Any, y_true: Any, *, groups: Any = None, confidence: float = 0.95
    ) -> SetEvaluation:
        """Coverage and size of the sets of labeled cases, for each class and each event with a
        guarantee.

        Parameters
        ----------
        q : distribution, Predictions or mean probabilities (N, K)
            Cases that were used neither for training nor for calibration.
        y_true : array (N,)
            True classes, names or positions.
        groups : array (N,), optional
            Which cases belong together; needed if the sets were fitted with groups, and coverage is
            then that of a random group. Of sets fitted without groups it is that of a random case,
            with intervals that allow for the groups.
        confidence : float
            Of the intervals: Clopper–Pearson, or t-intervals over groups on the logit scale. Where
            nothing was missed, they are exact for as many independent groups.
        """
        from ._evaluation import evaluate_sets

        y_true, groups = same_rows(q, y_true=y_true, groups=groups)
        return evaluate_sets(self, self.predict(q), y_true, groups, confidence)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to an .npz file of plain numbers and text, for `load_sets`."""
        from ._storage import save_predictor

        return save_predictor(self, path)

    def _probabilities(self, q: Any) -> np.ndarray:
        p, names = one_class_each(q, "q")
        check_classes(p, names, self.class_names)
        return p

    def _summary(self) -> Summary:
        header = ["guarantee for", "classes", "cases", "groups", "in the set if"]
        rows = []
        for event in self.events[:SHOWN]:
            classes = first_names([self.class_names[k] for k in np.flatnonzero(event.inside)], 3)
            groups = f"{event.n_groups:,}" if event.n_groups is not None else ""
            limit = self._limit_in_words(event)
            rows.append([event.name, classes, f"{event.n_cases:,}", groups, limit])
        if self.cover is None:
            for row in (header, *rows):
                del row[3]
        per = "event" if self.per == "events" else self.per
        title = f"Sets (coverage {self.coverage:g} per {per})"
        if len(self.events) > SHOWN:
            title += f" (the first {SHOWN} of {len(self.events)})"
        return Summary(title, header, rows, self.guarantee)

    def _limit_in_words(self, event: EventScores) -> str:
        limits = -self.thresholds[event.inside]
        if limits.max() == -inf:
            return "always"
        ends = sorted({f"{limit:.4g}" for limit in (limits.min(), limits.max())})
        return f"p ≥ {' to '.join(ends)}"
