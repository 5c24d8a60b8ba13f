"""The cheapest action for each case, what it costs, and what knowing more would be worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from .._arrays import Array, index_like, like, to_numpy
from .._suggestions import suggest
from ..decomposition import decompose
from ..distributions import Distribution
from ..distributions.base import not_a_distribution
from ..joint import CostMatrix
from ..joint import decompose as decompose_jointly
from ..losses import CostLoss
from .costs import Costs
from .problem import ASK, Problem

SAMPLES = 512
"""Draws for the value of knowledge under a cost matrix, where the distribution has to be sampled."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """What to do about each case: arrays of shape (...,) for ``"one_class"``, (..., K) for ``"per_label"``.

    Arrays are of the library that the prediction came in.
    """

    action: Array
    """The class to predict (per label: 1 = act, 0 = leave it), or `ABSTAIN` (−1) or `ASK` (−2)."""
    expected_cost: Array
    """What that costs on average, the price of asking included."""
    value_of_label: Array
    """What the expert's answer saves on average, before its price: TU for a perfect expert and costs of 0 for being right."""
    after_answer: Array
    """The decision after each possible answer of the expert, one axis more: the classes, or (per label) absent and present."""
    mean: Array
    """The mean probabilities that the decisions rest on, (..., K)."""
    task: str
    class_names: tuple[str, ...]
    costs: Costs = field(repr=False)
    problem: Problem = field(repr=False)
    distribution: Distribution = field(repr=False)
    """The prediction that was decided about."""

    @cached_property
    def _knowledge(self) -> tuple[Array, Array | None]:
        return _value_of_knowledge(self.distribution, self.problem)

    @property
    def value_of_knowledge(self) -> Array:
        """EU: what learning the class probabilities exactly would save, an upper bound on the value of more training data when no expert is
        consulted. Computed on first access: unlike the decisions it needs the whole distribution, which may have to be sampled."""
        return self._knowledge[0]

    @property
    def error(self) -> Array | None:
        """95 % bound on the numerical error of ``value_of_knowledge`` where it comes from sampling; ``None``: rounding only."""
        return self._knowledge[1]

    @property
    def words(self) -> np.ndarray:
        """The actions as words, e.g. for a table: a class name (per label: "act", "leave"), "abstain" or "ask"."""
        predictions = self.class_names if self.task == "one_class" else ("leave", "act")
        words: np.ndarray = np.asarray([*predictions, "ask", "abstain"])[to_numpy(self.action)]  # −2 and −1 count from the end
        return words

    def explain(self, i: int | tuple[int, ...] = (), *, label: str | None = None) -> str:
        """One sentence about case ``i``: what to do, what it costs, what an answer and more data would be worth.

        For ``"per_label"``, ``label`` picks one label; without it the labels to ask about are explained and the others named.
        """
        from .sentences import about_class, about_label, about_labels

        i = i if isinstance(i, tuple) else (i,)
        if self.task == "one_class":
            if label is not None:
                raise ValueError("`label` is for task='per_label'; this decision is about the whole case")
            return about_class(self, i)
        if label is None:
            return about_labels(self, i)
        if label not in self.class_names:
            raise KeyError(f"no label {label!r}{suggest(label, self.class_names)}")
        return about_label(self, (*i, self.class_names.index(label)))


