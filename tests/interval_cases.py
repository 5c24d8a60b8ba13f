"""Ensembles whose members are drawn alike."""

from __future__ import annotations

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def ensemble(rng, members, center, spread=0.7):
    """Members with noise of their own, some wilder than others."""
    wild = np.exp(rng.normal(0, 0.3, (members, 1, 1)))
    return softmax(center + wild * spread * rng.normal(size=(members, *center.shape)))
