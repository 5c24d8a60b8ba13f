"""Slices to studies, within each member."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise import Ensemble, decompose
from labelwise_lab.petct import aggregate


def random_probs(seed, members=3, slices=7, classes=4):
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.6), size=(members, slices))


@given(st.integers(0, 1000), st.sampled_from([2, None]))
def test_probabilities_come_out_and_members_are_kept_apart(seed, k):
    probs = random_probs(seed)
    studies = np.array(["b", "a", "b", "a", "a", "b", "c"])
    names, result = aggregate(probs, studies, k=k)
    assert names.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(result.sum(axis=-1), 1)
    assert (result >= 0).all()
    for member in range(3):  # each by itself gives the same
        np.testing.assert_allclose(
            aggregate(probs[member : member + 1], studies, k=k)[1][0], result[member]
        )
    order = np.random.default_rng(seed).permutation(7)
    np.testing.assert_allclose(
        aggregate(probs[:, order], studies[order], k=k)[1], result, atol=1e-12
    )
    np.testing.assert_allclose(result[:, 2], aggregate(probs[:, 6:], ["c"], k=k)[1][:, 0])


def test_mean_and_top_are_what_they_say():
    probs = random_probs(1, members=2, slices=6)
    _, mean = aggregate(probs, ["s"] * 6, k=None)
    np.testing.assert_allclose(mean[:, 0], probs.mean(axis=1))
    _, top = aggregate(probs, ["s"] * 6, k=2)
    for member in range(2):
        chosen = sorted(probs[member], key=lambda p: p[0])[:2]
        np.testing.assert_allclose(top[member, 0], np.mean(chosen, axis=0))
    np.testing.assert_allclose(aggregate(probs, ["s"] * 6, k=99)[1], mean)
    _, free = aggregate(probs, ["s"] * 6, k=1, negative=None)
    np.testing.assert_allclose(free[:, 0], [max(member, key=max) for member in probs])


def test_a_small_lesion_drowns_in_the_mean_only():
    """One slice of 90 shows it."""
    probs = np.tile([0.995, 0.005], (1, 90, 1))
    probs[0, 40] = 0.01, 0.99
    ill = {k: aggregate(probs, ["s"] * 90, k=k)[1][0, 0, 1] for k in (None, 1)}
    assert ill[None] < 0.02
    assert ill[1] > 0.9


@pytest.mark.parametrize("k", [5, None])
def test_anatomy_is_not_epistemic(k):
    """Members that agree on every slice know nothing different about the study, however different
    its slices are.
    """
    probs = np.repeat(random_probs(3, members=1, slices=9), 4, axis=0)
    _, study = aggregate(probs, ["s"] * 9, k=k)
    assert decompose(Ensemble(study)).epistemic.max() < 1e-12
    mixture = Ensemble(probs.reshape(36, 1, 4))  # every slice of every member as a member
    assert decompose(mixture).epistemic.max() > 0.05


def test_mistakes():
    with pytest.raises(ValueError, match="`k` must be a positive"):
        aggregate(random_probs(0), ["s"] * 7, k=0)
    with pytest.raises(ValueError, match="a study for each slice"):
        aggregate(random_probs(0), ["s"] * 6)
