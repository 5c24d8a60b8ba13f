r"""A decision problem: the cheapest action, the effect of an expert's answer, and realized costs.

Both tasks share this code. Choosing one of K classes has a table C[truth, action]; acting on a
label is the same with two classes, absent and present, and one table per label. Only the mean of
the second-order distribution matters here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

ABSTAIN = -1
"""The action of abstaining."""
ASK = -2
"""The action of asking an expert and deciding with the answer."""


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """Costs C[..., truth, action] (K × K, or labels × 2 × 2) and the prices of abstaining and
    asking.
    """

    table: np.ndarray
    abstain: float | None
    ask: float | None
    error: float
    """Error rate of the expert; all wrong answers are equally probable."""

    @property
    def n_outcomes(self) -> int:
        return self.table.shape[-1]

    @property
    def _labels(self) -> tuple[np.ndarray, ...]:
        """The index of the first axis of a table for each label."""
        return () if self.table.ndim == 2 else (np.arange(len(self.table)),)

    @cached_property
    def action_costs(self) -> np.ndarray:
        """Costs of the predictions and, last, of abstaining: C[..., truth, action], so that
        `ABSTAIN` (−1) is its index.
        """
        if self.abstain is None:
            return self.table
        abstain = np.full((*self.table.shape[:-1], 1), self.abstain)
        return np.concatenate([self.table, abstain], axis=-1)

    def risks(self, p: np.ndarray) -> np.ndarray:
        r"""Expected cost :math:`R_j = \sum_k p_k C_{kj}` of each prediction, for beliefs ``p``
        (..., K).
        """
        if self.table.ndim == 2:
            return p @ self.table
        return np.sum(p[..., None] * self.table, axis=-2)

    def _best(self, risks: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest prediction or abstention and its cost, for an outcome with this total
        ``probability``.
        """
        action = np.argmin(risks, axis=-1)
        cost = np.min(risks, axis=-1)
        if self.abstain is None:
            return action, cost
        price = self.abstain * probability
        return np.where(price < cost, ABSTAIN, action), np.minimum(price, cost)

    def now(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best decision without asking and its expected cost: Bayes' rule, or Chow's rule with
        abstention, on the mean.
        """
        return self._best(self.risks(p), np.sum(p, axis=-1))

    @property
    def _answers(self) -> tuple[float, float]:
        """P(answer s | truth k) = wrong + (right − wrong) [s = k], as the pair (wrong, right −
        wrong).
        """
        wrong = self.error / (self.n_outcomes - 1)
        return wrong, 1 - self.error - wrong

    def answered(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""The decision after each answer, (..., K), and the expected cost of deciding with the
        answer, before the price of asking.

        .. math:: \sum_s \min_a \sum_k p_k\, P(s \mid k)\, C_{ka}, \qquad
                  \sum_k p_k P(s \mid k) C_{ka} = w R_a + (1 - e - w)\, p_s C_{sa}, \quad w =
                  \tfrac{e}{K-1}

        The minimum over actions is taken for each answer s under the posterior given s.
        """
        wrong, excess = self._answers
        if not wrong:  # the answer is the truth, whatever the risks of the other classes
            best, lowest = self._best(self.table, np.ones(self.table.shape[:-1]))
            return np.where(p > 0, best, 0), np.add.accumulate(p * lowest, axis=-1)[..., -1]
        risks = self.risks(p)
        total = np.sum(p, axis=-1)
        response = np.empty(p.shape, dtype=np.int64)
        cost = np.zeros(p.shape[:-1])
        for s in range(self.n_outcomes):
            told = wrong * risks + excess * p[..., s, None] * self.table[..., s, :]
            response[..., s], after = self._best(told, wrong * total + excess * p[..., s])
            cost = cost + after
        return response, cost

    def cost_of(self, action: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Realized cost of a prediction or abstention; arrays of the same shape (...,)."""
        return self.action_costs[(*self._labels, truth, action)]

    def paid(self, action: np.ndarray, response: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Realized cost of each case; for asked cases, averaged over the expert's possible
        answers.
        """
        cost = self.cost_of(action, truth)
        if self.ask is None:
            return cost
        wrong, excess = self._answers
        asked = self.ask + np.zeros(action.shape)
        for s in range(self.n_outcomes):
            asked = asked + (wrong + excess * (truth == s)) * self.cost_of(response[..., s], truth)
        return np.where(action == ASK, asked, cost)

    def cost_range(self, action: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on what each decision can turn out to cost, whatever the truth; arrays of the
        shape of ``action``.
        """
        bounds = []
        for extreme in (np.min, np.max):
            cost = extreme(self.action_costs, axis=-2)[(*self._labels, action)]
            if self.ask is not None:
                asked = self.ask + self._answer_bound(response, extreme)
                cost = np.where(action == ASK, asked, cost)
            bounds.append(cost)
        return bounds[0], bounds[1]

    def _answer_bound(self, response: np.ndarray, extreme: Callable[..., np.ndarray]) -> np.ndarray:
        """The lowest or highest cost after asking: of the decisions after right answers, and of any
        after wrong ones.
        """
        labels = [label[:, None] for label in self._labels]
        after_right = self.action_costs[(*labels, np.arange(self.n_outcomes), response)]
        after_wrong = extreme(self.action_costs, axis=(-2, -1))
        return (1 - self.error) * extreme(after_right, axis=-1) + self.error * after_wrong
