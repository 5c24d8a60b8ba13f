"""Votes: pair statistics, exactly unbiased, and a sentence for each mistake."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import vote_reliability
from labelwise.calibration.votes import pair_statistics
from vote_cases import predictions


@pytest.mark.parametrize("n_votes", [2, 3, 5])
def test_pair_statistics_are_means_over_pairs(n_votes):
    for votes in itertools.product([0, 1], repeat=n_votes):
        mean = 0.3
        pairs = list(itertools.permutations(votes, 2))
        expected = [
            np.mean([(v - mean) ** 2 for v in votes]),
            np.mean([(v - w) ** 2 / 2 for v, w in pairs]),
            np.mean([(v - mean) * (w - mean) for v, w in pairs]),
        ]
        found = pair_statistics(
            np.array([float(sum(votes))]), np.array([float(n_votes)]), np.array([mean])
        ).ravel()
        np.testing.assert_allclose(found, expected, atol=1e-15)
        assert found[0] == pytest.approx(found[1] + found[2], abs=1e-15)


@pytest.mark.parametrize("n_votes", [2, 3, 5, 50])
@pytest.mark.parametrize(("p", "mean"), [(0.5, 0.4), (0.02, 0.3), (0.9, 0.9)])
def test_pair_statistics_are_unbiased_exactly(n_votes, p, mean):
    """The expectation over all outcomes of the binomial, without simulation."""
    yes = np.arange(n_votes + 1.0)
    chance = np.array([math.comb(n_votes, int(y)) * p**y * (1 - p) ** (n_votes - y) for y in yes])
    found = (
        pair_statistics(yes, np.full(n_votes + 1, float(n_votes)), np.full(n_votes + 1, mean))
        @ chance
    )
    np.testing.assert_allclose(
        found, [p * (1 - p) + (p - mean) ** 2, p * (1 - p), (p - mean) ** 2], atol=1e-14
    )


@pytest.mark.parametrize(
    ("votes", "options", "words"),
    [
        (np.zeros((4, 2)), {}, r"shape \(5, 3\); got shape \(4, 2\)"),
        (np.full((5, 3), 0.3), {}, "Shares do not tell how many people voted"),
        (np.full((5, 3), -1), {}, "need `annotators`"),
        (np.eye(3)[[0, 1, 2, 0, 1]], {}, "at least 2 cases with 2 votes"),
        (np.full((5, 2), 3), {"annotators": ["x", "y"]}, "must lie between 0 and 2"),
        (np.zeros((5, 2), int), {"annotators": ["x"]}, "at least 2 different names"),
        (np.array([["a", "d"]] * 5), {"annotators": ["x", "y"]}, "unknown class 'd'"),
        (np.full((5, 3), 2), {"groups": [1] * 5}, "at least 2 groups"),
        (np.full((5, 3), 2), {"loss": "zero_one"}, "`loss` must be"),
    ],
)
def test_friendly_errors(votes, options, words):
    q = predictions(np.random.default_rng(0), 5)
    with pytest.raises((ValueError, TypeError), match=words):
        vote_reliability(q, votes, **options)


def test_labels_that_may_occur_together_are_refused():
    with pytest.raises(TypeError, match="one is chosen in each vote"):
        vote_reliability(lw.MultiLabelEnsemble(np.full((2, 5, 3), 0.5)), np.full((5, 3), 2))