def decide(q: Distribution, costs: Costs, *, task: str, y_true: Any = None) -> Decisions:
    r"""The cheapest action for each case, and what knowing more about it would be worth.

    ``task="one_class"`` chooses one of the K classes under a cost matrix; ``task="per_label"`` acts or does not act on each label,
    for itself. They are different problems: a sum of label-wise risks says nothing about the choice of one class.

    The action depends only on the mean of ``q`` (the Bayes rule; with abstention, Chow's rule). With the Bayes risk
    :math:`G(\theta)` of predicting or abstaining, the reported values are

    .. math:: \text{value of label} = G(\bar\theta) - \mathbb{E}_S\, G(\bar\theta \mid \text{answer } S), \qquad
              \text{value of knowledge} = G(\bar\theta) - \mathbb{E}\, G(\Theta)

    A perfect expert's answer is worth the whole risk (TU) if being right costs nothing; ask when it is worth more than its price.
    The value of knowledge (EU) is never more than that of a perfect label, and says nothing about whether to ask. It bounds what
    any amount of training data can be worth for this case as long as nobody is asked; where asking is possible, knowledge may
    also save, or tell when to spend, the price of asking.

    Parameters
    ----------
    q : distribution
        Its costs mean what they say only if it is calibrated.
    costs : Costs
    task : {"one_class", "per_label"}
    y_true : array (...,) of classes, or (..., K) of 0 and 1, optional
        Labels of these cases, to warn where they show the probabilities to be badly calibrated (`calibration.check_calibration`).
        They change nothing else.

    Returns
    -------
    Decisions
        Where two actions cost the same, predicting comes before abstaining and both before asking.

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[[0.95, 0.05]], [[0.75, 0.25]]]), class_names=["nevus", "melanoma"])
    >>> costs = lw.decisions.Costs([[0, 1], [20, 0]], class_names=["nevus", "melanoma"], ask=0.5)
    >>> plan = lw.decisions.decide(q, costs, task="one_class")
    >>> plan.words, plan.expected_cost
    (array(['ask'], dtype='<U8'), array([0.5]))
    >>> plan.explain(0)
    'ask for the class of this case: the answer is worth 0.85 on average and costs 0.5; more data of this kind would be worth at most 0 if nobody is asked'
    """
    if not isinstance(cast(Any, q), Distribution):
        raise not_a_distribution(q)
    if not isinstance(costs, Costs):
        raise TypeError(f"`costs` must be lw.decisions.Costs(...); got {type(costs).__name__}")
    if not q.exclusive and task == "one_class":
        raise ValueError(f"the labels of a {type(q).__name__} may occur together, so there is no one class to choose. Use task='per_label'")
    problem, class_names = costs.problem(task, q.n_classes, q.class_names)
    present, absent = q.marginal().mean
    p = to_numpy(present).astype(float)
    if task == "per_label":
        p = np.stack([to_numpy(absent).astype(float), p], axis=-1)
    action, cost = problem.now(p)
    response, after = problem.answered(p)
    value_of_label = np.maximum(cost - after, 0.0)
    if problem.ask is not None:
        asking = problem.ask + after
        action, cost = np.where(asking < cost, ASK, action), np.minimum(asking, cost)
    plan = Decisions(
        index_like(action, present),
        like(cost, present),
        like(value_of_label, present),
        index_like(response, present),
        present,
        task,
        class_names,
        costs,
        problem,
        q,
    )
    if y_true is not None:
        _warn_if_badly_calibrated(q, y_true)
    return plan


def _value_of_knowledge(q: Distribution, problem: Problem) -> tuple[Array, Array | None]:
    r"""EU of predicting or abstaining, and the bound on its numerical error.

    About a label, abstaining at a price c below ab/(a+b) cuts the top off the risk min(bt, a(1−t)); what remains is the sum of two
    cost losses, each a decision of its own ("leave it or hand over" and "hand over or act"):

    .. math:: \min(bt,\ c,\ a(1-t)) = \min\big((b-c)\,t,\ c\,(1-t)\big) + \min\big(c\,t,\ (a-c)(1-t)\big)
    """
    if problem.table.ndim == 2:
        price = None if problem.abstain is None else float(problem.abstain)
        joint = decompose_jointly(q, CostMatrix(problem.table, abstain=price), samples=SAMPLES)
        return joint.epistemic, None if joint.error is None else joint.error.epistemic
    a: Any = problem.table[:, 0, 1]
    b: Any = problem.table[:, 1, 0]
    if problem.abstain is None:
        losses = [(a, b)]
    else:
        c = problem.abstain
        useful = c * (a + b) < a * b
        losses = [(np.where(useful, c, a), np.where(useful, b - c, b)), (np.where(useful, a - c, 0.0), np.where(useful, c, 0.0))]
    parts = [decompose(q, CostLoss(fp, fn)) for fp, fn in losses]
    error = None if parts[0].error is None else sum(u.error.epistemic for u in parts if u.error is not None)
    return sum(u.epistemic for u in parts), error


def _warn_if_badly_calibrated(q: Distribution, y_true: Any) -> None:
    """Amounts are sums of probabilities times costs: where the data show the probabilities wrong, so are they."""
    from ..calibration import check_calibration

    check = check_calibration(q, y_true, rng=0)
    if check:
        warnings.warn(f"The expected costs and values of these decisions are not to be trusted. {check}", stacklevel=3)
