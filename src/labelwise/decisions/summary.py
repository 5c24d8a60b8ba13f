"""What decisions change: calls, misses, false alarms and costs of each class, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._format import MISSING, count, number, signed
from .._resampling import Estimate, check_confidence
from .._tables import Shown, Summary, counted, frame
from ..evaluation._excess import mean_excess
from .costs import Task
from .policy import BreakEven, Decisions
from .problem import ABSTAIN, ASK
from .realized import beliefs, largest_savings, paired_saving, true_outcomes

SHOWN = 20
"""Classes of a printed summary; of more, those with the largest change of cost."""


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
        return frame(self._columns(), library)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The numbers of each class by its name."""
        columns = {name: x.tolist() for name, x in self._columns().items()}
        names = columns.pop("class")
        rows = zip(*columns.values(), strict=True)
        return {
            name: dict(zip(columns, row, strict=True))
            for name, row in zip(names, rows, strict=True)
        }

    def sentences(self, most: int = 2) -> list[str]:
        """The classes whose missed cases changed for certain, those with the largest change of cost
        first.
        """
        fewer = self.fewer_missed
        certain = np.flatnonzero((fewer.low > 0) | (fewer.high < 0))
        change = np.abs(self.before.cost - self.after.cost)[certain]
        chosen = certain[np.argsort(-change, kind="stable")][:most]
        return [self._sentence(int(k)) for k in chosen]

    def _sentence(self, k: int) -> str:
        fewer = self.fewer_missed
        falls = fewer.value[k] > 0
        low, high = sorted(abs(float(x)) for x in (fewer.low[k], fewer.high[k]))
        return (
            f"Missed cases of {self.class_names[k]} {'fall' if falls else 'rise'} from "
            f"{self.before.missed[k]:,} to {self.after.missed[k]:,} "
            f"of {self.cases[k]:,}: {count(abs(fewer.value[k]))} {'fewer' if falls else 'more'} "
            f"({100 * fewer.confidence:g} % interval {count(low)} to {count(high)}); called "
            f"{self.before.called[k]:,} → {self.after.called[k]:,}."
        )

    def cost_sentence(self) -> str:
        """Whether the decisions cost what the probabilities promised."""
        costs = (
            f"Realized cost {number(self.cost_after)} per case, expected "
            f"{number(self.expected_cost)}"
        )
        excess, low, high = (
            float(x) for x in (self.excess.value, self.excess.low, self.excess.high)
        )
        if np.isnan(low):
            return f"{costs}."
        if low == high == 0:  # all cases cost what was expected, such as the price of asking
            return f"Realized cost {number(self.cost_after)} per case, as expected."
        interval = f"{100 * self.excess.confidence:g} % interval"
        if low <= 0 <= high:
            return (
                f"{costs}: chance can explain the difference ({interval} {number(low)} to "
                f"{number(high)})."
            )
        nearest, farthest = sorted((abs(low), abs(high)))
        direction = "higher" if excess > 0 else "lower"
        return (
            f"{costs}: {number(abs(excess))} {direction} ({interval} {number(nearest)} to "
            f"{number(farthest)})."
        )

    def _columns(self) -> dict[str, np.ndarray]:
        before, after, fewer = self.before, self.after, self.fewer_missed
        return {
            "class": np.asarray(self.class_names, dtype=object),
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
            "saving": self.saving_by_class.value,
            "saving_low": self.saving_by_class.low,
            "saving_high": self.saving_by_class.high,
            "fewer_missed": fewer.value,
            "fewer_missed_low": fewer.low,
            "fewer_missed_high": fewer.high,
        }

    def _summary(self) -> Summary:
        often = "the most probable class" if self.task == "multiclass" else "acting above 0.5"
        title = (
            f"Decisions ({self.task}) on {counted(self.n, 'case')}, compared with {often}: cost "
            f"{number(self.cost_before, 4)} → "
            f"{number(self.cost_after, 4)} per case, saving {self.saving}"
        )
        header = ["class", "cases", "called", "missed", "false alarms", "cost", "saving per case"]
        extra = [name for name in ("abstained", "asked") if np.any(getattr(self.after, name))]
        sentences = [self.cost_sentence(), *self.sentences()]
        k = len(self.class_names)
        chosen = np.arange(k)
        if k > SHOWN:
            change = np.abs(self.before.cost - self.after.cost)
            chosen = np.sort(np.argsort(-change, kind="stable")[:SHOWN])
            sentences.append(f"{SHOWN} of {k:,} classes, those with the largest change of cost.")
        sentences.append(f"{self.break_even}.")
        rows = [self._row(int(i), extra) for i in chosen]
        return Summary(title, (*header, *extra), rows, " ".join(sentences))

    def _row(self, k: int, extra: list[str]) -> list[str]:
        row = [self.class_names[k], f"{self.cases[k]:,}"]
        for name in ("called", "missed", "false_alarms"):
            row.append(f"{getattr(self.before, name)[k]:,} → {getattr(self.after, name)[k]:,}")
        row.append(f"{number(self.before.cost[k], 4)} → {number(self.after.cost[k], 4)}")
        saving = self.saving_by_class
        cell = MISSING if np.isnan(saving.value[k]) else signed(float(saving.value[k]))
        if np.isfinite(saving.low[k]):
            cell += f" ({signed(float(saving.low[k]))} to {signed(float(saving.high[k]))})"
        counts = [f"{getattr(self.after, name)[k]:,}" for name in extra]
        return [*row, cell, *counts]


