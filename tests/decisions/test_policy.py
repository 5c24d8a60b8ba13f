from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwise as lw
from labelwise.decisions import ABSTAIN, ASK, Costs, decide

DRAWS = 60_000


def weighted_ensemble(rng):
    return lw.Ensemble(rng.dirichlet([0.6, 0.8, 1.0], (4, 3)), weights=[1, 2, 3, 1])


DISTRIBUTIONS = {
    "ensemble": weighted_ensemble,
    "dirichlet": lambda rng: lw.Dirichlet(rng.uniform(0.3, 4, (3, 3))),
    "mixture": lambda rng: lw.DirichletMixture(rng.uniform(0.3, 4, (3, 3, 3)), weights=[1, 1, 2]),
    "gaussian": lambda rng: lw.LogisticNormal(rng.normal(size=(3, 3)), rng.uniform(0.2, 2, (3, 3))),
}


def simulated_values(theta, y, table, abstain, error, rng):
    """Value of label and of knowledge for one case by playing it: ``theta`` (n, K) ~ Q, ``y`` ~ theta, ``table[truth, action]``.

    Nothing here uses a mean or a Bayes risk formula: actions are chosen by what they cost on average over the played cases.
    """
    n, k = theta.shape
    actions = np.c_[table, np.full(k, abstain)] if abstain is not None else np.asarray(table)
    pay = actions[y]  # (n, A)
    blind = pay[:, pay.mean(axis=0).argmin()]
    wrong = (y + rng.integers(1, k, n)) % k
    answer = np.where(rng.random(n) < error, wrong, y)
    told = np.empty(n)
    for s in range(k):
        heard = answer == s
        told[heard] = pay[heard][:, pay[heard].mean(axis=0).argmin()] if heard.any() else 0
    knowing = pay[np.arange(n), (theta @ actions).argmin(axis=1)]
    result = []
    for saved in (blind - told, blind - knowing):
        result.append((saved.mean(), saved.std() / np.sqrt(n)))
    return result


@pytest.mark.parametrize("error", [0.0, 0.15])
@pytest.mark.parametrize("abstain", [None, 0.7])
@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_values_of_information_are_what_playing_the_cases_gives(kind, abstain, error):
    rng = np.random.default_rng(5)
    q = DISTRIBUTIONS[kind](np.random.default_rng(3))
    theta = q.sample(DRAWS, rng=rng)
    y = (theta.cumsum(axis=-1) < rng.random((*theta.shape[:-1], 1))).sum(axis=-1).clip(0, 2)
    table = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [3.0, 2.0, 0.5]])
    plan = decide(q, Costs(table, abstain=abstain, expert_error=error), task="multiclass")
    for i in range(3):
        (label, label_se), (knowledge, knowledge_se) = simulated_values(theta[:, i], y[:, i], table, abstain, error, rng)
        assert plan.value_of_label[i] == pytest.approx(label, abs=4.5 * label_se + 1e-3)
        slack = 1e-3 if plan.error is None else 1e-3 + 2 * plan.error[i]
        assert plan.value_of_knowledge[i] == pytest.approx(knowledge, abs=4.5 * knowledge_se + slack)
    a, b = np.array([1.0, 2.0, 0.5]), np.array([3.0, 1.0, 4.0])
    labels = decide(q, Costs(false_positive=a, false_negative=b, abstain=abstain, expert_error=error), task="per_label")
    for i, k in product(range(2), range(3)):
        t = theta[:, i, k]
        binary = np.array([[0, a[k]], [b[k], 0]])
        (label, label_se), (knowledge, knowledge_se) = simulated_values(
            np.stack([1 - t, t], -1), (y[:, i] == k).astype(int), binary, abstain, error, rng
        )
        assert labels.value_of_label[i, k] == pytest.approx(label, abs=4.5 * label_se + 1e-3)
        slack = 1e-3 if labels.error is None else 1e-3 + 2 * labels.error[i, k]
        assert labels.value_of_knowledge[i, k] == pytest.approx(knowledge, abs=4.5 * knowledge_se + slack)


cost = st.floats(0, 10)
share = st.floats(0, 1)


def cost_of_plan(p, pay, abstain, ask, error, plan):
    """Expected cost of a complete plan: ("now", action), or ("ask", action after each answer), summed over truths and answers."""
    k = len(p)

    def spent(action, truth):
        return abstain if action == ABSTAIN else pay[truth][action]

    kind, what = plan
    if kind == "now":
        return sum(p[t] * spent(what, t) for t in range(k))
    total = ask
    for truth in range(k):
        for said in range(k):
            chance = 1 - error if said == truth else error / (k - 1)
            total += p[truth] * chance * spent(what[said], truth)
    return total


