from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel

import labelwise as lw
from labelwise._format import number
from labelwise.decisions import ABSTAIN, ASK, Costs, decide
from labelwise.decisions.summary import paired_saving
from optional_libraries import optional

NAMES = ["akiec", "mel", "nv"]
MATRIX = np.array([[0, 2, 1], [20, 0, 5], [1, 2, 0.5]])


def example(n: int = 400, seed: int = 0) -> tuple[lw.Ensemble, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.5, 0.7, 3], n)
    y = np.minimum((theta.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), 2)
    return lw.Ensemble(theta[None], class_names=NAMES), y


@pytest.mark.parametrize(
    "prices",
    [{}, {"ask": 0.4, "expert_error": 0.1}, {"abstain": 0.5}, {"abstain": 0.6, "ask": 0.55}],
)
def test_counts_and_costs_are_those_of_the_cases(prices):
    q, y = example()
    plan = decide(q, Costs(default=1, missed={"mel": 20}, **prices), task="multiclass")
    story = plan.summary(y)
    likely = q.mean().argmax(axis=1)
    paid = [plan.problem.paid(action, plan.after_answer, y) for action in (likely, plan.action)]
    table = story.by_class
    for when, action, costs in (("before", likely, paid[0]), ("after", plan.action, paid[1])):
        for k in range(3):
            assert table[f"called_{when}"][k] == sum(a == k for a in action)
            assert table[f"missed_{when}"][k] == sum(
                t == k and a not in (k, ASK, ABSTAIN) for a, t in zip(action, y, strict=True)
            )
            assert table[f"false_alarms_{when}"][k] == sum(
                a == k and t != k for a, t in zip(action, y, strict=True)
            )
            assert table[f"cost_{when}"][k] == pytest.approx(costs[y == k].sum())
    for k in range(3):
        assert table["asked"][k] == np.sum((plan.action == ASK) & (y == k))
        assert table["abstained"][k] == np.sum((plan.action == ABSTAIN) & (y == k))
    assert table["cases"].tolist() == np.bincount(y, minlength=3).tolist()
    assert story.cost_before == pytest.approx(paid[0].mean())
    assert story.cost_after == pytest.approx(paid[1].mean())
    saved = paid[0] - paid[1]
    expected = paired_saving(saved, plan.problem, 0.95)
    for end in ("value", "low", "high"):
        assert getattr(story.saving, end) == pytest.approx(getattr(expected, end))


def test_fewer_melanomas_are_missed_at_the_price_of_false_alarms():
    q, y = example(2000)
    story = decide(q, Costs(missed={"mel": 20}), task="multiclass").summary(y)
    table = story.by_class
    assert table["missed_after"][1] < table["missed_before"][1] / 3
    assert table["false_alarms_after"][1] > table["false_alarms_before"][1]
    assert story.saving.low > 0
    text = str(story)
    assert f"{table['missed_before'][1]} → {table['missed_after'][1]}" in text
    assert "asked" not in text.splitlines()[1]  # nobody could be