def summarize_decisions(
    plan: Decisions, y_true: Any, confidence: float = 0.95, groups: Any = None
) -> DecisionSummary:
    """See `Decisions.summary`."""
    check_confidence(confidence)
    p, truth = beliefs(plan), true_outcomes(plan, y_true)
    k, n = len(plan.class_names), len(truth)
    likely, action = np.argmax(p, axis=-1), to_numpy(plan.action)
    paid_before = plan.problem.cost_of(likely, truth)
    paid = plan.problem.paid(action, to_numpy(plan.after_answer), truth)
    saved = paid_before - paid
    if plan.task == "multiclass":
        present = truth[:, None] == np.arange(k)
        saved_of_case, saved_by_class = saved, [saved[truth == c] for c in range(k)]
    else:
        present = truth == 1
        saved_of_case, saved_by_class = saved.sum(axis=1), list(saved.T)
    largest_by_class, largest = largest_savings(plan.problem)
    by_class = np.asarray(
        [
            paired_saving(part, most, confidence)
            for part, most in zip(saved_by_class, largest_by_class, strict=True)
        ]
    )
    missed_before, missed = _missed(likely, truth), _missed(action, truth)
    no_longer = np.sum(present & missed_before & ~missed, axis=0)
    only_now = np.sum(present & missed & ~missed_before, axis=0)
    expected_cost, excess = _compare_with_expected(plan, paid, groups, confidence)
    method = "paired t with extremes"
    return DecisionSummary(
        class_names=plan.class_names,
        cases=present.sum(axis=0),
        before=_calls(likely, truth, paid_before, k),
        after=_calls(action, truth, paid, k),
        cost_before=float(paid_before.sum() / n) if n else nan,
        cost_after=float(paid.sum() / n) if n else nan,
        expected_cost=expected_cost,
        excess=excess,
        saving=Estimate(*paired_saving(saved_of_case, largest, confidence), confidence, method),
        saving_by_class=Estimate(
            by_class[:, 0], by_class[:, 1], by_class[:, 2], confidence, method
        ),
        fewer_missed=fewer_missed(no_longer, only_now, present.sum(axis=0), confidence),
        break_even=plan.break_even,
        task=plan.task,
        n=n,
    )


def _compare_with_expected(
    plan: Decisions, paid: np.ndarray, groups: Any, confidence: float
) -> tuple[float, Estimate]:
    """Expected cost per case, and how much more was paid."""
    expected = to_numpy(plan.expected_cost).astype(float)
    if not len(expected):
        return nan, Estimate(nan)
    lowest, highest = plan.problem.cost_range(to_numpy(plan.action), to_numpy(plan.after_answer))
    if paid.ndim == 2:  # per label: a case costs what all its labels do
        paid, expected, lowest, highest = (x.sum(axis=1) for x in (paid, expected, lowest, highest))
    bounds = (float(lowest.min()), float(highest.max()))
    return float(expected.mean()), mean_excess(
        paid, expected, bounds=bounds, groups=groups, confidence=confidence
    )


def _missed(action: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Whether the true class of each case was missed, (N, 1); per label (N, K)."""
    if truth.ndim == 2:
        return np.asarray((action == 0) & (truth == 1))
    return np.asarray((action >= 0) & (action != truth))[:, None]


def fewer_missed(saved: np.ndarray, lost: np.ndarray, n: np.ndarray, confidence: float) -> Estimate:
    """How many fewer of ``n`` cases are missed, if ``saved`` of them are no longer and ``lost`` are
    only now missed.

    With the interval of Bonett and Price (2012) for paired shares: Wald's after one more case of
    either change, so that it does not shrink to a point where all cases change alike.
    """
    from scipy.special import ndtri

    p, q = (saved + 1) / (n + 2), (lost + 1) / (n + 2)
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    low, high = (n * np.clip(p - q + sign * half, -1, 1) for sign in (-1, 1))
    return Estimate((saved - lost).astype(float), low, high, confidence, "Bonett and Price")


def _calls(action: np.ndarray, truth: np.ndarray, paid: np.ndarray, k: int) -> ClassCalls:
    if truth.ndim == 2:
        return ClassCalls(
            called=np.sum(action == 1, axis=0),
            missed=np.sum((action == 0) & (truth == 1), axis=0),
            false_alarms=np.sum((action == 1) & (truth == 0), axis=0),
            abstained=np.sum(action == ABSTAIN, axis=0),
            asked=np.sum(action == ASK, axis=0),
            cost=paid.sum(axis=0),
        )
    wrong = (action >= 0) & (action != truth)
    return ClassCalls(
        called=np.bincount(action[action >= 0], minlength=k),
        missed=np.bincount(truth[wrong], minlength=k),
        false_alarms=np.bincount(action[wrong], minlength=k),
        abstained=np.bincount(truth[action == ABSTAIN], minlength=k),
        asked=np.bincount(truth[action == ASK], minlength=k),
        cost=np.bincount(truth, paid, minlength=k),
    )
