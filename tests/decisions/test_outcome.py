from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, ttest_rel
from scipy.stats import t as student

import labelwise as lw
from labelwise.decisions import ABSTAIN, ASK, Costs, decide, evaluate_policy
from labelwise.decisions.outcome import paired_saving

MATRIX = np.array([[0, 2, 1], [20, 0, 5], [1, 2, 0.5]])


def case(seed=0, n=200, **prices):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([1, 0.5, 1], (3, n))
    y = (probs.mean(0).cumsum(1) < rng.random((n, 1))).sum(1).clip(0, 2)
    costs = Costs(MATRIX, **prices)
    return decide(lw.Ensemble(probs), costs, task="multiclass"), y, costs


def test_realized_cost_is_what_playing_with_a_real_expert_averages_to():
    plan, y, _ = case(ask=0.8, abstain=1.5, expert_error=0.2)
    assert {ASK, ABSTAIN} < set(plan.action.tolist())
    report = evaluate_policy(plan, y)
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
    assert report["decide"].cost == pytest.approx(
        total.mean(), abs=5 * total.mean(1).std() / repeats**0.5
    )
    assert np.allclose(report["decide"].costs, total.mean(0), atol=6 * 20 * 0.5 / repeats**0.5)


def test_policies_by_hand():
    plan, y, _ = case(ask=0.8, abstain=1.5)
    report = evaluate_policy(plan, y)
    p = plan.mean
    n = np.arange(len(y))
    assert report["argmax"].cost == pytest.approx(MATRIX[y, p.argmax(1)].mean())
    risk = np.c_[p @ MATRIX, np.full(len(y), 1.5)]
    chow = np.c_[MATRIX[y], np.full(len(y), 1.5)][n, risk.argmin(1)]
    assert report["chow"].cost == pytest.approx(chow.mean())
    assert report["chow"].abstained == pytest.approx((risk.argmin(1) == 3).mean())
    assert report["oracle"].cost == pytest.approx(MATRIX[y].min(1).mean())
    assert report["oracle"].error == 0
    # a perfect answer leads to the cheapest prediction for the truth
    asked = plan.action == ASK
    paid = np.where(
        asked,
        0.8 + MATRIX[y].min(1),
        np.where(plan.action == ABSTAIN, 1.5, MATRIX[y, np.maximum(plan.action, 0)]),
    )
    assert np.allclose(report["decide"].costs, paid)
    decide_ = report["decide"]
    assert decide_.coverage + decide_.abstained + decide_.asked == pytest.approx(1)
    wrong = (plan.action >= 0) & (plan.action != y)
    assert decide_.errors_by_class.tolist() == [int(np.sum(wrong & (y == k))) for k in range(3)]
    assert decide_.predicted_by_class.sum() == np.sum(plan.action >= 0)
    assert decide_.error == pytest.approx(wrong.sum() / np.sum(plan.action >= 0))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    ask=st.none() | st.floats(0, 3),
    abstain=st.none() | st.floats(0, 3),
    error=st.floats(0, 0.6),
)
def test_the_entropy_threshold_is_the_best_of_all_thresholds(seed, ask, abstain, error):
    plan, y, _ = case(seed, n=25, ask=ask, abstain=abstain, expert_error=error)
    report = evaluate_policy(plan, y)
    h = entropy(plan.mean, axis=1, base=2)
    costs = []
    for threshold in (-1, *h):
        for refuse, price in ((ABSTAIN, abstain), (ASK, ask)):
            action = np.where(
                h <= threshold + 1e-12,
                plan.mean.argmax(1),
                refuse if price is not None else plan.mean.argmax(1),
            )
            costs.append(plan.problem.paid(action, plan.after_answer, y).mean())
    assert report["entropy"].cost == pytest.approx(min(costs), rel=1e-9, abs=1e-12)


def test_tuning_on_other_cases_uses_only_them():
    plan, y, _ = case(0, ask=0.8)
    other, y_other, _ = case(1, ask=0.8)
    report = evaluate_policy(plan, y, tune=(other, y_other))
    assert report.entropy_threshold == evaluate_policy(other, y_other).entropy_threshold
    assert report["entropy"].cost >= evaluate_policy(plan, y)["entropy"].cost - 1e-12


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
    plan, y, _ = case(ask=0.8)
    report = evaluate_policy(plan, y)
    mean, low, high = report.saving("argmax", confidence=0.9)
    saved = report["argmax"].costs - report["decide"].costs
    assert report.largest_saving == 20 + 0.8  # a missed class 1, and an answer that was paid for
    assert (mean, low, high) == pytest.approx((saved.mean(), *with_extremes(saved, 20.8, 0.9)))
    paired = ttest_rel(report["argmax"].costs, report["decide"].costs).confidence_interval(0.9)
    assert high - low == pytest.approx(paired.high - paired.low, rel=0.1)  # 200 cases: hardly wider
    assert report.saving("argmax", of="argmax")[0] == 0
    with pytest.raises(KeyError, match="no policy 'bayes'"):
        report.saving("bayes")
    with pytest.raises(ValueError, match="`confidence` must lie between 0 and 1"):
        report.saving("argmax", confidence=95)


