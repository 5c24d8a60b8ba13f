from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel

import labelwise as lw
from labelwise.decisions import ABSTAIN, ASK, Costs, decide
from labelwise.decisions.realized import paired_saving

MATRIX = np.array([[0, 2, 1], [20, 0, 5], [1, 2, 0.5]])


def case(n=200, **prices):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 0.5, 1], (3, n))
    y = (probs.mean(0).cumsum(1) < rng.random((n, 1))).sum(1).clip(0, 2)
    return decide(lw.Ensemble(probs), Costs(MATRIX, **prices), task="multiclass"), y


def test_realized_cost_is_what_playing_with_a_real_expert_averages_to():
    plan, y = case(ask=0.8, abstain=1.5, expert_error=0.2)
    assert {ASK, ABSTAIN} < set(plan.action.tolist())
    rng = np.random.default_rng(1)
    repeats = 4000
    total = np.zeros((repeats, len(y)))
    for i, (action, truth) in enumerate(zip(plan.action, y, strict=True)):
        if action == ASK:
            wrong = (truth + rng.integers(1, 3, repeats)) % 3
            answer = np.where(rng.random(repeats) < 0.2, wrong, truth)
            after = plan.after_answer[i][answer]
            total[:, i] = 0.8 + np.where(after == ABSTAIN, 1.5, MATRIX[truth, after])
        else:
            total[:, i] = 1.5 if action == ABSTAIN else MATRIX[truth, action]
    assert plan.summary(y).cost_after == pytest.approx(
        total.mean(), abs=5 * total.mean(1).std() / repeats**0.5
    )


def test_a_perfect_answer_leads_to_the_cheapest_prediction_for_the_truth():
    plan, y = case(ask=0.8, abstain=1.5)
    paid = np.where(
        plan.action == ASK,
        0.8 + MATRIX[y].min(1),
        np.where(plan.action == ABSTAIN, 1.5, MATRIX[y, np.maximum(plan.action, 0)]),
    )
    story = plan.summary(y)
    assert story.cost_after == pytest.approx(paid.mean())
    assert story.cost_before == pytest.approx(MATRIX[y, plan.mean.argmax(1)].mean())


def with_extremes(saved, largest, confidence=0.95):
    """Student's t of the savings and of two more cases, one at either extreme; by hand."""
    n = len(saved)
    more = np.r_[saved, -largest, largest]
    variance = (
        saved.var(ddof=1) * n + np.sum((np.array([-largest, largest]) - more.mean()) ** 2)
    ) / (n + 2) ** 2
    half = student.ppf((1 + confidence) / 2, n - 1) * variance**0.5
    return more.mean() - half, more.mean() + half


def test_savings_have_a_paired_interval():
    plan, y = case(ask=0.8)
    before = plan.problem.cost_of(plan.mean.argmax(1), y)
    after = plan.problem.paid(plan.action, plan.after_answer, y)
    saving = plan.summary(y, confidence=0.9).saving
    assert (saving.value, saving.low, saving.high) == pytest.approx(
        (np.mean(before - after), *with_extremes(before - after, 20.8, 0.9))
    )  # a missed class 1 costs 20, an answer 0.8
    paired = ttest_rel(before, after).confidence_interval(0.9)
    assert saving.high - saving.low == pytest.approx(
        paired.high - paired.low, rel=0.1
    )  # 200 cases: hardly wider


def test_savings_from_rare_high_costs_are_covered():
    """A missed class of 5 % costs 20: in 50 cases often nobody was missed, and the plain t-interval
    covered .87.
    """
    rng = np.random.default_rng(0)
    runs, n, costs = 400, 50, Costs([[0, 1], [20, 0]])
    theta = rng.dirichlet([7.6, 0.4], (runs + 4000, n))
    y = (rng.random(theta.shape[:2]) < theta[..., 1]).astype(int)
    plan = decide(lw.Ensemble(theta.reshape(1, -1, 2)), costs, task="multiclass")
    paid = [plan.problem.cost_of(x, y.ravel()) for x in (plan.mean.argmax(1), plan.action)]
    saved = (paid[0] - paid[1]).reshape(-1, n)
    expected = saved[runs:].mean()
    found = [paired_saving(x, plan.problem, 0.95) for x in saved[:runs]]
    assert np.mean([x.low <= expected <= x.high for x in found]) >= 0.95
    plain = [
        student.interval(0.95, n - 1, x.mean(), x.std(ddof=1) / n**0.5 + 1e-300)
        for x in saved[:runs]
    ]
    assert np.mean([low <= expected <= high for low, high in plain]) < 0.9


def test_what_was_not_seen_is_within_the_interval():
    """No case is missed and nothing is saved: at most about 3 in 50 would be missed, at 20 each."""
    q = lw.Ensemble(np.tile([0.99, 0.01], (1, 50, 1)))
    costs = Costs([[0, 1], [20, 0]])
    saving = decide(q, costs, task="multiclass").summary(np.zeros(50, int)).saving
    assert saving.value == 0
    assert saving.high == -saving.low == pytest.approx(20 * 2.8 / 50, rel=0.05)
    one = decide(q[:1], costs, task="multiclass").summary([0]).saving
    assert (one.value, one.low, one.high) == (0, -20, 20)


def test_with_the_true_probabilities_deciding_is_cheaper_and_costs_what_was_promised():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.4, 0.4, 0.4], 40_000)
    y = (p.cumsum(1) < rng.random((len(p), 1))).sum(1).clip(0, 2)
    costs = Costs(MATRIX, ask=0.7, abstain=1.2, expert_error=0.05)
    plan = decide(lw.Ensemble(p[None]), costs, task="multiclass")
    story = plan.summary(y)
    assert story.cost_after < story.cost_before
    se = plan.problem.paid(plan.action, plan.after_answer, y).std() / len(y) ** 0.5
    assert story.cost_after == pytest.approx(plan.expected_cost.mean(), abs=4.5 * se)


def test_mistakes_are_told():
    plan, y = case(n=5)
    for labels, message in (
        (y[:3], r"one class per instance, shape \(5,\); got shape \(3,\)"),
        (y + 7, "must lie between 0 and 2"),
        (["a"] * 5, "`y_true` names the unknown class 'a'"),
        (y + 0.5, "must be whole numbers or class names"),
    ):
        with pytest.raises(ValueError, match=message):
            plan.summary(labels)
    image = lw.Ensemble(np.full((1, 2, 2, 2), 0.5))
    with pytest.raises(ValueError, match="cases on one axis"):
        decide(image, Costs(1 - np.eye(2)), task="multiclass").summary([[0, 1], [0, 1]])
