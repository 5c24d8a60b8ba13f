"""Members that do not match the others or the truth are named; weak ones are left alone."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from member_cases import found, members, votes


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
