"""What decisions change: calls, misses, false alarms and costs of each class, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._format import count, number, signed
from .._resampling import Estimate, check_confidence
from .._tables import Shown, Summary, counted, frame
from ..evaluation._excess import mean_excess
from .costs import Task
from .frames import true_outcomes
from .policy import BreakEven, Decisions
from .problem import ABSTAIN, ASK
from .realized import largest_savings, paired_saving

MAX_CLASSES = 20  # of a printed table; of more, those with the largest change of cost
MAX_SENTENCES = 2  # about single classes


@dataclass(frozen=True, eq=False)
class ClassCalls:
    """What a policy did about each class, arrays (K,). Abstained and asked cases are neither
    called, missed nor false alarms.
    """

    called: np.ndarray
    """Cases predicted to be of the class (per label: acted on)."""
    missed: np.ndarray
    """Cases of the class that were predicted to be of another (per label: left)."""
    false_alarms: np.ndarray
    """Cases of other classes that were called."""
    abstained: np.ndarray
    """Cases of the class (per label: all cases) abstained on."""
    asked: np.ndarray
    """Cases of the class (per label: all cases) that an expert is asked about."""
    cost: np.ndarray
    """Realized cost of all cases of the class (per label: of all decisions about the label)."""


@dataclass(frozen=True, eq=False, repr=False)
class DecisionSummary(Shown):
    """Decisions compared with always predicting the most probable class (per label: acting above
    0.5); prints as a table.
    """

    class_names: tuple[str, ...]
    cases: np.ndarray
    """Cases of each class, (K,)."""
    before: ClassCalls
    """The most probable class."""
    after: ClassCalls
    """The decisions."""
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
    saving_by_class: Estimate
    """Saving per case of each class (per label: per case, about the label), arrays (K,)."""
    fewer_missed: Estimate
    """How many fewer cases of each class are missed, arrays (K,)."""
    break_even: BreakEven
    task: Task
    n: int
    """Number of cases."""

    def to_frame(self, *, library: str = "pandas") -> Any:
        """A row for each class as a data frame of pandas or polars."""
        return frame({"class": self.class_names, **self._columns()}, library)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The numbers of each class by its name."""
        rows = {}
        for k, name in enumerate(self.class_names):
            rows[name] = {key: column[k].item() for key, column in self._columns().items()}
        return rows

    def _columns(self) -> dict[str, np.ndarray]:
        before, after = self.before, self.after
        saving, fewer = self.saving_by_class, self.fewer_missed
        return {
            "cases": self.cases,
            "called_before": before.called,
            "called_after": after.called,
            "missed_before": before.missed,
            "missed_after": after.missed,
            "false_alarms_before": before.false_alarms,
            "false_alarms_after": after.false_alarms,
            "abstained": after.abstained,
            "asked": after.asked,
            "cost_before": before.cost,
            "cost_after": after.cost,
            "saving": saving.value,
            "saving_low": saving.low,
            "saving_high": saving.high,
            "fewer_missed": fewer.value,
            "fewer_missed_low": fewer.low,
            "fewer_missed_high": fewer.high,
        }

    def _largest_changes(self, classes: np.ndarray, n: int) -> np.ndarray:
        """The ``n`` of these classes whose cost changed most."""
        change = np.abs(self.before.cost - self.after.cost)[classes]
        return classes[np.argsort(-change, kind="stable")][:n]

    def sentences(self) -> list[str]:
        """The classes whose missed cases changed for certain, those with the largest change of cost
        first.
        """
        fewer = self.fewer_missed
        certain = np.flatnonzero((fewer.low > 0) | (fewer.high < 0))
        sentences = []
        for k in self._largest_changes(certain, MAX_SENTENCES).tolist():
            falls, less = "rise", "more"
            if fewer.value[k] > 0:
                falls, less = "fall", "fewer"
            low, high = sorted((abs(fewer.low[k]), abs(fewer.high[k])))
            sentences.append(
                f"Missed cases of {self.class_names[k]} {falls} from "
                f"{self.before.missed[k]:,} to {self.after.missed[k]:,} "
                f"of {self.cases[k]:,}: {count(abs(fewer.value[k]))} {less} "
                f"({100 * fewer.confidence:g} % interval {count(low)} to {count(high)}); called "
                f"{self.before.called[k]:,} → {self.after.called[k]:,}."
            )
        return sentences

    def cost_sentence(self) -> str:
        """Whether the decisions cost what the probabilities promised."""
        realized = f"Realized cost {number(self.cost_after)} per case"
        costs = f"{realized}, expected {number(self.expected_cost)}"
        low, high = float(self.excess.low), float(self.excess.high)
        if np.isnan(low):
            return f"{costs}."
        if low == high == 0:  # all cases cost what was expected, such as the price of asking
            return f"{realized}, as expected."
        difference, ends = "chance can explain the difference", (low, high)
        if low > 0 or high < 0:
            direction = "higher" if low > 0 else "lower"
            difference = f"{number(abs(float(self.excess)))} {direction}"
            ends = (min(abs(low), abs(high)), max(abs(low), abs(high)))
        return (
            f"{costs}: {difference} ({100 * self.excess.confidence:g} % interval "
            f"{number(ends[0])} to {number(ends[1])})."
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
        header = ["class", "cases", "called", "missed", "false alarms", "cost", "saving per case"]
        extra = [name for name in ("abstained", "asked") if np.any(getattr(self.after, name))]
        sentences = [self.cost_sentence(), *self.sentences()]
        k = len(self.class_names)
        chosen = np.arange(k)
        if k > MAX_CLASSES:
            chosen = np.sort(self._largest_changes(chosen, MAX_CLASSES))
            sentences.append(
                f"{MAX_CLASSES} of {k:,} classes, those with the largest change of cost."
            )
        sentences.append(f"{self.break_even}.")
        rows = [self._row(i, extra) for i in chosen.tolist()]
        return Summary(title, (*header, *extra), rows, " ".join(sentences))

    def _row(self, k: int, extra: list[str]) -> list[str]:
        row = [self.class_names[k], f"{self.cases[k]:,}"]
        for name in ("called", "missed", "false_alarms"):
            row.append(f"{getattr(self.before, name)[k]:,} → {getattr(self.after, name)[k]:,}")
        row.append(f"{number(self.before.cost[k], 4)} → {number(self.after.cost[k], 4)}")
        saving = self.saving_by_class
        cell = signed(saving.value[k])
        if np.isfinite(saving.low[k]):
            cell += f" ({signed(saving.low[k])} to {signed(saving.high[k])})"
        row.append(cell)
        for name in extra:
            row.append(f"{getattr(self.after, name)[k]:,}")
        return row


def summarize_decisions(
    plan: Decisions, y_true: Any, confidence: float = 0.95, groups: Any = None
) -> DecisionSummary:
    """See `Decisions.summary`."""
    check_confidence(confidence)
    mean, action = to_numpy(plan.mean).astype(float), to_numpy(plan.action)
    if mean.ndim != 2:
        raise ValueError(
            f"`decisions` must be about cases on one axis; got shape {mean.shape[:-1]}"
        )
    truth = true_outcomes(plan, y_true).astype(np.int64)
    n, k = mean.shape
    likely = mean.argmax(axis=-1)
    if plan.task == "per_label":
        likely = (mean > 0.5).astype(np.int64)
    paid_before = plan.problem.cost_of(likely, truth)
    paid = plan.problem.paid(action, to_numpy(plan.after_answer), truth)
    before, missed_before = _count_calls(likely, truth, paid_before, k)
    after, missed = _count_calls(action, truth, paid, k)

    saved = paid_before - paid
    largest_by_class, largest = largest_savings(plan.problem)
    by_class = np.zeros((3, k))
    for label in range(k):
        of_class = saved[truth == label] if saved.ndim == 1 else saved[:, label]
        by_class[:, label] = paired_saving(of_class, largest_by_class[label], confidence)
    value, low, high = by_class
    method = "paired t with extremes"
    saving = paired_saving(_per_case(saved), largest, confidence)

    cases = np.sum(_one_hot(truth, k), axis=0)
    no_longer = np.sum(missed_before & ~missed, axis=0)
    only_now = np.sum(missed & ~missed_before, axis=0)
    expected = _per_case(to_numpy(plan.expected_cost).astype(float))
    return DecisionSummary(
        class_names=plan.class_names,
        cases=cases,
        before=before,
        after=after,
        cost_before=_mean(_per_case(paid_before)),
        cost_after=_mean(_per_case(paid)),
        expected_cost=_mean(expected),
        excess=_excess(plan, _per_case(paid), expected, groups, confidence),
        saving=Estimate(*saving, confidence, method),
        saving_by_class=Estimate(value, low, high, confidence, method),
        fewer_missed=fewer_missed(no_longer, only_now, cases, confidence),
        break_even=plan.break_even,
        task=plan.task,
        n=n,
    )


def _per_case(costs: np.ndarray) -> np.ndarray:
    """What each case costs; per label, what all its labels do."""
    return np.asarray(costs.reshape(len(costs), -1).sum(axis=1))


def _mean(costs: np.ndarray) -> float:
    return float(costs.mean()) if costs.size else nan


def _excess(
    plan: Decisions, paid: np.ndarray, expected: np.ndarray, groups: Any, confidence: float
) -> Estimate:
    """How much more was paid than expected, per case."""
    if not len(paid):
        return Estimate(nan)
    lowest, highest = plan.problem.cost_range(to_numpy(plan.action), to_numpy(plan.after_answer))
    bounds = (float(_per_case(lowest).min()), float(_per_case(highest).max()))
    return mean_excess(paid, expected, bounds=bounds, groups=groups, confidence=confidence)


def fewer_missed(saved: np.ndarray, lost: np.ndarray, n: np.ndarray, confidence: float) -> Estimate:
    """How many fewer of ``n`` cases are missed, if ``saved`` of them are no longer and ``lost`` are
    only now missed.

    With the interval of Bonett and Price (2012) for paired shares: Wald's after one more case of
    either change, so that it does not shrink to a point where all cases change alike.
    """
    from scipy.special import ndtri

    p, q = (saved + 1) / (n + 2), (lost + 1) / (n + 2)
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    low, high = n * np.maximum(p - q - half, -1), n * np.minimum(p - q + half, 1)
    return Estimate((saved - lost).astype(float), low, high, confidence, "Bonett and Price")


def _one_hot(positions: np.ndarray, k: int) -> np.ndarray:
    """Whether each case is of each class, (N, K); labels are so already."""
    if positions.ndim == 2:
        return np.asarray(positions == 1)
    return np.asarray(positions[:, None] == np.arange(k))


def _count_calls(
    action: np.ndarray, truth: np.ndarray, paid: np.ndarray, k: int
) -> tuple[ClassCalls, np.ndarray]:
    """What was done about each class, and whether it was missed, (N, K)."""
    called, present = _one_hot(action, k), _one_hot(truth, k)
    if action.ndim == 2:
        concerned, cost = np.ones_like(present), paid.sum(axis=0)
    else:  # to abstain or ask is about the true class
        concerned, cost = present, np.bincount(truth, paid, minlength=k)
        action = action[:, None]
    missed = present & ~called & (action >= 0)
    calls = ClassCalls(
        called=called.sum(axis=0),
        missed=missed.sum(axis=0),
        false_alarms=np.sum(called & ~present, axis=0),
        abstained=np.sum(concerned & (action == ABSTAIN), axis=0),
        asked=np.sum(concerned & (action == ASK), axis=0),
        cost=cost,
    )
    return calls, missed
