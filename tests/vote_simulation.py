"""Cases with votes from a known truth."""

from __future__ import annotations

import numpy as np

import labelwise as lw


def simulated(rng, n=1500, n_votes=3, scale=1.0, k=3):
    """Predictions whose logits are ``scale`` times those the votes are drawn from, one member per
    case.
    """
    z = np.log(rng.dirichlet(np.ones(k), size=n)) + 0.6 * rng.normal(size=(4, n, k))
    truth = lw.Ensemble.from_logits(z)
    votes = rng.multinomial(n_votes, truth.probs[rng.integers(4, size=n), np.arange(n)])
    return lw.Ensemble.from_logits(scale * z), votes, truth
