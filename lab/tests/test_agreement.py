"""Uncertainty against people's votes and against error."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise_lab.agreement import agreement, vote_spread


@pytest.fixture
def crowd():
    """People vote by the true probabilities; members see these plus noise of their own that grows
    where there is little data.
    """
    rng = np.random.default_rng(5)
    truth = rng.dirichlet([0.4, 0.4, 0.4], size=1500)
    votes = rng.multinomial(50, truth)
    little = rng.random((1500, 1)) * 2
    probs = np.exp(np.log(truth + 1e-3) + little * rng.normal(size=(6, 1500, 3)))
    q = lw.Ensemble(probs / probs.sum(-1, keepdims=True), class_names=["a", "b", "c"])
    return q, votes, truth


def test_aleatoric_follows_votes_and_epistemic_what_is_not_known(crowd):
    q, votes, truth = crowd
    excess = np.abs(q.mean() - truth).sum(-1)  # error that more data would remove
    result = agreement(lw.decompose(q), votes=votes, error=excess)
    assert (
        float(result.pairs["aleatoric", "votes"].spearman)
        > float(result.pairs["epistemic", "votes"].spearman) + 0.1
    )
    assert (
        float(result.pairs["epistemic", "error"].spearman)
        > float(result.pairs["aleatoric", "error"].spearman) + 0.1
    )
    assert set(result.by_class) == {"a", "b", "c"}
    assert all(0.3 < float(r.kendall) < 1 for r in result.by_class.values())
    assert result.pairs["total", "votes"].n == 1500


def test_spread_of_votes_is_the_entropy_of_the_loss(crowd):
    q, votes, _ = crowd
    share = votes / 50
    np.testing.assert_allclose(
        vote_spread(votes, lw.decompose(q, "squared")), share * (1 - share), atol=1e-15
    )
    log = vote_spread(votes, lw.decompose(q))
    k = (votes[:, 0] > 0) & (votes[:, 0] < 50)
    np.testing.assert_allclose(
        log[k, 0],
        -(share * np.log2(share.clip(1e-300)) + (1 - share) * np.log2((1 - share).clip(1e-300)))[
            k, 0
        ],
    )
    assert np.all(log[votes[:, 0] == 0, 0] == 0)
