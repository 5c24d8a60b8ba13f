"""Scores of claims prefer the truth."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import score_votes
from vote_simulation import simulated


def test_the_score_decomposes_and_prefers_the_truth():
    rng = np.random.default_rng(6)
    q, votes, truth = simulated(rng, 3000, scale=2.0)
    right, wrong = (score_votes(lw.decompose(x, "squared").aleatoric, q, votes) for x in (truth, q))
    for x in (right, wrong):
        np.testing.assert_allclose(
            x.score.value, x.calibration - x.resolution + x.uncertainty, atol=1e-15
        )
        assert np.all(x.calibration >= 0)
        assert np.all(x.resolution >= 0)
    assert np.all(right.score.value < wrong.score.value)
    assert np.all(right.calibration < 0.3 * wrong.calibration)
    constant = score_votes(np.tile(right.uncertainty, (3000, 1)), q, votes)
    np.testing.assert_allclose(constant.resolution, 0, atol=1e-15)
    with pytest.raises(ValueError, match="`claims` must have one value per case and label"):
        score_votes(np.zeros((5, 3)), q, votes)
