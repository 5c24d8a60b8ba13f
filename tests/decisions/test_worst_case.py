"""Decisions on intervals against linear programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import labelwise as lw
from labelwise.decisions import Costs, decide


def boxes(k: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    center = rng.dirichlet(np.ones(k), n)
    low = np.maximum(center - rng.random((n, k)) ** 2 * 0.4, 0)
    return low, np.minimum(center + rng.random((n, k)) ** 2 * 0.4, 1)


def program(objective: np.ndarray, low: np.ndarray, high: np.ndarray, **more: Any) -> Any:
    bounds = np.stack([low, high], -1)
    return linprog(objective, A_eq=np.ones((1, len(low))), b_eq=[1], bounds=bounds, **more)


def every_action(costs: np.ndarray, abstain: float | None) -> np.ndarray:
    if abstain is None:
        return costs
    return np.concatenate([costs, np.full((len(costs), 1), abstain)], 1)


@pytest.mark.parametrize("k", [2, 3, 4, 6])
@pytest.mark.parametrize("abstain", [None, 0.7])
def test_classes_against_linear_programs(k: int, abstain: float | None) -> None:
    n = 25
    low, high = boxes(k, n, seed=k)
    matrix = np.random.default_rng(k).integers(1, 9, (k, k)) / 4
    np.fill_diagonal(matrix, 0)
    q = lw.Intervals(low, high)
    plan = decide(q, Costs(matrix, abstain=abstain), task="multiclass")
    table = every_action(matrix, abstain)
    seen = 0
    for i in range(n):
        worst = [-program(-cost, low[i], high[i]).fun for cost in table.T]
        assert plan.expected_cost[i] == pytest.approx(min(worst), abs=1e-9)
        chosen = int(plan.action[i])  # −1, abstaining, is the last
        assert worst[chosen] == pytest.approx(min(worst), abs=1e-9)
        regrets = [-program(other - table[:, chosen], low[i], high[i]).fun for other in table.T]
        assert plan.value_of_knowledge[i] == pytest.approx(max(regrets), abs=1e-9)
        for a, cost in enumerate(table.T):
            no_better = {"A_ub": (cost[:, None] - table).T, "b_ub": np.zeros(table.shape[1])}
            best_somewhere = program(0 * cost, low[i], high[i], **no_better).status == 0
            assert plan.admissible[i, a] == best_somewhere
        seen += plan.admissible[i].sum()
    assert n < seen < n * table.shape[1]  # some are, some are not


def test_an_action_that_is_best_only_inside() -> None:
    """The middle class is best between the extreme points only: a linear program finds it."""
    costs = [[0, 0.45, 1], [0.2, 0, 0.2], [1, 0.45, 0]]
    q = lw.Intervals(np.array([[0.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 1.0]]))
    plan = decide(q, Costs(costs), task="multiclass")
    assert plan.admissible.tolist() == [[True, True, True]]
    assert plan.action.tolist() == [1]
    costs[0][1] = costs[2][1] = 0.55
    assert decide(q, Costs(costs), task="multiclass").admissible.tolist() == [[True, False, True]]


@pytest.mark.parametrize("exclusive", [True, False])
def test_both_actions_are_admissible_where_the_threshold_is_inside(exclusive: bool) -> None:
    low, high = boxes(4, 60, seed=9)
    q = lw.Intervals(low, high, exclusive=exclusive)
    costs = Costs(default=1, missed=3)
    plan = decide(q, costs, task="per_label")
    law = q.marginal()
    least, most = law.lower[0], law.upper[0]
    both = (least <= 0.25) & (most >= 0.25)
    np.testing.assert_array_equal(plan.admissible.all(-1), both)
    np.testing.assert_array_equal(plan.admissible[..., 1], most >= 0.25)
    leave, act = 3 * most, 1 - least
    np.testing.assert_allclose(plan.expected_cost, np.minimum(leave, act))
    np.testing.assert_array_equal(plan.action, (act < leave).astype(int))
    regret = np.where(plan.action == 1, 1 - 4 * least, 4 * most - 1)
    np.testing.assert_allclose(plan.value_of_knowledge, np.maximum(regret, 0), atol=1e-12)
    certain = lw.decompose(q, lw.CostLoss(1, 3)).regret == 0
    assert np.all(certain[~both])


def test_narrow_intervals_decide_like_the_mean() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    costs = Costs([[0, 1, 2], [8, 0, 1], [3, 3, 0]], abstain=0.9, ask=0.6)
    narrow = decide(lw.Intervals(probs, probs), costs, task="multiclass")
    plain = decide(lw.Ensemble(probs[None]), costs, task="multiclass")
    np.testing.assert_array_equal(narrow.action, plain.action)
    np.testing.assert_array_equal(narrow.after_answer, plain.after_answer)
    np.testing.assert_allclose(narrow.expected_cost, plain.expected_cost)
    np.testing.assert_allclose(narrow.value_of_label, plain.value_of_label)
    np.testing.assert_allclose(narrow.value_of_knowledge, 0, atol=1e-12)
    assert set(np.unique(narrow.action)) >= {-2, 0}


def test_asking_tables_and_sentences() -> None:
    low, high = np.array([[0.3, 0.2], [0.9, 0.0]]), np.array([[0.8, 0.7], [1.0, 0.1]])
    q = lw.Intervals(low, high, class_names=["nevus", "melanoma"])
    plan = decide(q, Costs(default=1, missed={"melanoma": 9}, ask=0.5), task="multiclass")
    np.testing.assert_allclose(plan.value_of_label, [0.8, 0.9])
    assert plan.action_names.tolist() == ["ask", "ask"]
    plan = decide(q, Costs(default=1, missed={"melanoma": 9}), task="multiclass")
    assert "costs 0.8 in the worst case" in plan.explain(0)
    assert "if they lie in the intervals" in plan.explain(0)
    frame = plan.to_frame()
    np.testing.assert_allclose(frame["expected_cost"], [0.8, 0.9])
    assert plan.summary([0, 0]).cost_after == 0.5


def test_what_is_refused() -> None:
    q = lw.Intervals(*boxes(3, 4, seed=0))
    with pytest.raises(lw.InputError, match="`expert_error` must be 0"):
        decide(q, Costs(default=1, ask=0.1, expert_error=0.1), task="multiclass")
    plan = decide(lw.Ensemble(q.mean()[None]), Costs(default=1), task="multiclass")
    with pytest.raises(lw.InputError, match="is about Intervals"):
        _ = plan.admissible
    loose = lw.Intervals(q.lower, q.upper, exclusive=False)
    with pytest.raises(lw.InputError, match="may occur together"):
        decide(loose, Costs(default=1), task="multiclass")
