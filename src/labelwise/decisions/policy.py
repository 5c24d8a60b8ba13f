"""The cheapest action for each case, its expected cost, and the value of more information about
it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, as_double, index_like, like, to_numpy
from .._errors import InputError
from .._format import number, percent
from .._frames import instance_frame, same_rows
from .._tables import SHOWN, Shown, Summary, counted
from ..decomposition import decompose
from ..distributions import Distribution, Intervals
from ..distributions.base import not_a_distribution
from ..io import Predictions
from ..io.blocks import in_blocks_of
from ..joint import CostMatrix
from ..joint import decompose as decompose_jointly
from ..losses import CostLoss
from .costs import Costs, Task, check_is_costs
from .problem import ABSTAIN, ASK, DecisionProblem
from .worst_case import (
    ProbabilityBoxes,
    admissible_actions,
    largest_regret_of_action,
    least_worst_action,
)

if TYPE_CHECKING:
    from .summary import DecisionSummary

SAMPLES = 512
"""Draws for the value of knowledge under a cost matrix, where the distribution has to be
sampled.
"""


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(Shown):
    """The action for each case: arrays (...,) for ``"multiclass"``, (..., K) for ``"per_label"``,
    of the prediction's array library.
    """

    action: Array
    """The class to predict (per label: 1 = act, 0 = leave it), or `ABSTAIN` (−1) or `ASK` (−2)."""
    expected_cost: Array
    """Expected cost of that action, including the price of asking; of `Intervals` the largest."""
    value_of_label: Array
    """Expected saving from the expert's answer, before its price; equals TU if the expert is
    perfect and correct predictions cost 0.
    """
    mean: Array
    """The mean probabilities, (..., K)."""
    task: Task
    class_names: tuple[str, ...]
    problem: DecisionProblem = field(repr=False)
    distribution: Distribution | Predictions = field(repr=False)
    """The prediction that was decided about."""

    @property
    def after_answer(self) -> Array:
        """The decision after each possible answer; the added last axis holds the classes or, per
        label, absent and present. Computed on access, for it is as large as the predictions of two
        members.
        """

        return index_like(self.answered(slice(None)), self.mean)

    def answered(self, rows: slice) -> np.ndarray:
        """`after_answer` of some cases."""
        p = to_numpy(self.mean)[rows].astype(float)
        if self.task == "per_label":
            p = np.stack([1 - p, p], axis=-1)
        return self.problem.answered(p)[0]

    @cached_property
    def _knowledge(self) -> tuple[Array, ...]:
        """The value of knowledge and, if it is sampled, the bound on its error."""
        return in_blocks_of(lambda block: _value_of_knowledge(self, block), self.distribution)

    @property
    def value_of_knowledge(self) -> Array:
        """EU: expected saving from knowing the class probabilities exactly, when no expert is
        consulted. It bounds what better probabilities can save only if the distribution is right;
        members that are alike, or random, make it too small or too large. Computed on first access:
        unlike the decisions it needs the whole distribution, which may have to be sampled. Of
        `Intervals` it is the largest regret: 0 where the action is best for all probabilities in
        the set.
        """
        return self._knowledge[0]

    @property
    def error(self) -> Array | None:
        """95 % bound on the numerical error of ``value_of_knowledge`` if it is sampled; ``None`` if
        only rounding matters.
        """
        return self._knowledge[1] if len(self._knowledge) > 1 else None

    @cached_property
    def admissible(self) -> Array:
        """The actions that some probabilities in the `Intervals` make best (E-admissible), a bool
        array (..., A): each class (per label: leave, act) and, if it has a price, abstaining. Per
        label both are if and only if the threshold of the costs lies in the interval.
        """
        if not isinstance(self.distribution, Intervals):
            raise InputError(
                "`admissible` is about Intervals. Of a distribution the mean decides: only `action`"
            )
        boxes = ProbabilityBoxes.of(self.distribution, self.task)
        return index_like(admissible_actions(boxes, self.problem), self.mean) > 0

    @property
    def action_names(self) -> np.ndarray:
        """The actions by name: a class name (per label: "act" or "leave"), "abstain" or "ask"."""
        return self.names_of(to_numpy(self.action))

    def names_of(self, action: np.ndarray) -> np.ndarray:
        """Actions by name."""
        predictions = self.class_names if self.task == "multiclass" else ("leave", "act")
        names = np.asarray([*predictions, "ask", "abstain"])  # −2 and −1 count from the end
        return np.asarray(names[action])

    @property
    def break_even(self) -> float:
        """The price of asking below which it is the cheapest action for at least one case (per
        label: one label of a case): the largest ``value_of_label``. Below its mean, asking about
        every case is cheaper on average than never asking.
        """
        return float(to_numpy(self.value_of_label).max(initial=0.0))

    def summary(
        self, y_true: Any, *, groups: Any = None, confidence: float = 0.95
    ) -> DecisionSummary:
        """For each class what was called, missed and a false alarm before (always the most probable
        class; per label: acting above 0.5) and after (these decisions), what that costs, what it
        saves with a paired interval, and whether it costs what was expected.

        Parameters
        ----------
        y_true : array (N,) of classes, or (N, K) of 0 and 1 for ``"per_label"``
        groups : array (N,), optional
            Cases of the same group (patient) may depend on each other: for the difference between
            realized and expected cost.
        confidence : float
            Of the intervals.

        Examples
        --------
        >>> probs = np.array([[[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]])
        >>> q = lw.Ensemble(probs, class_names=["nevus", "melanoma"])
        >>> costs = lw.decisions.Costs(default=1, missed={"melanoma": 20})
        >>> story = lw.decisions.decide(q, costs, task="multiclass").summary([0, 1, 0, 1])
        >>> story.by_class["missed_before"], story.by_class["missed_after"]
        (array([0, 1]), array([2, 0]))
        """
        from .summary import summarize_decisions

        return summarize_decisions(self, y_true, confidence, groups)

    def to_frame(self, *, ids: Any = None, y_true: Any = None, library: str = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each case (per label: each case and
        label), as `Uncertainty.to_frame` has them.

        Columns: the case, ``y_true`` if given, the most probable class (per label: the label) and
        its ``probability``, the ``action``, its ``expected_cost``, ``value_of_label`` and
        ``value_of_knowledge``.
        """
        from .frames import decision_columns, outcomes_decided_about

        ids, y_true = same_rows(self.distribution, ids=ids, y_true=y_true)
        truth = None if y_true is None else outcomes_decided_about(self, y_true)
        return instance_frame(
            decision_columns(self, truth),
            tuple(self.mean.shape[:-1]),
            library,
            ids=ids,
            known=self.distribution.ids,
            repeat=len(self.class_names) if self.task == "per_label" else 1,
        )

    def _summary(self) -> Summary:
        names, counts = np.unique(self.action_names, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        cost = as_double(self.expected_cost)
        title = (
            f"Decisions ({self.task}): {counted(cost.size, 'decision')}, mean expected cost "
            f"{number(cost.mean() if cost.size else 0.0, 4)}"
        )
        rows = []
        for i in order[:SHOWN]:
            rows.append((str(names[i]), f"{counts[i]:,}", percent(counts[i] / cost.size)))
        note = "Asking saves nothing at any price."
        if self.break_even > 0:
            average = number(float(to_numpy(self.value_of_label).mean()))
            note = (
                f"Asking pays below {number(self.break_even)} for at least one decision, and below "
                f"{average} on average over all."
            )
        return Summary(title, ("action", "number", "share"), rows, note)

    def explain(self, i: int | tuple[int, ...] = (), *, label: str | int | None = None) -> str:
        """Explain case ``i`` in one sentence: the action, its cost, the value of an answer and of
        knowing the probabilities.

        For ``"per_label"``, ``label`` picks one label, by name or position (integers are names if
        all class names are integers). Without it, labels to ask about are explained; the others are
        listed by action.
        """
        from .sentences import explain_decision

        return explain_decision(self, i if isinstance(i, tuple) else (i,), label)


def decide(
    q: Distribution | Predictions,
    costs: Costs,
    *,
    task: Task | None = None,
    y_true: Any = None,
) -> Decisions:
    r"""Choose the cheapest action for each case and compute the value of more information about it.

    ``task="multiclass"`` chooses one of the K classes under a cost matrix; ``task="per_label"``
    decides for each label independently whether to act on it. These are different problems:
    label-wise risks do not determine which single class to choose.

    The action depends only on the mean of ``q`` (the Bayes rule; with abstention, Chow's rule).
    With the Bayes risk
    :math:`G(\theta)` of predicting or abstaining, the reported values are

    .. math:: \text{value of label}
              = G(\bar\theta) - \mathbb{E}_S\, G(\bar\theta \mid \text{answer } S), \qquad
              \text{value of knowledge} = G(\bar\theta) - \mathbb{E}\, G(\Theta)

    A perfect expert's answer saves the whole risk (TU) if correct predictions cost nothing; ask
    when the saving exceeds the price. The value of knowledge (EU) never exceeds that of a perfect
    label and does not tell whether to ask. If ``q`` is right, it bounds what better probabilities
    can save when no expert is consulted; where asking is possible, they may also save the price of
    asking, or show when it is worth paying. A single ensemble does not tell whether its spread is
    right.

    `Intervals` have no mean. The action is the one with the smallest worst case (Γ-minimax),
    :math:`\min_a \max_\theta R_a(\theta)`; ``expected_cost`` is that worst case, the value of
    knowledge the largest regret, and ``admissible`` tells which actions the intervals leave open.

    Parameters
    ----------
    q : distribution or Predictions
        Expected costs are meaningful only if it is calibrated. Predictions in files are read in
        blocks. Memory: the result, O(N K) for the mean; per label for each of its arrays.
    costs : Costs
    task : {"multiclass", "per_label"}, optional
        Defaults to choosing one class; to deciding per label where labels may occur together.
    y_true : array (...,) of classes, or (..., K) of 0 and 1, optional
        True labels, used only to warn if the probabilities are badly calibrated
        (`calibration.check_calibration`).

    Returns
    -------
    Decisions
        Ties are broken in the order predict, abstain, ask.

    Examples
    --------
    >>> names = ["nevus", "melanoma"]
    >>> q = lw.Ensemble(np.array([[[0.95, 0.05]], [[0.75, 0.25]]]), class_names=names)
    >>> costs = lw.decisions.Costs([[0, 1], [20, 0]], class_names=names, ask=0.5)
    >>> plan = lw.decisions.decide(q, costs, task="multiclass")
    >>> plan.action_names, plan.expected_cost
    (array(['ask'], dtype='<U8'), array([0.5]))
    >>> plan.explain(0).partition(":")[0]
    'ask an expert for the class of this case'

    >>> q = lw.Intervals(np.array([[0.6, 0.02], [0.9, 0.0]]), np.array([[0.98, 0.4], [1, 0.04]]))
    >>> costs = lw.decisions.Costs([[0, 1], [20, 0]])
    >>> plan = lw.decisions.decide(q, costs, task="multiclass")
    >>> plan.action, plan.expected_cost, plan.admissible.tolist()  # the threshold is 1/21
    (array([1, 0]), array([0.98, 0.8 ]), [[True, True], [True, False]])
    """
    if not isinstance(q, Distribution | Predictions):
        raise not_a_distribution(q)
    check_is_costs(costs)
    multilabel = q.multilabel if isinstance(q, Predictions) else not q.exclusive
    if task is None:
        task = "per_label" if multilabel else "multiclass"
    elif multilabel and task == "multiclass":
        sentence = "these labels may occur together, so there is no single class to choose"
        raise InputError(sentence, fix="per_label")
    problem, class_names = costs.problem(task, q.n_classes, q.class_names)

    def of_block(block: Distribution) -> tuple[Array, ...]:
        present, absent = block.marginal().mean
        p = as_double(present)
        if task == "per_label":
            p = np.stack([as_double(absent), p], axis=-1)
        if isinstance(block, Intervals):
            action, cost, after = least_worst_action(ProbabilityBoxes.of(block, task), problem)
            action = np.where(action == problem.n_outcomes, ABSTAIN, action)
        else:
            action, cost = problem.now(p)
            after = problem.answered(p)[1]
        value_of_label = np.maximum(cost - after, 0.0)
        if problem.ask is not None:
            asking = problem.ask + after
            action, cost = np.where(asking < cost, ASK, action), np.minimum(asking, cost)
        values = like(cost, present), like(value_of_label, present)
        return index_like(action, present), *values, present

    action, cost, value_of_label, mean = in_blocks_of(of_block, q)
    plan = Decisions(action, cost, value_of_label, mean, task, class_names, problem, q)
    if y_true is not None:
        from ..calibration import check_calibration

        check = check_calibration(q, y_true, rng=0)
        if not check.ok:  # wrong probabilities give wrong costs
            warnings.warn(
                f"The expected costs and values of these decisions are unreliable. {check}",
                stacklevel=2,
            )
    return plan


def _value_of_knowledge(plan: Decisions, q: Distribution) -> tuple[Array, ...]:
    """EU of predicting or abstaining and, if it is sampled, the bound on its numerical error; of
    `Intervals` the largest regret.
    """
    problem = plan.problem
    if isinstance(q, Intervals):
        boxes = ProbabilityBoxes.of(q, plan.task)
        action = least_worst_action(boxes, problem)[0]
        return (like(largest_regret_of_action(boxes, problem, action), q.mean()),)
    parts: list[Any]
    if problem.table.ndim == 2:
        loss = CostMatrix(problem.action_costs)
        parts = [decompose_jointly(q, loss, n_samples=SAMPLES)]
    else:
        parts = [decompose(q, loss) for loss in _losses_of_labels(problem)]
    value = sum(u.epistemic for u in parts)
    errors = [u.error.epistemic for u in parts if u.error is not None]
    return (value, sum(errors)) if errors else (value,)


def _losses_of_labels(problem: DecisionProblem) -> list[CostLoss]:
    r"""Losses of all labels that add up to the risk of leaving a label, acting on it or abstaining.

    Abstaining at a price c below ab/(a+b) caps the risk min(bt, a(1−t)) at c. The capped risk is
    the sum of two cost losses, for the choices "leave or abstain" and "abstain or act":

    .. math:: \min(bt,\ c,\ a(1-t))
              = \min\big((b-c)\,t,\ c\,(1-t)\big) + \min\big(c\,t,\ (a-c)(1-t)\big)
    """
    a: Any = problem.table[:, 0, 1]
    b: Any = problem.table[:, 1, 0]
    c = problem.abstain
    if c is None:
        return [CostLoss(a, b)]
    useful = c * (a + b) < a * b
    leave: Any = np.where(useful, c, a), np.where(useful, b - c, b)
    act: Any = np.where(useful, a - c, 0.0), np.where(useful, c, 0.0)
    return [CostLoss(*leave), CostLoss(*act)]
