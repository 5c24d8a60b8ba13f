"""The best of all plans, and what information is worth, by playing the cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwise as lw
from labelwise.decisions import ABSTAIN, ASK, Costs, decide

DRAWS = 60_000


def label_costs(false_alarm, missed, **prices):
    """Costs of labels 0, 1, … from sequences."""
    names = list(map(str, range(len(missed))))
    alarms, misses = (dict(zip(names, map(float, x), strict=True)) for x in (false_alarm, missed))
    return Costs(false_alarm=alarms, missed=misses, class_names=names, **prices)


def weighted_ensemble(rng):
    return lw.Ensemble(rng.dirichlet([0.6, 0.8, 1.0], (4, 3)), weights=[1, 2, 3, 1])


DISTRIBUTIONS = {
    "ensemble": weighted_ensemble,
    "dirichlet": lambda rng: lw.Dirichlet(rng.uniform(0.3, 4, (3, 3))),
    "mixture": lambda rng: lw.DirichletMixture(rng.uniform(0.3, 4, (3, 3, 3)), weights=[1, 1, 2]),
    "gaussian": lambda rng: lw.LogisticNormal(rng.normal(size=(3, 3)), rng.uniform(0.2, 2, (3, 3))),
}


def simulated_values(theta, y, table, abstain, error, rng):
    """Value of label and of knowledge for one case by playing it: ``theta`` (n, K) ~ Q, ``y`` ~
    theta, ``table[truth, action]``.

    Nothing here uses a mean or a Bayes risk formula: actions are chosen by what they cost on
    average over the played cases.
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
        (label, label_se), (knowledge, knowledge_se) = simulated_values(
            theta[:, i], y[:, i], table, abstain, error, rng
        )
        assert plan.value_of_label[i] == pytest.approx(label, abs=4.5 * label_se + 1e-3)
        slack = 1e-3 if plan.error is None else 1e-3 + 2 * plan.error[i]
        assert plan.value_of_knowledge[i] == pytest.approx(
            knowledge, abs=4.5 * knowledge_se + slack
        )
    a, b = np.array([1.0, 2.0, 0.5]), np.array([3.0, 1.0, 4.0])
    labels = decide(
        q,
        label_costs(a, b, abstain=abstain, expert_error=error),
        task="per_label",
    )
    for i, k in product(range(2), range(3)):
        t = theta[:, i, k]
        binary = np.array([[0, a[k]], [b[k], 0]])
        (label, label_se), (knowledge, knowledge_se) = simulated_values(
            np.stack([1 - t, t], -1), (y[:, i] == k).astype(int), binary, abstain, error, rng
        )
        assert labels.value_of_label[i, k] == pytest.approx(label, abs=4.5 * label_se + 1e-3)
        slack = 1e-3 if labels.error is None else 1e-3 + 2 * labels.error[i, k]
        assert labels.value_of_knowledge[i, k] == pytest.approx(
            knowledge, abs=4.5 * knowledge_se + slack
        )


cost = st.floats(0, 10)
share = st.floats(0, 1)


def cost_of_plan(p, pay, abstain, ask, error, plan):
    """Expected cost of a complete plan: ("now", action), or ("ask", action after each answer),
    summed over truths and answers.
    """
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
    plan = decide(
        lw.Ensemble(p[None, None]),
        Costs(pay, abstain=abstain, ask=ask, expert_error=error),
        task="multiclass",
    )
    costs = {
        each: cost_of_plan(p, pay, abstain, ask, error, each) for each in all_plans(3, abstain, ask)
    }
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
    ask=st.none() | st.floats(0, 3),
    error=st.floats(0, 0.99),
)
def test_per_label_is_the_best_set_of_labels_to_act_on(t, a, b, abstain, ask, error):
    q = lw.MultiLabelEnsemble(np.array(t)[None, None])
    costs = label_costs(a, b, abstain=abstain, ask=ask, expert_error=error)
    plan = decide(q, costs, task="per_label")
    each = [
        [
            cost_of_plan([1 - t[k], t[k]], [[0, a[k]], [b[k], 0]], abstain, ask, error, one)
            for one in all_plans(2, abstain, ask)
        ]
        for k in range(2)
    ]
    best = min(
        sum(combination) for combination in product(*each)
    )  # every combination of plans for the labels
    assert plan.expected_cost[0].sum() == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_a_useless_expert_is_worth_nothing_and_a_worse_one_less():
    q = lw.Ensemble(np.random.default_rng(2).dirichlet([1, 1, 1], (3, 100)))
    worth = [
        decide(q, Costs(1 - np.eye(3), expert_error=e), task="multiclass").value_of_label
        for e in (0, 0.1, 0.3, 2 / 3)
    ]
    assert np.all(np.diff(worth, axis=0) <= 1e-12)
    assert np.allclose(worth[-1], 0)
