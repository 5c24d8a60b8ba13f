"""The realized cost of decisions, compared with baseline policies and an oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan, sqrt
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._format import number, percent
from .._frames import same_rows
from .._labels import as_labels, outcomes_by_class
from .._resampling import check_confidence, t_interval_with_extremes
from .._suggestions import suggest
from .costs import Costs
from .policy import Decisions
from .problem import ABSTAIN, ASK, Problem


@dataclass(frozen=True, eq=False)
class Outcome:
    """Realized costs of one policy. Shares and errors count cases (per label: cases × labels)."""

    cost: float
    """Mean cost of a case."""
    costs: np.ndarray = field(repr=False)
    """Cost of each case, (N,)."""
    coverage: float
    """Share predicted without abstaining or asking."""
    abstained: float
    asked: float
    errors_by_class: np.ndarray
    """Wrong predictions by true class (per label: wrong actions by label), (K,)."""
    predicted_by_class: np.ndarray
    """Predictions by true class (per label: actions by label), (K,)."""

    @property
    def error(self) -> float:
        """Share of predictions that are wrong."""
        n = self.predicted_by_class.sum()
        return float(self.errors_by_class.sum() / n) if n else float("nan")


@dataclass(frozen=True, eq=False)
class PolicyReport:
    """Outcomes by policy; prints as a table."""

    outcomes: Mapping[str, Outcome]
    class_names: tuple[str, ...]
    entropy_threshold: float
    """The tuned threshold of the ``"entropy"`` policy, in bits."""
    largest_saving: float = field(repr=False)
    """The largest possible saving of one case, which bounds what the cases at hand could have
    missed.
    """

    def __getitem__(self, policy: str) -> Outcome:
        if policy not in self.outcomes:
            raise KeyError(f"no policy {policy!r}{suggest(policy, tuple(self.outcomes))}")
        return self.outcomes[policy]

    def saving(
        self, over: str, *, of: str = "decide", confidence: float = 0.95
    ) -> tuple[float, float, float]:
        """Mean saving per case of policy ``of`` over policy ``over``, with a paired interval:
        (mean, low, high).

        Student's t after one more case with the largest possible saving and one with the largest
        loss: high costs may be too rare to be among the cases.
        """
        check_confidence(confidence)
        return paired_saving(self[over].costs - self[of].costs, self.largest_saving, confidence)

    def __str__(self) -> str:
        rows = [
            f"{'policy':<10}{'cost':>10}{'predicted':>11}{'abstained':>11}{'asked':>9}{'error':>9}"
        ]
        for name, outcome in self.outcomes.items():
            rows.append(
                f"{name:<10}{number(outcome.cost, 4):>10}{percent(outcome.coverage):>11}"
                f"{percent(outcome.abstained):>11}{percent(outcome.asked):>9}"
                f"{percent(outcome.error):>9}"
            )
        return "\n".join(rows)


def largest_savings(problem: Problem) -> tuple[np.ndarray, float]:
    """The largest possible saving of one case of each class (per label: about each label), and of
    any case (per label: of all labels together).
    """
    largest = problem.largest_difference
    if largest.ndim == 1:
        return largest, float(largest.max())
    by_label = largest.max(axis=-1)  # whether it is present or not
    return by_label, float(by_label.sum())


def paired_saving(
    saved: np.ndarray, largest: float, confidence: float
) -> tuple[float, float, float]:
    """Mean of the savings of single cases, each within ± ``largest``, and its interval: (mean, low,
    high); NaN without cases.
    """
    n = len(saved)
    if n == 0:
        return nan, nan, nan
    mean = float(saved.mean())
    se = float(saved.std(ddof=1)) / sqrt(n) if n > 1 else 0.0
    low, high = t_interval_with_extremes(mean, se, n - 1, confidence, (-largest, largest), n)
    return mean, float(low), float(high)


def evaluate_policy(
    decisions: Decisions,
    y_true: Any,
    costs: Costs | None = None,
    *,
    tune: tuple[Decisions, Any] | None = None,
) -> PolicyReport:
    r"""Realized cost of the decisions, compared with other policies on the same predictions.

    ``"decide"`` are the decisions; ``"argmax"`` always predicts the most probable class (per label:
    acts above 0.5); ``"entropy"`` does so below an entropy threshold and otherwise abstains or
    asks, threshold and alternative tuned to the lowest cost; ``"chow"`` is the cheapest prediction
    or abstention under the mean, without asking; ``"oracle"`` knows the truth.

    Where the expert is asked, the cost is averaged over the expert's possible answers, which
    removes their randomness.

    Parameters
    ----------
    decisions : Decisions
        For N cases on one axis.
    y_true : array (N,) of classes, or (N, K) of 0 and 1 for ``"per_label"``
        Names or positions; integers are names where all class names are integers.
    costs : Costs, optional
        Costs to evaluate with; defaults to those of the decisions.
    tune : (Decisions, labels), optional
        Held-out cases to tune the entropy threshold on. Defaults to the evaluated cases, which
        favors the entropy policy.

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]]), class_names=["nevus", "melanoma"])
    >>> costs = lw.decisions.Costs([[0, 1], [20, 0]], class_names=["nevus", "melanoma"], ask=0.5)
    >>> report = evaluate_policy(lw.decisions.decide(q, costs, task="multiclass"), [0, 1, 1])
    >>> print(report)
    policy          cost  predicted  abstained    asked    error
    decide        0.3333     33.3 %        0 %   66.7 %      0 %
    argmax         6.667      100 %        0 %      0 %   33.3 %
    entropy       0.1667     66.7 %        0 %   33.3 %      0 %
    chow          0.3333      100 %        0 %      0 %   33.3 %
    oracle             0      100 %        0 %      0 %      0 %
    """  # noqa: E501
    problem = _problem(decisions, costs)
    p = beliefs(decisions)
    truth = true_outcomes(decisions, y_true)
    response, _ = problem.answered(p)
    other, labels = (decisions, y_true) if tune is None else tune
    if other.task != decisions.task or other.class_names != decisions.class_names:
        raise ValueError("`tune` must be decisions of the same task and classes")
    threshold, refuse = _tune_entropy(
        _problem(other, costs), beliefs(other), true_outcomes(other, labels)
    )
    likely = np.argmax(p, axis=-1)
    known = np.eye(problem.n_outcomes)[truth]
    actions = {
        "argmax": likely,
        "entropy": np.where(_entropy(p) <= threshold, likely, refuse),
        "chow": problem.now(p)[0],
        "oracle": problem.now(known)[0],
    }
    own = to_numpy(decisions.after_answer)
    outcomes = {"decide": _outcome(problem, to_numpy(decisions.action), own, truth)}
    for name, action in actions.items():
        outcomes[name] = _outcome(problem, action, response, truth)
    _, largest = largest_savings(problem)
    return PolicyReport(outcomes, decisions.class_names, threshold, largest)


def _problem(decisions: Decisions, costs: Costs | None) -> Problem:
    if costs is None:
        return decisions.problem
    names = decisions.class_names
    return costs.problem(decisions.task, len(names), names)[0]


def beliefs(decisions: Decisions) -> np.ndarray:
    """Mean probabilities of the classes (N, K), or of each label being absent and present (N, K,
    2).
    """
    p = to_numpy(decisions.mean).astype(float)
    if p.ndim != 2:
        raise ValueError(f"`decisions` must be about cases on one axis; got shape {p.shape[:-1]}")
    return p if decisions.task == "multiclass" else np.stack([1 - p, p], axis=-1)


def true_outcomes(decisions: Decisions, y_true: Any) -> np.ndarray:
    """True classes as integers (N,), or true labels as 0 and 1 (N, K)."""
    shape = (len(decisions.mean),)
    (y_true,) = same_rows(decisions.distribution, y_true=y_true)
    if decisions.task == "multiclass":
        return as_labels(y_true, "y_true", decisions.class_names, shape)
    return outcomes_by_class(y_true, decisions.class_names, shape).astype(np.int64)


def _entropy(p: np.ndarray) -> np.ndarray:
    """Shannon entropy in bits of the class (per label: of its presence)."""
    return np.asarray(-np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1))


def _tune_entropy(problem: Problem, p: np.ndarray, truth: np.ndarray) -> tuple[float, int]:
    """The entropy threshold and the refusal (abstain or ask) with the lowest cost on these
    cases.
    """
    likely = np.argmax(p, axis=-1)
    response, _ = problem.answered(p)
    entropy = _entropy(p).ravel()
    order = np.argsort(entropy, kind="stable")
    predicted = problem.cost_of(likely, truth).ravel()[order]
    best: tuple[float, float, int] = (float(predicted.sum()), float("inf"), ABSTAIN)
    entropy = entropy[order]
    last = np.diff(entropy, append=np.inf) > 0  # of its ties, which are refused together
    for refuse, price in ((ABSTAIN, problem.abstain), (ASK, problem.ask)):
        if price is None or not entropy.size:
            continue
        refused = problem.paid(np.full(truth.shape, refuse), response, truth).ravel()[order]
        nothing = float(refused.sum())
        cost = np.where(last, nothing + np.cumsum(predicted - refused), np.inf)
        m = int(np.argmin(cost))
        best = min(
            best,
            (float(cost[m]), float(entropy[m]), refuse),
            (nothing, float("-inf"), refuse),
        )
    return best[1], best[2]


def _outcome(
    problem: Problem, action: np.ndarray, response: np.ndarray, truth: np.ndarray
) -> Outcome:
    paid = problem.paid(action, response, truth)
    predicted = action >= 0
    wrong = predicted & (action != truth)
    if problem.table.ndim == 2:
        errors = np.bincount(truth[wrong], minlength=problem.n_outcomes)
        total = np.bincount(truth[predicted], minlength=problem.n_outcomes)
        costs = paid
    else:
        errors, total, costs = wrong.sum(axis=0), predicted.sum(axis=0), paid.sum(axis=1)
    return Outcome(
        float(costs.mean()) if len(costs) else float("nan"),
        costs,
        float(predicted.mean()),
        float((action == ABSTAIN).mean()),
        float((action == ASK).mean()),
        errors,
        total,
    )
