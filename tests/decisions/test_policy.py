"""The cheapest action, and the sentences, types and warnings around it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise.decisions import ABSTAIN, ASK, Costs, decide

cost = st.floats(0, 10)
share = st.floats(0, 1)


@given(p=st.lists(st.floats(0.01, 1), min_size=2, max_size=6), price=share)
def test_zero_one_costs_give_chows_rule(p, price):
    p = np.array(p) / sum(p)
    k = len(p)
    action = decide(
        lw.Ensemble(p[None, None]), Costs(1 - np.eye(k), abstain=price), task="multiclass"
    ).action[0]
    if abs(p.max() - (1 - price)) > 1e-9:
        assert (action == ABSTAIN) == (p.max() < 1 - price)
        assert action == ABSTAIN or p[action] == pytest.approx(p.max())


def test_the_action_depends_on_the_mean_only():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], (5, 200))
    costs = Costs([[0, 1, 2], [5, 0, 1], [9, 3, 0]], abstain=1.2, ask=0.6, expert_error=0.1)
    spread, flat = (
        decide(lw.Ensemble(probs), costs, task="multiclass"),
        decide(lw.Ensemble(probs.mean(0)[None]), costs, task="multiclass"),
    )
    assert np.array_equal(spread.action, flat.action)
    assert np.allclose(spread.value_of_label, flat.value_of_label)
    assert spread.value_of_knowledge.max() > 0.1
    assert np.all(flat.value_of_knowledge == 0)


def test_values_are_the_measures_of_the_package():
    rng = np.random.default_rng(1)
    q = lw.Ensemble(rng.dirichlet([1, 1, 1], (5, 50)))
    matrix = np.array([[0, 1, 2], [5, 0, 1], [9, 3, 0.0]])
    joint = lw.joint.decompose(q, lw.joint.CostMatrix(matrix))
    plan = decide(q, Costs(matrix, ask=1), task="multiclass")
    assert np.allclose(plan.value_of_label, joint.total)
    assert np.array_equal(plan.value_of_knowledge, joint.epistemic)
    u = lw.decompose(q, lw.CostLoss(1, 9))
    labels = decide(q, Costs(false_alarm=1, missed=9, ask=1), task="per_label")
    assert np.allclose(labels.value_of_label, u.total)
    assert np.array_equal(labels.value_of_knowledge, u.epistemic)
    # the two problems are different ones: neither value can be had from the other by summing
    assert not np.allclose(u.total.sum(-1), joint.total)
    assert np.all(plan.value_of_knowledge <= plan.value_of_label + 1e-12)


@given(t=share, a=cost, b=cost, c=cost)
def test_abstaining_about_a_label_splits_into_two_cost_losses(t, a, b, c):
    q = lw.MultiLabelEnsemble(np.array([[[t, 0.2]], [[0.3 * t, 0.4]], [[1 - t, 0.1]]]))
    plan = decide(q, Costs(false_alarm=a, missed=b, abstain=c), task="per_label")
    risk = np.minimum(np.minimum(b * q.probs, a * (1 - q.probs)), c)
    mean = np.minimum(np.minimum(b * q.mean(), a * (1 - q.mean())), c)
    assert np.allclose(plan.value_of_knowledge, mean - risk.mean(0), atol=1e-9)


def test_asking_is_chosen_exactly_when_the_answer_is_worth_more_than_its_price():
    q = lw.Ensemble(np.random.default_rng(3).dirichlet([0.5, 1, 1], (3, 300)))
    plan = decide(
        q,
        Costs([[0, 3, 1], [5, 0, 2], [1, 1, 0]], abstain=1.1, ask=0.4, expert_error=0.1),
        task="multiclass",
    )
    assert np.array_equal(plan.action == ASK, plan.value_of_label > 0.4)
    assert 0.1 < np.mean(plan.action == ASK) < 0.9


def test_at_equal_cost_predicting_comes_before_abstaining_and_both_before_asking():
    q = lw.Ensemble(np.array([[[0.5, 0.5]]]))
    for prices, expected in (
        ({"ask": 0.5}, 0),
        ({"abstain": 0.5}, 0),
        ({"abstain": 0.25, "ask": 0.25}, ABSTAIN),
        ({"ask": 0.25}, ASK),
    ):
        assert decide(q, Costs(1 - np.eye(2), **prices), task="multiclass").action[0] == expected


def test_every_array_library_gives_its_own_arrays(lib):
    probs = np.random.default_rng(4).dirichlet([1, 1, 1], (3, 20))
    costs = Costs(
        false_alarm={"0": 1, "1": 2},
        missed={"0": 4, "1": 5, "2": 2},
        class_names=["0", "1", "2"],
        abstain=1.1,
        ask=0.4,
        expert_error=0.1,
    )
    for task in ("multiclass", "per_label"):
        ours, plan = (
            decide(lw.Ensemble(probs), costs, task=task),
            decide(lw.Ensemble(lib.array(probs)), costs, task=task),
        )
        assert type(plan.action) is type(plan.value_of_label) is type(lib.array(probs))
        assert np.array_equal(lib.numpy(plan.action), ours.action)
        assert np.array_equal(plan.action_names, ours.action_names)
        for field in ("expected_cost", "value_of_label", "value_of_knowledge"):
            assert np.allclose(lib.numpy(getattr(plan, field)), getattr(ours, field))
        assert plan.explain(3) == ours.explain(3)


def test_one_case_and_grids_of_cases():
    costs = Costs(default=1, ask=0.2)
    assert decide(lw.Dirichlet(np.array([2.0, 2.0])), costs, task="multiclass").action == ASK
    grid = decide(lw.Ensemble(np.full((2, 3, 4, 2), 0.5)), costs, task="multiclass")
    assert grid.action.shape == (3, 4)
    assert grid.explain((2, 1)).startswith("ask an expert for the class")


def test_labels_that_show_bad_calibration_bring_a_warning_and_change_nothing_else():
    rng = np.random.default_rng(6)
    p = rng.dirichlet([1, 1, 1], 500)
    y = (p.cumsum(1) < rng.random((500, 1))).sum(1)
    costs = Costs(false_alarm=1, missed=4, ask=0.4)
    sure = p**5 / (p**5).sum(1, keepdims=True)
    for task in ("multiclass", "per_label"):
        honest = decide(
            lw.Ensemble(p[None]), costs, task=task, y_true=y
        )  # a warning would be an error here
        assert np.array_equal(honest.action, decide(lw.Ensemble(p[None]), costs, task=task).action)
        with pytest.warns(
            UserWarning,
            match=(
                "unreliable. Over-confident by 27.2 percentage points .* Badly calibrated: the top "
                "label"
            ),
        ):
            told = decide(lw.Ensemble(sure[None]), costs, task=task, y_true=y)
        assert np.array_equal(
            told.expected_cost, decide(lw.Ensemble(sure[None]), costs, task=task).expected_cost
        )
    labels = rng.random((500, 2)) < 0.1
    with pytest.warns(UserWarning, match="does not say how often it happens"):
        decide(
            lw.MultiLabelEnsemble(np.full((1, 500, 2), 0.95)),
            Costs(false_alarm=1, missed=1),
            task="per_label",
            y_true=labels,
        )


def test_mistakes_are_told():
    q = lw.Ensemble(np.full((2, 3, 2), 0.5), class_names=["a", "b"])
    costs = Costs(default=1)
    with pytest.raises(TypeError, match="`q` must be a distribution"):
        decide(np.full((3, 2), 0.5), costs, task="multiclass")
    with pytest.raises(TypeError, match="`costs` must be"):
        decide(q, {"matrix": 1}, task="multiclass")
    with pytest.raises(ValueError, match="no single class to choose"):
        decide(lw.MultiLabelEnsemble(np.full((2, 3, 2), 0.5)), costs, task="multiclass")
    with pytest.raises(ValueError, match="`label` is for task='per_label'"):
        decide(q, costs, task="multiclass").explain(0, label="a")
    with pytest.raises(ValueError, match="`label` names the unknown class 'c'"):
        decide(q, costs, task="per_label").explain(0, label="c")
    with pytest.raises(IndexError, match="must pick one case"):
        decide(q, costs, task="per_label").explain()


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
def test_one_case_without_a_batch_axis(task):
    probs = np.random.default_rng(0).dirichlet([1, 2, 3], size=4)
    named = {"class_names": ["a", "b", "c"], "abstain": 0.7, "ask": 0.3}
    costs = lw.decisions.Costs(missed={"b": 3, "c": 5}, false_alarm={"b": 2, "c": 0.5}, **named)
    one, many = (
        lw.decisions.decide(lw.Ensemble(p, member_axis=0), costs, task=task)
        for p in (probs, probs[:, None])
    )
    for part in ("action", "expected_cost", "value_of_label", "value_of_knowledge", "after_answer"):
        np.testing.assert_allclose(getattr(one, part), getattr(many, part)[0], rtol=1e-12)
    assert one.explain() == many.explain(0)


def test_the_task_defaults_to_what_the_labels_allow():
    probs = np.random.default_rng(0).dirichlet([1, 1], (2, 5))
    costs = Costs(default=1)
    assert decide(lw.Ensemble(probs), costs).task == "multiclass"
    assert decide(lw.MultiLabelEnsemble(probs), costs).task == "per_label"
    with pytest.raises(ValueError, match=r"'per_label' \(decide about each label by itself\)"):
        decide(lw.MultiLabelEnsemble(probs), costs, task="multilabel")
