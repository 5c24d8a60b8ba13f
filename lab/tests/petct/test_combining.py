"""Slices to studies, within each member."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise import Ensemble, decompose
from labelwise_lab.petct import aggregate


def random_probs(seed, members=3, slices=7, classes=4):
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.6), size=(members, slices))


@given(st.integers(0, 1000), st.sampled_from(["top", "noisy-or", "mean"]))
def test_probabilities_come_out_and_members_are_kept_apart(seed, how):
    probs = random_probs(seed)
    studies = np.array(["b", "a", "b", "a", "a", "b", "c"])
    names, result = aggregate(probs, studies, how=how, k=2)
    assert names.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(result.sum(axis=-1), 1)
    assert (result >= 0).all()
    for member in range(3):  # each by itself gives the same
        np.testing.assert_allclose(
            aggregate(probs[member : member + 1], studies, how=how, k=2)[1][0], result[member]
        )
    order = np.random.default_rng(seed).permutation(7)
    np.testing.assert_allclose(
        aggregate(probs[:, order], studies[order], how=how, k=2)[1], result, atol=1e-12
    )
    np.testing.assert_allclose(result[:, 2], aggregate(probs[:, 6:], ["c"], how=how)[1][:, 0])


def test_mean_and_top_are_what_they_say():
    probs = random_probs(1, members=2, slices=6)
    _, mean = aggregate(probs, ["s"] * 6, how="mean")
    np.testing.assert_allclose(mean[:, 0], probs.mean(axis=1))
    _, top = aggregate(probs, ["s"] * 6, how="top", k=2)
    for member in range(2):
        chosen = sorted(probs[member], key=lambda p: p[0])[:2]
        np.testing.assert_allclose(top[member, 0], np.mean(chosen, axis=0))
    np.testing.assert_allclose(aggregate(probs, ["s"] * 6, how="top", k=99)[1], mean)
    _, free = aggregate(probs, ["s"] * 6, how="top", k=1, negative=None)
    np.testing.assert_allclose(free[:, 0], [max(member, key=max) for member in probs])


@pytest.mark.parametrize("negative", [0, 2])
def test_noisy_or_by_enumeration(negative):
    """Every disease shows in every slice or not, independently; given that at most one disease
    shows anywhere.
    """
    probs = random_probs(2, members=1, slices=3, classes=3)[0]
    diseases = [k for k in range(3) if k != negative]
    weight = dict.fromkeys(range(3), 0.0)
    for pattern in itertools.product([0, 1], repeat=3 * 2):
        shown = np.array(pattern).reshape(3, 2)
        chance = np.prod(
            [
                probs[s, k] if shown[s, j] else 1 - probs[s, k]
                for s in range(3)
                for j, k in enumerate(diseases)
            ]
        )
        there = shown.any(axis=0)
        if there.sum() <= 1:
            weight[diseases[int(np.argmax(there))] if there.any() else negative] += chance
    expected = np.array([weight[k] for k in range(3)]) / sum(weight.values())
    _, result = aggregate(probs[None], ["s"] * 3, how="noisy-or", negative=negative)
    np.testing.assert_allclose(result[0, 0], expected, rtol=1e-12)


def test_noisy_or_at_the_ends():
    sure = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]])
    np.testing.assert_allclose(
        aggregate(sure, ["s", "s"], how="noisy-or")[1], [[[0, 1, 0]]], atol=1e-9
    )
    none = np.array([[[1.0, 0.0, 0.0]] * 200])
    np.testing.assert_array_equal(aggregate(none, ["s"] * 200, how="noisy-or")[1], [[[1, 0, 0]]])
    contradiction = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] * 100])
    np.testing.assert_allclose(
        aggregate(contradiction, ["s"] * 200, how="noisy-or")[1], [[[0, 0.5, 0.5]]]
    )


def test_a_small_lesion_drowns_in_the_mean_only():
    """One slice of 90 shows it."""
    probs = np.tile([0.995, 0.005], (1, 90, 1))
    probs[0, 40] = 0.01, 0.99
    ill = {
        how: aggregate(probs, ["s"] * 90, how=how, k=1)[1][0, 0, 1]
        for how in ("mean", "top", "noisy-or")
    }
    assert ill["mean"] < 0.02
    assert ill["top"] > 0.9
    assert ill["noisy-or"] > 0.9


@pytest.mark.parametrize("how", ["top", "noisy-or", "mean"])
def test_anatomy_is_not_epistemic(how):
    """Members that agree on every slice know nothing different about the study, however different
    its slices are.
    """
    probs = np.repeat(random_probs(3, members=1, slices=9), 4, axis=0)
    _, study = aggregate(probs, ["s"] * 9, how=how)
    assert decompose(Ensemble(study)).epistemic.max() < 1e-12
    mixture = Ensemble(probs.reshape(36, 1, 4))  # every slice of every member as a member
    assert decompose(mixture).epistemic.max() > 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"how": "median"}, "`how` must be one of"),
        ({"how": "noisy-or", "negative": None}, "needs a class without lesions"),
        ({"k": 0}, "`k` must be a positive"),
    ],
)
def test_mistakes(options, words):
    with pytest.raises(ValueError, match=words):
        aggregate(random_probs(0), ["s"] * 7, **options)
    with pytest.raises(ValueError, match="a study for each slice"):
        aggregate(random_probs(0), ["s"] * 6)
