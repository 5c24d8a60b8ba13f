"""What decisions change: calls, misses, false alarms and costs of each class, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from .._arrays import as_double, to_numpy
from .._engine.blocks import row_blocks
from .._format import number
from .._frames import same_rows
from .._resampling import Estimate, check_confidence, t_interval_with_extremes
from .._tables import Summary, Tabular, counted
from ..evaluation._excess import mean_excess
from .costs import Task
from .frames import PART, outcomes_decided_about
from .policy import Decisions
from .problem import ABSTAIN, ASK, DecisionProblem

MAX_CLASSES = 20  # of a printed table; of more, those with the largest change of cost


@dataclass(frozen=True, eq=False, repr=False)
class DecisionSummary(Tabular):
    """Decisions compared with always predicting the most probable class (per label: acting above
    0.5); prints as a table.
    """

    class_names: tuple[str, ...]
    by_class: dict[str, np.ndarray]
    """Numbers of each class, arrays (K,), before (the most probable class) and after (these
    decisions):

    - ``cases`` of the class;
    - ``called_before``, ``called_after``: cases predicted to be of the class (per label: acted on);
    - ``missed_…``: cases of the class that were predicted to be of another (per label: left);
    - ``false_alarms_…``: cases of other classes that were called;
    - ``abstained``, ``asked``: cases of the class (per label: all cases) that are neither called,
      missed nor false alarms;
    - ``cost_…``: realized cost of all cases of the class (per label: of all decisions about it).
    """
    cost_before: float
    """Realized cost per case; where the expert is asked, with the price and averaged over the
    expert's possible answers.
    """
    cost_after: float
    expected_cost: float
    """What the decisions were expected to cost per case, by the predicted probabilities."""
    excess: Estimate
    """Realized minus expected cost per case, with an interval."""
    saving: Estimate
    """Saving per case, with a paired t-interval after one more case with the largest possible
    saving and one with the largest loss: high costs may be too rare to be among the cases.
    """
    task: Task
    n: int
    """Number of cases."""

    def _columns(self) -> dict[str, Any]:
        return {"class": self.class_names, **self.by_class}

    def cost_sentence(self) -> str:
        """Whether the decisions cost what the probabilities promised."""
        realized = f"Realized cost {number(self.cost_after)} per case"
        costs = f"{realized}, expected {number(self.expected_cost)}"
        low, high = self.excess.low, self.excess.high
        if np.isnan(low):
            return f"{costs}."
        if low == high == 0:  # all cases cost what was expected, such as the price of asking
            return f"{realized}, as expected."
        difference = "chance can explain the difference"
        if low > 0:
            difference = f"{number(float(self.excess))} higher"
        elif high < 0:
            difference = f"{number(-float(self.excess))} lower"
            low, high = -high, -low
        return (
            f"{costs}: {difference} ({100 * self.excess.confidence:g} % interval "
            f"{number(low)} to {number(high)})."
        )

    def _summary(self) -> Summary:
        reference = "the most probable class"
        if self.task == "per_label":
            reference = "acting above 0.5"
        title = (
            f"Decisions ({self.task}) on {counted(self.n, 'case')}, compared with {reference}: "
            f"cost {number(self.cost_before, 4)} → "
            f"{number(self.cost_after, 4)} per case, saving {self.saving}"
        )
        note = self.cost_sentence()
        change = np.abs(self.by_class["cost_before"] - self.by_class["cost_after"])
        shown = np.sort(np.argsort(-change, kind="stable")[:MAX_CLASSES])
        if len(change) > MAX_CLASSES:
            k = f"{len(change):,}"
            note += f" {MAX_CLASSES} of {k} classes, those with the largest change of cost."
        columns: dict[str, Any] = {"class": self.class_names, "cases": self.by_class["cases"]}
        for name in ("called", "missed", "false_alarms", "cost"):
            pairs = zip(
                self.by_class[f"{name}_before"], self.by_class[f"{name}_after"], strict=True
            )
            columns[name.replace("_", " ")] = [f"{number(x, 4)} → {number(y, 4)}" for x, y in pairs]
        for name in ("abstained", "asked"):
            if self.by_class[name].any():
                columns[name] = self.by_class[name]
        rows = [[column[k] for column in columns.values()] for k in shown]
        return Summary(title, list(columns), rows, note)


def summarize_decisions(
    plan: Decisions, y_true: Any, confidence: float = 0.95, groups: Any = None
) -> DecisionSummary:
    """See `Decisions.summary`."""
    check_confidence(confidence)
    shape = tuple(plan.mean.shape)
    if len(shape) != 2 or not shape[0]:
        raise ValueError(
            f"`decisions` must be about one or more cases on one axis; got shape {shape[:-1]}"
        )
    truth = outcomes_decided_about(plan, y_true).astype(np.int64)
    (groups,) = same_rows(plan.distribution, groups=groups)
    problem, mean, action = plan.problem, to_numpy(plan.mean), to_numpy(plan.action)
    likely = mean.argmax(axis=-1)
    if plan.task == "per_label":
        likely = (mean > 0.5).astype(np.int64)
    paid_before = problem.cost_of(likely, truth)
    paid, lowest, highest = np.empty((3, *action.shape))
    for rows in row_blocks(*shape, PART):
        response = action[rows]  # of no use if nobody can be asked
        if problem.ask is not None:
            response = plan.answered(rows)
        paid[rows] = problem.paid(action[rows], response, truth[rows])
        lowest[rows], highest[rows] = problem.cost_range(action[rows], response)
    bounds = float(_cost_per_case(lowest).min()), float(_cost_per_case(highest).max())
    before = _counts_by_class(plan, likely, truth, paid_before)
    after = _counts_by_class(plan, action, truth, paid)
    by_class = {"cases": after["cases"]}
    for name in ("called", "missed", "false_alarms", "cost"):
        by_class[f"{name}_before"] = before[name]
        by_class[f"{name}_after"] = after[name]
    by_class |= {"abstained": after["abstained"], "asked": after["asked"]}
    paid_before, paid = _cost_per_case(paid_before), _cost_per_case(paid)
    expected = _cost_per_case(as_double(plan.expected_cost))
    return DecisionSummary(
        class_names=plan.class_names,
        by_class=by_class,
        cost_before=float(paid_before.mean()),
        cost_after=float(paid.mean()),
        expected_cost=float(expected.mean()),
        excess=mean_excess(paid, expected, bounds=bounds, groups=groups, confidence=confidence),
        saving=paired_saving(paid_before - paid, problem, confidence),
        task=plan.task,
        n=len(paid),
    )


def paired_saving(saved: np.ndarray, problem: DecisionProblem, confidence: float) -> Estimate:
    """Mean saving of single cases with its interval."""
    n = len(saved)
    # By how much two policies can differ, given the truth; asking adds its price to whatever is
    # done after the answer. Of all labels together, whether each is present or not.
    differences = np.ptp(problem.action_costs, axis=-1) + (problem.ask or 0.0)
    bound = np.sum(differences.max(axis=-1))
    mean, se = float(saved.mean()), saved.std(ddof=min(n - 1, 1)) / sqrt(n)
    low, high = t_interval_with_extremes(mean, se, n - 1, confidence, (-bound, bound), n)
    return Estimate(mean, float(low), float(high), confidence, "paired t with extremes")


def _cost_per_case(costs: np.ndarray) -> np.ndarray:
    """What each case costs; per label, what all its labels do."""
    return costs.reshape(len(costs), -1).sum(axis=1)


def _counts_by_class(
    plan: Decisions, action: np.ndarray, truth: np.ndarray, paid: np.ndarray
) -> dict[str, np.ndarray]:
    """What was done about each class and what it cost, arrays (K,)."""
    k = len(plan.class_names)
    if plan.task == "per_label":
        about = named = np.broadcast_to(np.arange(k), action.shape)
        present, called = truth == 1, action == 1
    else:
        about, named = truth, action
        present, called = truth >= 0, action >= 0
    right = called & present & (named == about)
    chosen = {
        "cases": (about, present),
        "called": (named, called),
        "missed": (about, present & (action >= 0) & ~right),
        "false_alarms": (named, called & ~right),
        "abstained": (about, action == ABSTAIN),
        "asked": (about, action == ASK),
    }
    counts = {name: np.bincount(of[where], minlength=k) for name, (of, where) in chosen.items()}
    return counts | {"cost": np.bincount(about.ravel(), paid.ravel(), k)}