def all_plans(k, abstain, ask):
    actions = [*range(k), *([ABSTAIN] if abstain is not None else [])]
    plans = [("now", a) for a in actions]
    if ask is not None:
        plans += [("ask", responses) for responses in product(actions, repeat=k)]
    return plans


@settings(max_examples=150)
@given(
    weights=st.lists(st.floats(0.001, 1), min_size=3, max_size=3),
    pay=st.lists(st.lists(cost, min_size=3, max_size=3), min_size=3, max_size=3),
    abstain=st.none() | cost,
    ask=st.none() | st.floats(0, 3),
    error=st.floats(0, 0.99),
)
def test_multiclass_is_the_best_of_all_plans(weights, pay, abstain, ask, error):
    p = np.array(weights) / sum(weights)
    plan = decide(lw.Ensemble(p[None, None]), Costs(pay, abstain=abstain, ask=ask, expert_error=error), task="multiclass")
    costs = {each: cost_of_plan(p, pay, abstain, ask, error, each) for each in all_plans(3, abstain, ask)}
    best = min(costs.values())
    assert plan.expected_cost[0] == pytest.approx(best, rel=1e-9, abs=1e-9)
    action = int(plan.action[0])
    chosen = ("ask", tuple(plan.after_answer[0].tolist())) if action == ASK else ("now", action)
    assert costs[chosen] == pytest.approx(best, rel=1e-9, abs=1e-9)
    if action == ASK:  # better than anything without asking
        assert best < min(c for each, c in costs.items() if each[0] == "now") + 1e-9


@settings(max_examples=60)
@given(
    t=st.lists(share, min_size=2, max_size=2),
    a=st.lists(cost, min_size=2, max_size=2),
    b=st.lists(cost, min_size=2, max_size=2),
    abstain=st.none() | cost,
    ask=st.none() | st.lists(st.floats(0, 3), min_size=2, max_size=2),
    error=st.floats(0, 0.99),
)
def test_per_label_is_the_best_set_of_labels_to_act_on(t, a, b, abstain, ask, error):
    q = lw.MultiLabelEnsemble(np.array(t)[None, None])
    costs = Costs(false_positive=a, false_negative=b, abstain=abstain, ask=ask, expert_error=error)
    plan = decide(q, costs, task="per_label")
    each = [
        [
            cost_of_plan([1 - t[k], t[k]], [[0, a[k]], [b[k], 0]], abstain, ask and ask[k], error, one)
            for one in all_plans(2, abstain, ask and ask[k])
        ]
        for k in range(2)
    ]
    best = min(sum(combination) for combination in product(*each))  # every combination of plans for the labels
    assert plan.expected_cost[0].sum() == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(p=st.lists(st.floats(0.01, 1), min_size=2, max_size=6), price=share)
def test_zero_one_costs_give_chows_rule(p, price):
    p = np.array(p) / sum(p)
    k = len(p)
    action = decide(lw.Ensemble(p[None, None]), Costs(1 - np.eye(k), abstain=price), task="multiclass").action[0]
    if abs(p.max() - (1 - price)) > 1e-9:
        assert (action == ABSTAIN) == (p.max() < 1 - price)
        assert action == ABSTAIN or p[action] == pytest.approx(p.max())


def test_the_action_depends_on_the_mean_only():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], (5, 200))
    costs = Costs([[0, 1, 2], [5, 0, 1], [9, 3, 0]], abstain=1.2, ask=0.6, expert_error=0.1)
    spread, flat = decide(lw.Ensemble(probs), costs, task="multiclass"), decide(lw.Ensemble(probs.mean(0)[None]), costs, task="multiclass")
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
    labels = decide(q, Costs(false_positive=1, false_negative=9, ask=1), task="per_label")
    assert np.allclose(labels.value_of_label, u.total)
    assert np.array_equal(labels.value_of_knowledge, u.epistemic)
    # the two problems are different ones: neither value can be had from the other by summing
    assert not np.allclose(u.total.sum(-1), joint.total)
    assert np.all(plan.value_of_knowledge <= plan.value_of_label + 1e-12)


