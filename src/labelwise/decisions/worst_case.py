"""Decisions on sets of probabilities: the smallest worst case, and the actions that some
probabilities in the set make best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array, as_double
from .._errors import InputError
from ..distributions import Intervals
from .costs import Task
from .problem import DecisionProblem

ROUNDING = 1e-12  # relative to the costs: what is equally good up to rounding is admissible, too


@dataclass(frozen=True, eq=False)
class ProbabilityBoxes:
    """All beliefs (..., K) between two bounds that sum to 1."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, q: Intervals, task: Task) -> ProbabilityBoxes:
        """Of the classes, or for each label of its absence and presence."""
        law = q.marginal()
        low, high = [*map(as_double, law.lower)], [*map(as_double, law.upper)]  # and complements
        if task == "multiclass":
            return cls(low[0], high[0])
        return cls(np.stack([high[1], low[0]], axis=-1), np.stack([low[1], high[0]], axis=-1))

    def extreme(self, direction: np.ndarray) -> np.ndarray:
        """The beliefs with the largest sum of ``direction`` (..., K) times them: what is free goes
        to the largest values first.
        """
        order = np.broadcast_to(np.argsort(-direction, axis=-1), self.low.shape)
        room = np.take_along_axis(self.high - self.low, order, axis=-1)
        free = 1 - self.low.sum(axis=-1, keepdims=True) - (np.cumsum(room, axis=-1) - room)
        beliefs = self.low.copy()
        filled = np.take_along_axis(beliefs, order, axis=-1) + np.clip(free, 0, room)
        np.put_along_axis(beliefs, order, filled, axis=-1)
        return beliefs

    def largest(self, costs: np.ndarray) -> np.ndarray:
        """The largest expected value of ``costs`` (..., K)."""
        return np.asarray(np.sum(self.extreme(costs) * costs, axis=-1))


def least_worst_action(
    boxes: ProbabilityBoxes, problem: DecisionProblem
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""The Γ-minimax position in `DecisionProblem.action_costs`,
    :math:`\min_a \max_\theta R_a(\theta)`, its largest expected cost, and that of deciding with a
    perfect answer.
    """
    if problem.error > 0:
        raise InputError(
            "`expert_error` must be 0 for intervals: what a wrong answer costs depends on the "
            f"probabilities inside them; got {problem.error:g}"
        )
    worst = [boxes.largest(costs) for costs in np.moveaxis(problem.action_costs, -1, 0)]
    answered = boxes.largest(problem.table.min(axis=-1))
    return np.argmin(worst, axis=0), np.min(worst, axis=0), answered


def largest_regret_of_action(
    boxes: ProbabilityBoxes, problem: DecisionProblem, action: np.ndarray
) -> Array:
    """What another action could save at most: max over θ and b of R_a(θ) − R_b(θ)."""
    costs = problem.action_costs
    tables = np.broadcast_to(costs, (*action.shape, *costs.shape[-2:]))
    chosen = np.take_along_axis(tables, action[..., None, None], axis=-1)[..., 0]
    others = np.moveaxis(costs, -1, 0)
    return np.max([boxes.largest(chosen - other) for other in others], axis=0)


def admissible_actions(boxes: ProbabilityBoxes, problem: DecisionProblem) -> np.ndarray:
    """Whether some beliefs make each action of `DecisionProblem.action_costs` best (E-admissible),
    shape (..., A).

    An action that is best at an extreme point is; one to which another is always preferable is
    not. Only what is left needs a linear program.
    """
    from scipy.optimize import linprog

    costs = problem.action_costs
    slack = ROUNDING * (1 + np.abs(costs).max())
    tables = np.broadcast_to(costs, (*boxes.low.shape, costs.shape[-1]))
    found = np.zeros((*boxes.low.shape[:-1], costs.shape[-1]), dtype=bool)
    possible = ~found
    for a, b in np.ndindex(found.shape[-1], found.shape[-1]):
        beliefs = boxes.extreme(costs[..., b] - costs[..., a])  # the best case for a against b
        risks = np.sum(beliefs[..., None] * costs, axis=-2)
        found |= risks <= risks.min(axis=-1, keepdims=True) + slack
        possible[..., a] &= risks[..., a] <= risks[..., b] + slack
    bounds = np.stack([boxes.low, boxes.high], axis=-1)
    for *i, a in np.argwhere(possible & ~found):
        at = tuple(i)
        more = (tables[at][:, [a]] - tables[at]).T  # than each action
        every, free = np.ones((1, more.shape[1])), np.zeros(more.shape[1])
        solved = linprog(free, more, np.full(len(more), slack), every, [1.0], bounds[at])
        found[(*at, a)] = solved.status == 0
    return found
