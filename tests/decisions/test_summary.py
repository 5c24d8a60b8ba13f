from __future__ import annotations

import re

import numpy as np
import pytest

import labelwise as lw
from labelwise._format import number
from labelwise.decisions import ABSTAIN, ASK, Costs, decide
from labelwise.decisions.realized import paired_saving
from labelwise.decisions.summary import fewer_missed
from optional_libraries import optional

NAMES = ["akiec", "mel", "nv"]


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
    for calls, action, costs in (
        (story.before, likely, paid[0]),
        (story.after, plan.action, paid[1]),
    ):
        for k in range(3):
            assert calls.called[k] == sum(a == k for a in action)
            assert calls.missed[k] == sum(
                t == k and a not in (k, ASK, ABSTAIN) for a, t in zip(action, y, strict=True)
            )
            assert calls.false_alarms[k] == sum(
                a == k and t != k for a, t in zip(action, y, strict=True)
            )
            assert calls.asked[k] == sum(
                a == ASK and t == k for a, t in zip(action, y, strict=True)
            )
            assert calls.abstained[k] == sum(
                a == ABSTAIN and t == k for a, t in zip(action, y, strict=True)
            )
            assert calls.cost[k] == pytest.approx(costs[y == k].sum())
    assert story.cases.tolist() == np.bincount(y, minlength=3).tolist()
    assert story.cost_before == pytest.approx(paid[0].mean())
    assert story.cost_after == pytest.approx(paid[1].mean())
    saved = paid[0] - paid[1]
    most = 20 + prices.get("ask", 0)  # of a missed melanoma
    assert (story.saving.value, story.saving.low, story.saving.high) == pytest.approx(
        paired_saving(saved, most, 0.95)
    )
    of_mel = paired_saving(saved[y == 1], most, 0.95)
    assert (story.saving_by_class.low[1], story.saving_by_class.high[1]) == pytest.approx(
        of_mel[1:]
    )
    assert (story.saving_by_class.low < story.saving_by_class.high).all()


def test_fewer_melanomas_are_missed_at_the_price_of_false_alarms():
    q, y = example(2000)
    story = decide(q, Costs(missed={"mel": 20}), task="multiclass").summary(y)
    assert story.after.missed[1] < story.before.missed[1] / 3
    assert story.after.false_alarms[1] > story.before.false_alarms[1]
    assert story.saving.low > 0
    text = str(story)
    assert f"{story.before.missed[1]} → {story.after.missed[1]}" in text
    assert "asked" not in text.splitlines()[1]  # nobody could be
    assert "Asking pays below" in text


def test_missed_cases_with_an_interval():
    q, y = example(2000)
    plan = decide(q, Costs(missed={"mel": 20}), task="multiclass")
    story = plan.summary(y)
    before, after = ((action != y) & (y == 1) for action in (q.mean().argmax(axis=1), plan.action))
    fewer = story.fewer_missed
    assert fewer.value[1] == before.sum() - after.sum()
    assert fewer.low[1] < fewer.value[1] < fewer.high[1]
    first, *_ = story.sentences()
    n = int((y == 1).sum())
    assert first.startswith(
        f"Missed cases of mel fall from {before.sum()} to {after.sum()} of {n}: "
        f"{before.sum() - after.sum()} fewer (95 % interval "
    )
    assert first in str(story).replace("\n", " ")
    assert any(
        sentence.startswith("Missed cases of nv rise from") for sentence in story.sentences()
    )
    assert story.to_dict()["mel"]["fewer_missed_low"] == fewer.low[1]
    same = decide(q, Costs(default=1), task="multiclass").summary(
        y
    )  # the most probable class: nothing changes
    assert not same.fewer_missed.value.any()
    assert same.sentences() == []


@pytest.mark.parametrize(
    ("saved", "lost", "n"), [(0.3, 0.05, 20), (0.9, 0.0, 10), (0.02, 0.01, 200), (0.0, 0.0, 5)]
)
def test_the_interval_of_missed_cases_covers(saved, lost, n):
    drawn = np.random.default_rng(0).multinomial(n, [saved, lost, 1 - saved - lost], 4000)
    found = fewer_missed(drawn[:, 0], drawn[:, 1], np.full(4000, n), 0.95)
    assert ((found.low <= n * (saved - lost)) & (n * (saved - lost) <= found.high)).mean() > 0.94


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
    assert story.before.called.tolist() == (p > 0.5).sum(axis=0).tolist()
    assert story.after.missed.tolist() == ((plan.action == 0) & (hot == 1)).sum(axis=0).tolist()
    assert (
        story.after.false_alarms.tolist() == ((plan.action == 1) & (hot == 0)).sum(axis=0).tolist()
    )
    assert story.after.asked.tolist() == (plan.action == ASK).sum(axis=0).tolist()
    paid = [
        plan.problem.paid(action, plan.after_answer, hot).sum(axis=1).mean()
        for action in ((p > 0.5).astype(int), plan.action)
    ]
    assert story.cost_after == pytest.approx(paid[1])
    assert story.saving.value == pytest.approx(paid[0] - paid[1])
    assert story.saving_by_class.value.sum() == pytest.approx(float(story.saving))


def test_a_class_without_cases_saves_nothing_that_is_known():
    q = lw.Ensemble(np.array([[[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]]), class_names=NAMES)
    story = decide(q, Costs(default=1), task="multiclass").summary([0, 1])
    assert np.isnan(story.saving_by_class.value[2])
    assert "–" in str(story).splitlines()[4]
    assert story.saving_by_class.value[0] == 0
    assert re.search(
        r"akiec .* 0 \(-1 to \+1\)$", str(story).splitlines()[2]
    )  # one case: all that is possible


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
    assert table["missed_after"].to_list() == story.after.missed.tolist()
    assert story.to_dict()["mel"]["missed_after"] == story.after.missed[1]
    assert "<table>" in story._repr_html_()


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
@pytest.mark.parametrize("prices", [{}, {"abstain": 0.5}, {"expert_error": 0.1}])
def test_break_even_is_where_asking_starts(task, prices):
    q, _ = example(100)
    costs = {"default": 1, "missed": {"mel": 20}} | prices
    price = decide(q, Costs(**costs), task=task).break_even
    assert np.any(decide(q, Costs(**costs, ask=price.some_case * 0.999), task=task).action == ASK)
    assert not np.any(
        decide(q, Costs(**costs, ask=price.some_case * 1.001), task=task).action == ASK
    )
    problem = decide(q, Costs(**costs), task=task).problem
    p = q.mean() if task == "multiclass" else np.stack([1 - q.mean(), q.mean()], axis=-1)
    assert price.average == pytest.approx(
        np.mean(problem.now(p)[1] - problem.answered(p)[1])
    )  # asking always, or never


def test_asking_that_saves_nothing():
    q = lw.Ensemble(np.array([[[1.0, 0.0]]]))
    assert (
        str(decide(q, Costs(default=1), task="multiclass").break_even)
        == "Asking saves nothing at any price"
    )


def test_wrong_input_is_refused():
    q, y = example(10)
    plan = decide(q, Costs(default=1), task="multiclass")
    with pytest.raises(ValueError, match="`confidence` must lie between 0 and 1"):
        plan.summary(y, confidence=95)
    with pytest.raises(ValueError, match="`y_true` must have one class per instance"):
        plan.summary(y[:5])