@given(t=share, a=cost, b=cost, c=cost)
def test_abstaining_about_a_label_splits_into_two_cost_losses(t, a, b, c):
    q = lw.MultiLabelEnsemble(np.array([[[t, 0.2]], [[0.3 * t, 0.4]], [[1 - t, 0.1]]]))
    plan = decide(q, Costs(false_positive=a, false_negative=b, abstain=c), task="per_label")
    risk = np.minimum(np.minimum(b * q.probs, a * (1 - q.probs)), c)
    mean = np.minimum(np.minimum(b * q.mean(), a * (1 - q.mean())), c)
    assert np.allclose(plan.value_of_knowledge, mean - risk.mean(0), atol=1e-9)


def test_a_useless_expert_is_worth_nothing_and_a_worse_one_less():
    q = lw.Ensemble(np.random.default_rng(2).dirichlet([1, 1, 1], (3, 100)))
    worth = [decide(q, Costs(1 - np.eye(3), expert_error=e), task="multiclass").value_of_label for e in (0, 0.1, 0.3, 2 / 3)]
    assert np.all(np.diff(worth, axis=0) <= 1e-12)
    assert np.allclose(worth[-1], 0)


def test_asking_is_chosen_exactly_when_the_answer_is_worth_more_than_its_price():
    q = lw.Ensemble(np.random.default_rng(3).dirichlet([0.5, 1, 1], (3, 300)))
    plan = decide(q, Costs([[0, 3, 1], [5, 0, 2], [1, 1, 0]], abstain=1.1, ask=0.4, expert_error=0.1), task="multiclass")
    assert np.array_equal(plan.action == ASK, plan.value_of_label > 0.4)
    assert 0.1 < np.mean(plan.action == ASK) < 0.9


def test_at_equal_cost_predicting_comes_before_abstaining_and_both_before_asking():
    q = lw.Ensemble(np.array([[[0.5, 0.5]]]))
    for prices, expected in (({"ask": 0.5}, 0), ({"abstain": 0.5}, 0), ({"abstain": 0.25, "ask": 0.25}, ABSTAIN), ({"ask": 0.25}, ASK)):
        assert decide(q, Costs(1 - np.eye(2), **prices), task="multiclass").action[0] == expected


def test_every_array_library_gives_its_own_arrays(lib):
    probs = np.random.default_rng(4).dirichlet([1, 1, 1], (3, 20))
    costs = Costs([[0, 3, 1], [5, 0, 2], [1, 1, 0]], false_positive=1, false_negative=4, abstain=1.1, ask=0.4, expert_error=0.1)
    for task in ("multiclass", "per_label"):
        ours, plan = decide(lw.Ensemble(probs), costs, task=task), decide(lw.Ensemble(lib.array(probs)), costs, task=task)
        assert type(plan.action) is type(plan.value_of_label) is type(lib.array(probs))
        assert np.array_equal(lib.numpy(plan.action), ours.action)
        assert np.array_equal(plan.action_names, ours.action_names)
        for field in ("expected_cost", "value_of_label", "value_of_knowledge"):
            assert np.allclose(lib.numpy(getattr(plan, field)), getattr(ours, field))
        assert plan.explain(3) == ours.explain(3)


def test_one_case_and_grids_of_cases():
    costs = Costs(1 - np.eye(2), ask=0.2, false_positive=1, false_negative=1)
    assert decide(lw.Dirichlet(np.array([2.0, 2.0])), costs, task="multiclass").action == ASK
    grid = decide(lw.Ensemble(np.full((2, 3, 4, 2), 0.5)), costs, task="multiclass")
    assert grid.action.shape == (3, 4)
    assert grid.explain((2, 1)).startswith("ask an expert for the class")


