from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise._format import percent
from labelwise.decisions import Costs, acquire

NAMES = ["common", "usual", "rare"]


def pool(seed=0, n=60, m=4):
    return lw.Ensemble(
        np.random.default_rng(seed).dirichlet([6, 3, 0.3], (m, n)), class_names=NAMES
    )


def test_one_class_needs_no_costs_of_the_others():
    rng = np.random.default_rng(0)
    q = lw.Ensemble(rng.dirichlet(np.ones(4), (5, 200)), class_names=["ant", "bee", "cat", "dog"])
    choice = acquire(q, budget=20, label="cat")
    expected = np.argsort(-lw.decompose(q, "log").epistemic[:, 2], kind="stable")[:20]
    assert choice.indices.tolist() == expected.tolist()
    assert set(choice.label) == {"cat"}
    assert "for cat: score" in choice.explain(0)
    weighted = acquire(q, Costs(missed={"cat": 9}), budget=20, label="cat")
    assert weighted.indices.tolist() == expected.tolist()
    np.testing.assert_allclose(weighted.score, 9 * choice.score)
    unnamed = acquire(lw.Ensemble(q.probs), budget=20, label="2")
    assert unnamed.indices.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"label": "cta"}, "`label` names the unknown class 'cta'. Did you mean 'cat'?"),
        ({"label": "cat", "batch": "balanced"}, "takes turns between classes"),
    ],
)
def test_one_class_that_cannot_be_chosen_for(more, message):
    q = lw.Ensemble(
        np.random.default_rng(0).dirichlet(np.ones(2), (3, 10)), class_names=["cat", "dog"]
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        acquire(q, budget=2, **more)


def class_need(q, costs=None, **options):
    return acquire(q, costs, budget=1, **options).need


def test_need_is_weighted_epistemic_uncertainty_over_prevalence():
    q = pool()
    share = q.mean().mean(axis=0)
    assert np.allclose(class_need(q), lw.decompose(q).epistemic / share)
    costs = Costs(false_alarm=1, missed={"common": 1, "usual": 2, "rare": 30})
    assert np.allclose(
        class_need(q, costs, loss="squared"),
        lw.decompose(q, "squared").epistemic / share * [1, 2, 30],
    )
    matrix = Costs([[0, 1, 3], [2, 0, 4], [50, 60, 7]])
    assert np.allclose(class_need(q, matrix), lw.decompose(q).epistemic / share * [2, 3, 55])


def test_a_class_nobody_predicts_does_not_blow_up():
    q = lw.Ensemble(
        np.array([[[0.9, 0.1, 0.0], [0.5, 0.5, 0.0]], [[0.7, 0.3, 0.0], [0.5, 0.5, 0.0]]])
    )
    need = class_need(q)
    assert np.all(np.isfinite(need))
    assert np.all(need[:, 2] == 0)


def test_a_badly_known_rare_class_is_asked_for_only_after_the_correction():
    # 18 cases in which the members disagree a little about two common classes, 2 in which they
    # disagree about a rare one
    common = np.array([[0.7, 0.3, 0.0], [0.4, 0.6, 0.0]])
    rare = np.array([[0.9, 0.0, 0.1], [1.0, 0.0, 0.0]])
    q = lw.Ensemble(np.stack([common] * 18 + [rare] * 2, axis=1), class_names=NAMES)
    assert set(acquire(q, budget=2).indices) == {18, 19}
    assert acquire(q, budget=2).label == ("rare", "rare")
    bald = lw.joint.decompose(q).epistemic
    assert not {18, 19} & set(np.argsort(-bald)[:2])
    assert not {18, 19} & set(np.argsort(-lw.decompose(q).sum().epistemic)[:2])


def test_stakes_move_the_choice():
    q = pool()
    light, heavy = (acquire(q, Costs(missed={"usual": w}), budget=10) for w in (1, 1000))
    assert set(heavy.label) == {"usual"}
    assert set(light.label) != {"usual"}
    assert np.array_equal(heavy.indices, np.argsort(-heavy.score, kind="stable")[:10])


def test_several_labels_at_once():
    probs = np.random.default_rng(1).random((3, 20, 4))
    q = lw.MultiLabelEnsemble(probs)
    share = q.mean().mean(axis=0)
    assert np.allclose(acquire(q, budget=2).score, (lw.decompose(q).epistemic / share).sum(axis=-1))
    assert len(acquire(q, budget=20).indices) == 20


@given(
    seed=st.integers(0, 50),
    budget=st.integers(1, 12),
    batch=st.sampled_from(["top", "balanced"]),
)
def test_every_batch_is_a_set_of_cases_with_a_reason(seed, budget, batch):
    q = pool(seed, n=12)
    choice = acquire(q, budget=budget, batch=batch)
    assert len(set(choice.indices.tolist())) == budget
    assert set(choice.label) <= set(NAMES)
    assert choice.explain(budget - 1).startswith(
        f"case {choice.indices[-1]}, for {choice.label[-1]}:"
    )
    if batch == "balanced":
        counts = np.bincount([NAMES.index(name) for name in choice.label], minlength=3)
        assert counts.max() - counts.min() <= 1


def test_balanced_takes_each_classs_neediest_cases():
    q = pool()
    choice = acquire(q, budget=3, batch="balanced")
    taken: set[int] = set()
    for i, name in zip(choice.indices, choice.label, strict=True):
        need = choice.need[:, NAMES.index(name)].copy()
        need[list(taken)] = -1
        assert i == need.argmax()
        taken.add(int(i))


def test_an_explanation_is_about_the_class_the_case_was_chosen_for():
    q = pool()
    choice = acquire(q, budget=9, batch="balanced")
    need = class_need(q)
    shares = [
        need[i, NAMES.index(name)] / need[i].sum()
        for i, name in zip(choice.indices, choice.label, strict=True)
    ]
    assert min(shares) < 0.5  # not every case is chosen for the class it says most about
    for j, share in enumerate(shares):
        assert f"for {choice.label[j]}: {percent(share, 0)} of its score of" in choice.explain(j)


def test_a_class_takes_its_turn_only_as_long_as_it_needs_a_case():
    probs = np.array(
        [
            [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.3, 0.5, 0.2]],
            [[0.7, 0.3, 0.0], [0.5, 0.5, 0.0], [0.6, 0.4, 0.0]],
        ]
    )
    choice = acquire(lw.Ensemble(probs, class_names=NAMES), budget=3, batch="balanced")
    assert choice.label[:2] == ("rare", "common")  # and nobody needs case 1
    assert choice.indices.tolist() == [2, 0, 1]
    assert choice.explain(2) == "case 1: score 0, the members agree about it"
    never = acquire(
        lw.Ensemble(np.delete(probs, 2, axis=1), class_names=NAMES), budget=2, batch="balanced"
    )
    assert "rare" not in never.label
    agree = acquire(lw.Ensemble(probs[[0, 0]]), budget=2, batch="balanced")
    assert agree.indices.tolist() == [0, 1]


