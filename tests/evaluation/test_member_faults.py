"""Faulty members are found and named; what only looks like a fault is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

import labelwise as lw
from labelwise.evaluation.member_faults import Members
from member_cases import found, members, votes


def some_members(n: int = 400) -> Members:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, n))
    return Members(probs, (0, 1, 2, 3), tuple("0123"), ("a", "b", "c"), None)


def test_findings_name_the_members_of_the_ensemble() -> None:
    left = some_members().without({1})
    assert (
        left.finding("constant", [1], "predicts the same").sentence == "Member 2 predicts the same"
    )
    found = left.finding("copies", [0, 1, 2], "are identical")
    assert found.members == (0, 2, 3)
    assert found.sentence == "Members 0, 2 and 3 are identical"


def test_others_are_the_rest() -> None:
    members = some_members()
    np.testing.assert_allclose(members.mean_of_others(1), members.probs[[0, 2, 3]].mean(axis=0))


def test_copies() -> None:
    probs, _ = members()
    probs[3] = probs[1]
    probs[4] = probs[1]
    check = lw.check_ensemble(lw.Ensemble(probs))
    assert found(check) == [("copies", (1, 3, 4))]
    assert str(check).startswith("Members 1, 3 and 4 are identical.")


def test_constant_members() -> None:
    probs, _ = members()
    probs[0] = [0.7, 0.1, 0.1, 0.1]
    check = lw.check_ensemble(lw.Ensemble(probs))
    assert found(check) == [("constant", (0,))]
    assert "Member 0 predicts (nearly) the same" in str(check)


@pytest.mark.parametrize("m", [3, 5])
def test_one_overconfident_member_is_no_fault(m) -> None:
    for seed in range(10):
        probs, y = members(m, seed=seed, noise=0.2)
        probs[0] = softmax(10 * np.log(probs[0]), axis=-1)
        assert lw.check_ensemble(probs).ok
        assert lw.check_ensemble(probs, y).ok


def test_votes_that_are_equal_by_chance_are_no_copies() -> None:
    """Trees often agree in all of a few instances."""
    easy, _ = votes(5, 30, right=0.99, seed=3)
    assert any(np.array_equal(easy[a], easy[b]) for a in range(5) for b in range(a))
    assert lw.check_ensemble(easy).ok
    copied, _ = votes(5, 300)
    copied[3] = copied[0]
    assert found(lw.check_ensemble(copied)) == [("copies", (0, 3))]


def test_members_that_miss_a_rare_class_are_not_constant() -> None:
    probs = np.zeros((3, 60, 2))
    probs[:, :, 0] = 1
    probs[0, :2] = probs[1, 1:3] = [0, 1]  # the third sees none of the three rare cases
    assert lw.check_ensemble(probs).ok


def test_only_constant_members_are_left_alone_by_comparisons() -> None:
    probs = np.tile([0.7, 0.2, 0.1], (3, 50, 1))
    assert found(lw.check_ensemble(probs, np.zeros(50, int))) == [("constant", (0, 1, 2))]


def test_permuted_classes_with_and_without_labels() -> None:
    probs, y = members()
    order = [1, 0, 2, 3]
    one = probs.copy()
    one[4] = one[4][:, order]
    for labels in (None, y):
        assert found(lw.check_ensemble(lw.Ensemble(one), labels)) == [("permuted classes", (4,))]
    assert "'0' as '1', '1' as '0'" in str(lw.check_ensemble(lw.Ensemble(one)))
    everyone = lw.Ensemble(probs[..., order])
    assert lw.check_ensemble(everyone).ok  # nothing to compare with
    assert [x.members for x in lw.check_ensemble(everyone, y).findings] == [
        (0,),
        (1,),
        (2,),
        (3,),
        (4,),
    ]
    assert len(lw.check_ensemble(lw.Ensemble(one[3:])).findings) == 2  # two members: which is it?


@pytest.mark.parametrize("m", [3, 5])
@pytest.mark.parametrize("kind", [members, votes])
def test_shuffled_rows(m, kind) -> None:
    probs, y = kind(m, 300)
    probs[1] = np.random.default_rng(1).permutation(probs[1])
    for labels in (None, y):
        assert found(lw.check_ensemble(lw.Ensemble(probs), labels)) == [("unrelated", (1,))]
    sentence = str(lw.check_ensemble(probs))
    assert "Member 1 has nothing in common with the other members (correlation " in sentence
    assert "its rows may be in another order, or it may be of another task" in sentence


def test_unrelated_predictions() -> None:
    probs, y = members()
    probs[0] = np.random.default_rng(1).dirichlet(np.ones(4), 300)
    probs[3] = members(1, seed=7)[0][0]  # of other instances
    for labels in (None, y):
        assert found(lw.check_ensemble(probs, labels)) == [("unrelated", (0,)), ("unrelated", (3,))]


def test_labels_tell_which_of_two_members_is_at_fault() -> None:
    probs, y = members(2, 600)
    probs[1] = np.random.default_rng(1).permutation(probs[1])
    assert found(lw.check_ensemble(probs, y)) == [("unrelated", (1,))]
    check = lw.check_ensemble(probs)
    assert found(check) == [("unrelated", (0, 1))]
    assert "one of the two has its rows in another order, or is of another task" in str(check)


def test_weak_members_are_not_unrelated() -> None:
    """Members that are hardly better than chance, and one among good ones."""
    for seed in range(5):
        weak, y = votes(5, 400, k=2, right=0.3, seed=seed)
        assert lw.check_ensemble(weak, y).ok
        good, y = members(5, seed=seed)
        good[2] = members(1, seed=seed, noise=6)[0][0]
        assert lw.check_ensemble(good, y).ok


def test_shuffled_rows_of_labels_that_occur_together() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 3))
    truth = (z + rng.normal(size=z.shape) > 0).astype(float)
    probs = 1 / (1 + np.exp(-z - 0.5 * rng.normal(size=(4, 300, 3))))
    assert lw.check_ensemble(lw.MultiLabelEnsemble(probs), truth).ok
    probs[3] = rng.permutation(probs[2])
    assert found(lw.check_ensemble(lw.MultiLabelEnsemble(probs), truth)) == [("unrelated", (3,))]


def test_shuffled_rows_of_many_classes_are_not_permuted_classes() -> None:
    """The best of all orders of twenty classes gains something by chance."""
    for seed in range(5):
        probs, y = members(5, 100, k=20, seed=seed)
        probs[1] = np.random.default_rng(seed).permutation(probs[1])
        assert found(lw.check_ensemble(probs, y)) == [("unrelated", (1,))]
