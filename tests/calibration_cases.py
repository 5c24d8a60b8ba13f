"""Outcomes drawn from probabilities, probabilities that are too sharp, and their expected
calibration error.
"""

from __future__ import annotations

import itertools


def draw(p, rng):
    return (rng.random((len(p), 1)) * p.sum(1, keepdims=True) >= p.cumsum(1)[:, :-1]).sum(1)


def sharpen(p, power):
    p = p**power
    return p / p.sum(1, keepdims=True)


def ece(p, happened, edges):
    """Guo et al. 2017: bins (a, b], the first with its lower edge."""
    total = 0.0
    for i, (a, b) in enumerate(itertools.pairwise(edges)):
        inside = (p > a) & (p <= b) if i else (p >= a) & (p <= b)
        if inside.any():
            total += inside.mean() * abs(happened[inside].mean() - p[inside].mean())
    return total
