"""Claims of uncertainty against people's votes: confirmed where true."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import vote_reliability
from vote_cases import predictions, voted


def test_claims_of_the_truth_are_confirmed_and_others_are_not():
    rng = np.random.default_rng(0)
    q = predictions(rng, 4000)
    votes = voted(rng, q, 3)
    found = vote_reliability(q, votes, confidence=0.999)  # nine labels and parts at once
    for part in ("total", "aleatoric", "epistemic"):
        x = getattr(found, part)
        assert np.all((x.labels.ratio.low < 1) & (x.labels.ratio.high > 1)), part
        assert x.summed.gap.low < 0 < x.summed.gap.high
    np.testing.assert_allclose(
        found.total.labels.observed.value,
        found.aleatoric.labels.observed.value + found.epistemic.labels.observed.value,
        atol=1e-14,
    )
    sharper = lw.Ensemble.from_logits(2 * np.log(q.probs), class_names=q.class_names)
    overconfident = vote_reliability(sharper, votes).aleatoric
    assert np.all(overconfident.labels.ratio.high < 0.9)
    assert "sum of all" in str(found)


def test_cases_weigh_equally_and_cases_with_one_vote_are_left_out():
    q = lw.Ensemble(np.full((2, 4, 2), 0.5))
    found = vote_reliability(q, [[1, 1], [40, 0], [1, 0], [0, 0]])
    assert (found.n_cases, found.left_out) == (2, 2)
    np.testing.assert_allclose(found.aleatoric.labels.observed.value, [0.25, 0.25])


def test_events_add_their_votes():
    rng = np.random.default_rng(1)
    q = predictions(rng, 50)
    votes = voted(rng, q, 4)
    found = vote_reliability(q, votes, events={"a or b": ["a", "b"]})
    merged = lw.Ensemble(np.stack([q.probs[..., :2].sum(-1), q.probs[..., 2]], axis=-1))
    plain = vote_reliability(merged, np.stack([votes[:, 0] + votes[:, 1], votes[:, 2]], axis=1))
    for part in ("total", "aleatoric", "epistemic"):
        a, b = (getattr(x, part).labels for x in (found, plain))
        np.testing.assert_allclose(
            [a.claimed[0], a.gap.low[0]], [b.claimed[0], b.gap.low[0]], rtol=1e-9
        )
    with pytest.raises(ValueError, match="must not be conditional"):
        vote_reliability(q, votes, events=lw.events.one_vs_one(3))


def test_nothing_claimed_and_nothing_observed():
    q = lw.Ensemble(np.tile(np.array([1.0, 0.0]), (2, 5, 1)))
    found = vote_reliability(q, np.tile([3, 0], (5, 1)))
    for part in ("total", "aleatoric", "epistemic"):
        labels = getattr(found, part).labels
        np.testing.assert_array_equal(labels.gap.value, 0)
        np.testing.assert_array_equal(labels.ratio.value, 1)
    half = lw.Ensemble(np.full((2, 5, 2), 0.5))
    assert np.all(
        np.isinf(vote_reliability(half, np.tile([3, 0], (5, 1))).aleatoric.labels.ratio.value)
    )


def test_any_distribution_can_be_checked():
    rng = np.random.default_rng(7)
    alpha = rng.uniform(0.5, 5, size=(3000, 3))
    p = rng.gamma(alpha)
    votes = rng.multinomial(4, p / p.sum(axis=1, keepdims=True))
    found = vote_reliability(lw.Dirichlet(alpha), votes)
    for part in ("total", "aleatoric", "epistemic"):
        ratio = getattr(found, part).summed.ratio
        assert ratio.low < 1 < ratio.high