def test_whether_the_decisions_cost_what_was_expected():
    """Forecasts that are too sure of themselves promise too little; the sentence has the size, the
    direction and the interval.
    """
    q, y = example(2000)
    right = decide(q, Costs(missed={"mel": 20}), task="multiclass").summary(y)
    assert right.cost_sentence() == (
        "Realized cost 0.655 per case, expected 0.691: chance can explain the difference (95 % "
        "interval -0.078 to 0.0285)."
    )
    sharp = q.probs**3 / (q.probs**3).sum(-1, keepdims=True)
    plan = decide(
        lw.Ensemble(sharp, class_names=NAMES), Costs(missed={"mel": 20}), task="multiclass"
    )
    wrong = plan.summary(y)
    assert wrong.cost_sentence() == (
        "Realized cost 1.25 per case, expected 0.271: 0.979 higher (95 % interval 0.789 to 1.19)."
    )
    assert wrong.expected_cost == pytest.approx(plan.expected_cost.mean())
    assert wrong.excess.value == pytest.approx(wrong.cost_after - wrong.expected_cost)
    assert wrong.cost_sentence() in str(wrong)
    grouped = plan.summary(y, groups=np.arange(2000) // 100)
    assert grouped.excess.high - grouped.excess.low > wrong.excess.high - wrong.excess.low
    asked = decide(q, Costs(default=1, ask=0), task="multiclass").summary(y)
    assert asked.cost_sentence() == "Realized cost 0 per case, as expected."
    abstained = decide(q, Costs(default=1, abstain=0.1 + 0.2 - 0.3), task="multiclass").summary(y)
    assert (
        abstained.cost_sentence()
        == f"Realized cost {number(abstained.cost_after)} per case, as expected."
    )
    one = decide(
        lw.Ensemble(q.probs[:, :1], class_names=NAMES), Costs(default=1), task="multiclass"
    ).summary(y[:1])
    assert (
        one.cost_sentence()
        == f"Realized cost {number(one.cost_after)} per case, expected {number(one.expected_cost)}."
    )


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
@pytest.mark.parametrize(
    "prices",
    [
        {},
        {"ask": 0.4, "expert_error": 0.1},
        {"abstain": 0.5},
        {"abstain": 0.3, "ask": 0.25, "expert_error": 0.02},
    ],
)
def test_no_case_costs_more_than_it_can(task, prices):
    q, _ = example()
    plan = decide(
        q, Costs(default=1, missed={"mel": 20}, false_alarm={"nv": 3}, **prices), task=task
    )
    lowest, highest = plan.problem.cost_range(plan.action, plan.after_answer)
    outcomes = range(3) if task == "multiclass" else range(2)
    paid = np.stack(
        [
            plan.problem.paid(plan.action, plan.after_answer, np.full(plan.action.shape, k))
            for k in outcomes
        ]
    )
    assert np.all(lowest <= paid.min(axis=0) + 1e-12)
    assert np.all(highest >= paid.max(axis=0) - 1e-12)
    predicted = plan.action >= 0
    np.testing.assert_allclose(lowest[predicted], paid.min(axis=0)[predicted])
    np.testing.assert_allclose(highest[predicted], paid.max(axis=0)[predicted])


def test_per_label():
    q, y = example()
    plan = decide(q, Costs(missed={"mel": 20}, ask=0.3, abstain=0.31), task="per_label")
    story = plan.summary(y)
    hot = np.eye(3, dtype=int)[y]
    p = q.mean()
    table = story.by_class
    assert table["called_before"].tolist() == (p > 0.5).sum(axis=0).tolist()
    assert table["missed_after"].tolist() == ((plan.action == 0) & (hot == 1)).sum(axis=0).tolist()
    alarms = (plan.action == 1) & (hot == 0)
    assert table["false_alarms_after"].tolist() == alarms.sum(axis=0).tolist()
    assert table["asked"].tolist() == (plan.action == ASK).sum(axis=0).tolist()
    paid = [
        plan.problem.paid(action, plan.after_answer, hot).sum(axis=1).mean()
        for action in ((p > 0.5).astype(int), plan.action)
    ]
    assert story.cost_after == pytest.approx(paid[1])
    assert story.saving.value == pytest.approx(paid[0] - paid[1])
    changed = table["cost_before"] - table["cost_after"]
    assert changed.sum() / story.n == pytest.approx(float(story.saving))


def test_many_classes_are_cut():
    rng = np.random.default_rng(0)
    q = lw.Ensemble(rng.dirichlet(np.ones(50), (1, 100)))
    text = str(decide(q, Costs(default=1), task="multiclass").summary(rng.integers(0, 50, 100)))
    assert len(text.splitlines()) == 23
    assert "20 of 50 classes" in text


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frame(library):
    optional(library)
    q, y = example()
    story = decide(q, Costs(missed={"mel": 20}, ask=0.4), task="multiclass").summary(y)
    table = story.to_frame(library=library)
    assert table["class"].to_list() == NAMES
    assert table["missed_after"].to_list() == story.by_class["missed_after"].tolist()
    assert story.to_records()[1]["missed_after"] == story.by_class["missed_after"][1]
    assert "<table>" in story._repr_html_()


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
@pytest.mark.parametrize("prices", [{}, {"abstain": 0.5}, {"expert_error": 0.1}])
def test_break_even_is_where_asking_starts(task, prices):
    q, _ = example(100)
    costs = {"default": 1, "missed": {"mel": 20}} | prices
    price = decide(q, Costs(**costs), task=task).break_even
    assert np.any(decide(q, Costs(**costs, ask=price * 0.999), task=task).action == ASK)
    assert not np.any(decide(q, Costs(**costs, ask=price * 1.001), task=task).action == ASK)


def test_below_its_mean_value_asking_always_is_cheaper_than_never():
    q, _ = example(100)
    plan = decide(q, Costs(default=1, missed={"mel": 20}), task="multiclass")
    never, always = plan.problem.now(q.mean())[1], plan.problem.answered(q.mean())[1]
    assert plan.value_of_label.mean() == pytest.approx(np.mean(never - always))
    assert str(plan).splitlines()[-1] == (
        f"  Asking pays below {number(plan.break_even)} for at least one decision, and below "
        f"{number(plan.value_of_label.mean())} on average over all."
    )


def test_asking_that_saves_nothing():
    plan = decide(lw.Ensemble(np.array([[[1.0, 0.0]]])), Costs(default=1), task="multiclass")
    assert plan.break_even == 0
    assert "Asking saves nothing at any price." in str(plan)


def test_wrong_input_is_refused():
    q, y = example(10)
    plan = decide(q, Costs(default=1), task="multiclass")
    with pytest.raises(ValueError, match="`confidence` must lie between 0 and 1"):
        plan.summary(y, confidence=95)
    with pytest.raises(ValueError, match="`y_true` must have one class per instance"):
        plan.summary(y[:5])


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
    with pytest.raises(ValueError, match="one or more cases on one axis"):
        decide(image, Costs(1 - np.eye(2)), task="multiclass").summary([[0, 1], [0, 1]])