def test_savings_from_rare_high_costs_are_covered():
    """A missed class of 5 % costs 20: in 50 cases often nobody was missed, and the plain t-interval
    covered .87.
    """
    rng = np.random.default_rng(0)
    runs, n, costs = 400, 50, Costs([[0, 1], [20, 0]])
    theta = rng.dirichlet([7.6, 0.4], (runs + 4000, n))
    y = (rng.random(theta.shape[:2]) < theta[..., 1]).astype(int)
    saved = []
    for p, truth in ((theta[:runs], y[:runs]), (theta[runs:], y[runs:])):
        report = evaluate_policy(
            decide(lw.Ensemble(p.reshape(1, -1, 2)), costs, task="multiclass"), truth.ravel()
        )
        saved.append((report["argmax"].costs - report["decide"].costs).reshape(-1, n))
    expected = saved[1].mean()
    found = np.array([paired_saving(x, report.largest_saving, 0.95) for x in saved[0]])
    assert np.mean((found[:, 1] <= expected) & (expected <= found[:, 2])) >= 0.95
    plain = [
        student.interval(0.95, n - 1, x.mean(), x.std(ddof=1) / n**0.5 + 1e-300) for x in saved[0]
    ]
    assert np.mean([low <= expected <= high for low, high in plain]) < 0.9


def test_what_was_not_seen_is_within_the_interval():
    """No case is missed and nothing is saved: at most about 3 in 50 would be missed, at 20 each."""
    q = lw.Ensemble(np.tile([0.99, 0.01], (1, 50, 1)))
    mean, low, high = evaluate_policy(
        decide(q, Costs([[0, 1], [20, 0]]), task="multiclass"), np.zeros(50, int)
    ).saving("argmax")
    assert mean == 0
    assert high == -low == pytest.approx(20 * 2.8 / 50, rel=0.05)
    one = evaluate_policy(decide(q[:1], Costs([[0, 1], [20, 0]]), task="multiclass"), [0]).saving(
        "argmax"
    )
    assert one == (0, -20, 20)


def test_with_the_true_probabilities_deciding_is_never_beaten_on_average():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.4, 0.4, 0.4], 40_000)
    y = (p.cumsum(1) < rng.random((len(p), 1))).sum(1).clip(0, 2)
    report = evaluate_policy(
        decide(
            lw.Ensemble(p[None]),
            Costs(MATRIX, ask=0.7, abstain=1.2, expert_error=0.05),
            task="multiclass",
        ),
        y,
    )
    assert report["decide"].cost < report["chow"].cost < report["argmax"].cost
    assert report["decide"].cost < report["entropy"].cost
    assert report["oracle"].cost < report["decide"].cost
    plan = decide(
        lw.Ensemble(p[None]),
        Costs(MATRIX, ask=0.7, abstain=1.2, expert_error=0.05),
        task="multiclass",
    )
    se = report["decide"].costs.std() / len(y) ** 0.5
    assert report["decide"].cost == pytest.approx(
        plan.expected_cost.mean(), abs=4.5 * se
    )  # what was promised was paid


def test_labels():
    rng = np.random.default_rng(6)
    probs = rng.random((3, 300, 2))
    y = (rng.random((300, 2)) < probs.mean(0)).astype(int)
    costs = Costs(false_alarm=[1, 2], missed=[8, 3], ask=0.5, abstain=[0.9, 0.6])
    plan = decide(lw.MultiLabelEnsemble(probs), costs, task="per_label")
    report = evaluate_policy(plan, y)
    a, b = np.array([1, 2]), np.array([8, 3])
    act = probs.mean(0) > 0.5
    assert report["argmax"].cost == pytest.approx(
        (a * (act & (y == 0)) + b * (~act & (y == 1))).sum(1).mean()
    )
    assert report["oracle"].cost == 0
    assert report["decide"].cost < min(report["argmax"].cost, report["chow"].cost)
    wrong = (plan.action >= 0) & (plan.action != y)
    assert report["decide"].errors_by_class.tolist() == wrong.sum(0).tolist()
    assert "asked" in str(report)


def test_labels_of_one_class_and_names():
    plan, y, costs = case(ask=0.8)
    named = decide(
        lw.Ensemble(plan.mean[None], class_names=["a", "b", "c"]), costs, task="multiclass"
    )
    assert (
        evaluate_policy(named, np.array(["a", "b", "c"])[y])["decide"].cost
        == evaluate_policy(plan, y)["decide"].cost
    )
    label = decide(lw.Ensemble(plan.mean[None]), Costs(false_alarm=1, missed=2), task="per_label")
    assert (
        evaluate_policy(label, y)["chow"].cost
        == evaluate_policy(label, np.eye(3, dtype=int)[y])["chow"].cost
    )


def test_other_costs_may_be_paid_than_were_decided_with():
    plan, y, _ = case(ask=0.8)
    assert evaluate_policy(plan, y, Costs(3 * MATRIX, ask=2.4))["decide"].cost == pytest.approx(
        3 * evaluate_policy(plan, y)["decide"].cost
    )
    with pytest.raises(ValueError, match="some decisions are to ask, but the costs have no `ask`"):
        evaluate_policy(plan, y, Costs(MATRIX))


def test_mistakes_are_told():
    plan, y, _ = case(n=5)
    for labels, message in (
        (y[:3], r"one class per instance, shape \(5,\); got shape \(3,\)"),
        (y + 7, "must lie between 0 and 2"),
        (["a"] * 5, "`y_true` names the unknown class 'a'"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate_policy(plan, labels)
    with pytest.raises(ValueError, match="must be whole numbers or class names"):
        evaluate_policy(plan, y + 0.5)
    with pytest.raises(ValueError, match="same task and classes"):
        evaluate_policy(
            plan,
            y,
            tune=(
                decide(
                    lw.Ensemble(np.full((1, 5, 2), 0.5)), Costs(1 - np.eye(2)), task="multiclass"
                ),
                y,
            ),
        )
    with pytest.raises(ValueError, match="cases on one axis"):
        evaluate_policy(
            decide(
                lw.Ensemble(np.full((1, 2, 2, 2), 0.5)), Costs(1 - np.eye(2)), task="multiclass"
            ),
            [[0, 1], [0, 1]],
        )
