"""Each fault is found where it was planted and named, and what only looks like it is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

import labelwise as lw
from member_cases import found, members, votes


def test_copies_and_near_copies() -> None:
    probs, _ = members()
    probs[3] = probs[1]
    probs[4] = probs[1]
    check = lw.check_ensemble(lw.Ensemble(probs))
    assert found(check) == [("copies", (1, 3, 4))]
    assert str(check).startswith("Members 1, 3 and 4 are identical.")
    probs, _ = members()
    probs[3] = softmax(
        np.log(probs[1]) + 0.01 * np.random.default_rng(1).normal(size=probs[1].shape), axis=-1
    )
    assert found(lw.check_ensemble(lw.Ensemble(probs))) == [("near copies", (1, 3))]


def test_copied_label_of_labels_that_occur_together() -> None:
    rng = np.random.default_rng(0)
    probs = 1 / (1 + np.exp(-rng.normal(size=(1, 200, 3)) - 0.5 * rng.normal(size=(4, 200, 3))))
    assert lw.check_ensemble(lw.MultiLabelEnsemble(probs)).ok
    probs[2, :, 1] = probs[0, :, 1]
    check = lw.check_ensemble(lw.MultiLabelEnsemble(probs, class_names=["rain", "snow", "fog"]))
    assert found(check) == [("copied labels", (0, 2))]
    assert "the same probabilities of 'snow'" in str(check)


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


def test_constant_members() -> None:
    probs, _ = members()
    probs[0] = [0.7, 0.1, 0.1, 0.1]
    check = lw.check_ensemble(lw.Ensemble(probs))
    assert found(check) == [("constant", (0,))]
    assert "Member 0 predicts (nearly) the same" in str(check)


@pytest.mark.parametrize("m", [3, 5])
def test_one_overconfident_member_does_not_make_others_nearly_identical(m) -> None:
    for seed in range(10):
        probs, y = members(m, seed=seed, noise=0.2)
        probs[0] = softmax(10 * np.log(probs[0]), axis=-1)
        assert lw.check_ensemble(probs).ok
        assert lw.check_ensemble(probs, y).ok


def test_a_shuffled_member_does_not_make_others_nearly_identical() -> None:
    probs, _ = members(3, noise=0.05)
    probs[2] = np.random.default_rng(1).permutation(probs[2])
    assert found(lw.check_ensemble(probs)) == [("unrelated", (2,))]


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
    assert ", accuracy " in str(lw.check_ensemble(probs, y))


@pytest.mark.parametrize("rows", [-2, -1, 1, 7])
def test_shifted_rows(rows) -> None:
    probs, y = members()
    probs[4] = np.roll(probs[4], rows, axis=0)
    direction = "down" if rows > 0 else "up"
    for labels in (None, y):
        check = lw.check_ensemble(probs, labels)
        assert found(check) == [("shifted rows", (4,))]
        assert f"Member 4 is shifted {direction} by {abs(rows)} row" in str(check)


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
    probs, _ = members(2, 600)
    probs[1] = np.roll(probs[1], 1, axis=0)
    assert "one of the two is shifted" in str(lw.check_ensemble(probs))


def test_weak_members_are_not_unrelated() -> None:
    """Members that are hardly better than chance, and one among good ones."""
    for seed in range(5):
        weak, y = votes(5, 400, k=2, right=0.3, seed=seed)
        assert lw.check_ensemble(weak, y).ok
        good, y = members(5, seed=seed)
        good[2] = members(1, seed=seed, noise=6)[0][0]
        assert lw.check_ensemble(good, y).ok


@pytest.mark.parametrize("m", [3, 5])
def test_rows_of_an_old_file(m) -> None:
    probs, y = members(m, 400)
    probs[1, 200:] = np.random.default_rng(1).permutation(probs[1, 200:])
    for labels in (None, y):
        check = lw.check_ensemble(probs, labels)
        assert found(check) == [("unrelated rows", (1,))]
        assert "in instances 200 to 399: these may be in another order" in str(check)
    probs, y = members(2, 400)
    probs[0, :200] = probs[0, 200:]
    assert found(lw.check_ensemble(probs, y)) == [("unrelated rows", (0,))]


def test_rows_of_another_member() -> None:
    probs, y = members(3, 400)
    probs[1, 100:200] = probs[0, 100:200]
    probs[1, 300:] = probs[0, 300:]
    for labels in (None, y):
        check = lw.check_ensemble(probs, labels)
        assert found(check) == [("copied rows", (0, 1))]
        assert "Members 0 and 1 are identical in instances 100 to 199 and 300 to 399." in str(check)


def test_leaked_labels() -> None:
    for m in (2, 5):
        probs, y = members(m, noise=2)
        probs[1] = np.eye(4)[y]
        check = lw.check_ensemble(probs, y)
        assert found(check) == [("leaked labels", (1,))]
        assert "Member 1 equals the true labels in 300 instances" in str(check)
        probs[1] = 0.8 * probs[1] + 0.05
        assert "Member 1 is never wrong in 300 instances" in str(lw.check_ensemble(probs, y))
        assert not [x for x in lw.check_ensemble(probs).findings if x.fault == "leaked labels"]
    easy, y = votes(4, 100, right=0.99)
    easy[2] = np.eye(3)[y]  # as the others might be
    assert lw.check_ensemble(easy, y).ok


def test_leaked_labels_that_occur_together() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 3))
    truth = (z + rng.normal(size=z.shape) > 0).astype(float)
    probs = 1 / (1 + np.exp(-z - 0.5 * rng.normal(size=(4, 300, 3))))
    assert lw.check_ensemble(lw.MultiLabelEnsemble(probs), truth).ok
    probs[3] = truth
    assert found(lw.check_ensemble(lw.MultiLabelEnsemble(probs), truth)) == [
        ("leaked labels", (3,))
    ]
    probs[3] = rng.permutation(probs[2])
    assert found(lw.check_ensemble(lw.MultiLabelEnsemble(probs), truth)) == [("unrelated", (3,))]


def test_shuffled_rows_of_many_classes_are_not_permuted_classes() -> None:
    """The best of all orders of twenty classes gains something by chance."""
    for seed in range(5):
        probs, y = members(5, 100, k=20, seed=seed)
        probs[1] = np.random.default_rng(seed).permutation(probs[1])
        assert found(lw.check_ensemble(probs, y)) == [("unrelated", (1,))]


def test_only_constant_members_are_left_alone_by_comparisons() -> None:
    probs = np.tile([0.7, 0.2, 0.1], (3, 50, 1))
    assert found(lw.check_ensemble(probs, np.zeros(50, int))) == [("constant", (0, 1, 2))]
