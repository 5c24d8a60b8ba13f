"""Margin, votes and vacuity against their definitions, written out."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import labelwise as lw
from labelwise.evaluation import margin, vacuity, variation_ratio, vote_disagreement


def pool(
    seed: int = 0, m: int = 5, shape: tuple[int, ...] = (30,), k: int = 4, weights=None
) -> lw.Ensemble:
    return lw.Ensemble(
        np.random.default_rng(seed).dirichlet(np.full(k, 0.5), (m, *shape)), weights=weights
    )


@given(st.integers(0, 500), st.integers(2, 5), st.integers(2, 6))
def test_members_are_counted(seed, m, k):
    q = pool(seed, m, k=k)
    votes = q.probs.argmax(-1)
    mode = stats.mode(votes, axis=0)
    np.testing.assert_allclose(variation_ratio(q), 1 - mode.count / m)
    pairs = np.mean([votes[i] != votes[j] for i, j in permutations(range(m), 2)], axis=0)
    np.testing.assert_allclose(vote_disagreement(q), pairs, atol=1e-12)


def test_weights_count_as_members_do():
    weights = np.array([1, 2, 3])
    q = pool(m=3, weights=weights)
    copies = lw.Ensemble(np.repeat(q.probs, weights, axis=0))
    np.testing.assert_allclose(variation_ratio(q), variation_ratio(copies), atol=1e-12)
    w = weights / 6
    votes = q.probs.argmax(-1)
    different = sum(w[i] * w[j] * (votes[i] != votes[j]) for i, j in permutations(range(3), 2))
    np.testing.assert_allclose(vote_disagreement(q), different / (1 - np.sum(w**2)), atol=1e-12)
    each = pool(m=3, weights=np.random.default_rng(1).random((3, 30)))
    np.testing.assert_allclose(
        variation_ratio(each)[4],
        variation_ratio(lw.Ensemble(each.probs[:, 4:5], weights=each.weights[:, 4]))[0],
    )


def test_margin_is_that_of_the_two_most_probable():
    q = pool(k=3)
    first, second = -np.sort(-q.mean(), axis=-1)[:, :2].T
    np.testing.assert_allclose(margin(q), 1 - (first - second))
    both = lw.MultiLabelEnsemble(np.array([[[0.9, 0.45], [0.1, 0.8]]]))
    np.testing.assert_allclose(margin(both), [0.9, 0.4])


def test_vacuity_of_evidence():
    evidence = np.random.default_rng(0).gamma(2, 3, (20, 4))
    np.testing.assert_allclose(vacuity(lw.Dirichlet(evidence + 1)), 4 / (evidence.sum(-1) + 4))
    assert vacuity(lw.Dirichlet(np.ones(5))) == 1


def test_shapes_and_libraries(lib):
    q = pool(shape=(2, 3))
    same = lw.Ensemble(lib.array(q.probs))
    for score in (margin, variation_ratio, vote_disagreement):
        assert score(q).shape == (2, 3)
        np.testing.assert_allclose(score(same), score(q), atol=1e-12)
        assert np.all((score(q) >= 0) & (score(q) <= 1))


def test_members_that_agree():
    q = lw.Ensemble(np.full((3, 4, 3), 1 / 3))
    assert np.all(variation_ratio(q) == 0)
    assert np.all(vote_disagreement(q) == 0)
    assert np.all(margin(q) == 1)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (
            lambda: variation_ratio(lw.Dirichlet(np.ones((2, 3)))),
            ValueError,
            "counts the votes of members .*got Dirichlet",
        ),
        (
            lambda: vote_disagreement(lw.MultiLabelEnsemble(np.full((2, 3, 2), 0.5))),
            ValueError,
            "got MultiLabelEnsemble",
        ),
        (lambda: vote_disagreement(lw.Ensemble(np.full((1, 3, 2), 0.5))), ValueError, "at least 2"),
        (
            lambda: vote_disagreement(lw.Ensemble(np.full((2, 3, 2), 0.5), weights=[1, 0])),
            ValueError,
            "positive weight",
        ),
        (
            lambda: vacuity(lw.Ensemble(np.full((2, 3, 2), 0.5))),
            TypeError,
            "must be an lw.Dirichlet",
        ),
        (lambda: margin(np.full((3, 2), 0.5)), TypeError, "`q` must be a distribution"),
    ],
)
def test_wrong_use_has_its_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()