def test_mistakes_are_told():
    q = pool()
    for arguments, message in (
        ({"budget": 0}, "`budget` must be a positive integer; got 0"),
        ({"budget": 61}, "at most the pool's 60 cases"),
        ({"budget": 1, "batch": "best"}, "`batch` must be 'top' or 'balanced'"),
    ):
        with pytest.raises(ValueError, match=message):
            acquire(q, **arguments)
    with pytest.raises(TypeError, match=r"`costs` must be lw.decisions.Costs\(...\); got dict"):
        acquire(q, {"usual": 3}, budget=1)
    with pytest.raises(ValueError, match="one member says nothing"):
        acquire(lw.Ensemble(q.probs[:1]), budget=1)
    with pytest.raises(ValueError, match="one axis of instances"):
        acquire(lw.Ensemble(np.full((2, 3, 4, 2), 0.5)), budget=1)


def test_intervals_count_by_their_regret():
    low = np.array([[0.1, 0.4], [0.3, 0.3], [0.2, 0.7]])
    q = lw.Intervals(low, np.array([[0.6, 0.9], [0.7, 0.7], [0.3, 0.8]]))
    choice = acquire(q, budget=1, label="0", loss="squared")
    assert choice.indices.tolist() == [0]  # the widest
    regret = lw.decompose(q, "squared").regret[:, 0]
    np.testing.assert_allclose(choice.score / choice.score[0], regret / regret[0])


@pytest.mark.parametrize("batch", ["top", "balanced"])
def test_only_candidates_are_chosen_with_the_scores_of_the_whole_pool(batch):
    q, candidates = pool(), np.arange(60) % 3 == 0
    choice = acquire(q, budget=8, batch=batch, candidates=candidates)
    assert np.all(candidates[choice.indices])
    np.testing.assert_array_equal(choice.score, acquire(q, budget=8).score)
    everyone = acquire(q, budget=8, batch=batch, candidates=np.ones(60, bool))
    np.testing.assert_array_equal(everyone.indices, acquire(q, budget=8, batch=batch).indices)
    best = np.flatnonzero(candidates)[np.argsort(-choice.score[candidates])]
    if batch == "top":
        assert choice.indices.tolist() == best[:8].tolist()


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (np.arange(60) < 3, "must be at most the candidates' 3 cases; got 8"),
        (np.arange(60), "must say True or False of each of the 60 cases"),
        (np.ones(59, bool), "must say True or False of each of the 60 cases"),
    ],
)
def test_candidates_that_do_not_fit(candidates, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        acquire(pool(), budget=8, candidates=candidates)
