"""Constant members and copies are found and named; what only looks like them is left alone."""

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


def test_rows_of_another_member() -> None:
    probs, y = members(3, 400)
    probs[1, 100:200] = probs[0, 100:200]
    probs[1, 300:] = probs[0, 300:]
    for labels in (None, y):
        check = lw.check_ensemble(probs, labels)
        assert found(check) == [("copied rows", (0, 1))]
        assert "Members 0 and 1 are identical in instances 100 to 199 and 300 to 399." in str(check)


def test_only_constant_members_are_left_alone_by_comparisons() -> None:
    probs = np.tile([0.7, 0.2, 0.1], (3, 50, 1))
    assert found(lw.check_ensemble(probs, np.zeros(50, int))) == [("constant", (0, 1, 2))]
