"""Predictions, and votes drawn from them."""

from __future__ import annotations

import numpy as np

import labelwise as lw


def predictions(rng, n=300, members=4, k=3):
    return lw.Ensemble(
        rng.dirichlet(np.ones(k), size=(members, n)), class_names=["a", "b", "c", "d"][:k]
    )


def voted(rng, q, n_votes):
    """One member drawn per case, all its votes from that member."""
    n = q.batch_shape[0]
    return rng.multinomial(n_votes, q.probs[rng.integers(q.n_members, size=n), np.arange(n)])
