"""A fitted set predictor: what it guarantees, sets of new cases, and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._frames import same_rows
from .._tables import first_names
from .._validation.labels import check_fitted_classes
from ._input import one_class_each
from ._result import PredictionSets
from ._storage import SETS, Fitted

if TYPE_CHECKING:
    from ._evaluation import SetEvaluation


@dataclass(frozen=True)
class EventThreshold:
    """The threshold of the cases whose true class lies in one event."""

    name: str
    classes: tuple[int, ...]
    """Positions of the classes of the event."""
    threshold: float
    n_cases: int
    """Calibration cases."""
    n_groups: int | None


@dataclass(frozen=True, eq=False, repr=False)
class SetPredictor(Fitted):
    """Thresholds fitted on calibration cases; made by `fit_sets` and `load_sets`. Prints its
    guarantee and thresholds.
    """

    _format: ClassVar[str] = SETS

    thresholds: np.ndarray
    """A class is in the set if its score −p is at most this, (K,). A class of several events has
    the largest threshold, so that the guarantee of each holds.
    """
    events: tuple[EventThreshold, ...]
    class_names: tuple[str, ...]
    coverage: float
    kind: str
    """For whom the guarantee holds: ``"marginal"``, ``"class"`` or ``"events"``."""
    grouped: bool = False
    """Whether the guarantee is about a random case of a new group."""

    @property
    def guarantee(self) -> str:
        """What is guaranteed, for whom, and on average over what."""
        case, average = "a new case", "new cases and calibration cases"
        if self.grouped:
            case = "a random case of a new group"
            average = "new groups and calibration groups (each counts the same)"
        whom, caveat = {
            "marginal": ("", "; single classes may be covered less"),
            "class": (" of each class", ""),
            "events": (" of each event", "; not for each class of an event by itself"),
        }[self.kind]
        return (
            f"With probability at least {100 * self.coverage:g} %, the set of {case}{whom} "
            f"contains its true class, on average over {average} from the same population{caveat}."
        )

    def predict(self, q: Any) -> PredictionSets:
        """The prediction set of each case.

        Parameters
        ----------
        q : distribution, Predictions or mean probabilities (..., K)
            Of the classes the thresholds were fitted for, from the same model.
        """
        p, names = one_class_each(q, "q")
        check_fitted_classes(p.shape[-1], names, self.class_names)
        member = p >= -self.thresholds
        return PredictionSets(member, self.class_names, self.guarantee)

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
            then that of a random case of a random group. Of sets fitted without groups it is that
            of a random case, with intervals that allow for the groups.
        confidence : float
            Of the intervals: Clopper–Pearson, or t-intervals over groups on the logit scale. Where
            nothing was missed, they are exact for as many independent groups.
        """
        from ._evaluation import evaluate_sets

        y_true, groups = same_rows(q, y_true=y_true, groups=groups)
        return evaluate_sets(self, self.predict(q), y_true, groups, confidence)

    def _title(self) -> str:
        return f"Sets of classes. {self.guarantee}"

    def _columns(self) -> dict[str, Any]:
        classes = []
        for event in self.events:
            classes.append(first_names([self.class_names[k] for k in event.classes]))
        columns = {
            "guarantee_for": [event.name for event in self.events],
            "classes": classes,
            "n_cases": [event.n_cases for event in self.events],
        }
        if self.grouped:
            columns["n_groups"] = [event.n_groups for event in self.events]
        # a class is in the set if its score -p is at most its threshold
        return columns | {"in_set_from": [-event.threshold for event in self.events]}
