"""The test of claims against votes: right claims pass, wrong ones do not."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import check_votes
from vote_simulation import simulated


def test_the_test_keeps_right_claims_and_rejects_wrong_ones():
    rng = np.random.default_rng(7)
    right = [
        check_votes(*simulated(rng, 200, 2)[:2], n_bootstrap=60, rng=rng).p_value for _ in range(60)
    ]
    assert np.mean(np.array(right) < 0.05) < 0.15
    assert 0.3 < np.mean(right) < 0.7
    rng = np.random.default_rng(0)
    q, votes, _ = simulated(rng, 1500, 5, scale=2.0)
    wrong = check_votes(q, votes, n_bootstrap=100, rng=0)
    assert not wrong.ok
    assert wrong.within > 0.2
    assert wrong.p_value == pytest.approx(1 / 101)
    assert "contradict" in str(wrong)
    replicated = check_votes(
        q,
        votes,
        fitted_on=simulated(rng, 1500, 5, scale=2.0)[:2],
        confidence=0.99,
        n_bootstrap=100,
        rng=0,
    )
    assert replicated.ok
    assert replicated.within < 0.2
    assert "do not contradict" in str(replicated)


def test_the_null_includes_the_error_of_the_fit():
    """A repair fitted to few cases misses the votes of many others; that is no evidence against
    it.
    """
    rng = np.random.default_rng(8)
    rejected = []
    for _ in range(10):
        fit, test = simulated(rng, 60, 3)[:2], simulated(rng, 1000, 20)[:2]
        rejected.append(not check_votes(*test, fitted_on=fit, n_bootstrap=40, rng=rng).ok)
    assert np.mean(rejected) < 0.5


def test_few_disagreements_are_pooled_or_refused():
    rng = np.random.default_rng(9)
    probs = np.tile(np.array([0.5, 0.497, 0.001, 0.002]), (2, 200, 1))
    check = check_votes(
        lw.Ensemble(probs, class_names=list("abcd")),
        rng.multinomial(2, probs[0]),
        n_bootstrap=50,
        rng=0,
    )
    assert check.pooled == ("c", "d")
    assert list(check.claimed) == ["a", "b"]
    with pytest.raises(ValueError, match="at least 20 disagreements"):
        check_votes(lw.Ensemble(probs[:, :4]), np.tile([2, 0, 0, 0], (4, 1)), rng=0)
    with pytest.raises(ValueError, match="`fitted_on` must be"):
        check_votes(lw.Ensemble(probs), np.full((200, 4), 2), fitted_on=(1,))