def test_sentences():
    names = ["nevus", "melanoma", "lentigo"]
    q = lw.Ensemble(np.array([[[0.90, 0.05, 0.05], [0.5, 0.3, 0.2]], [[0.80, 0.15, 0.05], [0.3, 0.5, 0.2]]]), class_names=names)
    costs = Costs(
        [[0, 2, 1], [20, 0, 20], [1, 2, 0]],
        false_positive=[1, 2, 1],
        false_negative=[1, 20, 2],
        ask=1.5,
        abstain=3,
        class_names=names,
    )
    one = decide(q, costs, task="multiclass")
    assert one.explain(0) == (
        "ask an expert for the class of this case: the expert's answer saves 1.8 on average and costs 1.5; "
        "more training data could save at most 0.425 if no expert is asked"
    )
    assert one.explain(1) == (
        "predict melanoma, which costs 1.2 on average; the expert's answer saves 1.2 on average and costs 1.5; "
        "more training data could save at most 0 if no expert is asked"
    )
    label = decide(q, costs, task="per_label")
    assert label.explain(0, label="melanoma") == (
        "ask an expert about melanoma: the expert's answer saves 1.8 on average and costs 1.5; more training data could save at most 0.45 if no expert is asked"
    )
    assert label.explain(0) == label.explain(0, label="melanoma") + (
        "; act on nevus (expected cost 0.15); do not act on lentigo (expected cost 0.1)"
    )
    erring = decide(q, Costs([[0, 2, 1], [20, 0, 20], [1, 2, 0]], abstain=0.1, expert_error=0.25), task="multiclass")
    assert erring.explain(0) == (
        "abstain on this case, which costs 0.1; the answer of an expert with error rate 0.25 saves 0 on average; "
        "more training data could save at most 0"
    )
    many = decide(
        lw.MultiLabelEnsemble(np.full((1, 1, 9), 0.9)),
        Costs(false_positive=1, false_negative=1, abstain=np.r_[0, np.ones(8)]),
        task="per_label",
    )
    assert many.explain(0) == "act on 1, 2, 3, 4 and 4 others (expected cost 0.8); abstain on 0 (expected cost 0)"


def test_labels_that_show_bad_calibration_bring_a_warning_and_change_nothing_else():
    rng = np.random.default_rng(6)
    p = rng.dirichlet([1, 1, 1], 500)
    y = (p.cumsum(1) < rng.random((500, 1))).sum(1)
    costs = Costs([[0, 3, 1], [5, 0, 2], [1, 1, 0]], false_positive=1, false_negative=4, ask=0.4)
    sure = p**5 / (p**5).sum(1, keepdims=True)
    for task in ("multiclass", "per_label"):
        honest = decide(lw.Ensemble(p[None]), costs, task=task, y_true=y)  # a warning would be an error here
        assert np.array_equal(honest.action, decide(lw.Ensemble(p[None]), costs, task=task).action)
        with pytest.warns(UserWarning, match="unreliable. Badly calibrated: the top label"):
            told = decide(lw.Ensemble(sure[None]), costs, task=task, y_true=y)
        assert np.array_equal(told.expected_cost, decide(lw.Ensemble(sure[None]), costs, task=task).expected_cost)
    labels = rng.random((500, 2)) < 0.1
    with pytest.warns(UserWarning, match="does not say how often it happens"):
        decide(
            lw.MultiLabelEnsemble(np.full((1, 500, 2), 0.95)), Costs(false_positive=1, false_negative=1), task="per_label", y_true=labels
        )


def test_mistakes_are_told():
    q = lw.Ensemble(np.full((2, 3, 2), 0.5), class_names=["a", "b"])
    costs = Costs(1 - np.eye(2), false_positive=1, false_negative=1)
    with pytest.raises(TypeError, match="`q` must be a distribution"):
        decide(np.full((3, 2), 0.5), costs, task="multiclass")
    with pytest.raises(TypeError, match="`costs` must be"):
        decide(q, {"matrix": 1}, task="multiclass")
    with pytest.raises(ValueError, match="no single class to choose"):
        decide(lw.MultiLabelEnsemble(np.full((2, 3, 2), 0.5)), costs, task="multiclass")
    with pytest.raises(ValueError, match="`label` is for task='per_label'"):
        decide(q, costs, task="multiclass").explain(0, label="a")
    with pytest.raises(KeyError, match="no label 'c'"):
        decide(q, costs, task="per_label").explain(0, label="c")
    with pytest.raises(IndexError, match="must pick one case"):
        decide(q, costs, task="per_label").explain()


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
def test_one_case_without_a_batch_axis(task):
    probs = np.random.default_rng(0).dirichlet([1, 2, 3], size=4)
    costs = lw.decisions.Costs([[0, 1, 5], [2, 0, 1], [9, 3, 0]], false_positive=1, false_negative=3, abstain=0.7, ask=0.3)
    one, many = (lw.decisions.decide(lw.Ensemble(p, member_axis=0), costs, task=task) for p in (probs, probs[:, None]))
    for part in ("action", "expected_cost", "value_of_label", "value_of_knowledge", "after_answer"):
        np.testing.assert_allclose(getattr(one, part), getattr(many, part)[0], rtol=1e-12)
    assert one.explain() == many.explain(0)
