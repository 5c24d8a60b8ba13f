"""Distributions coded by positive numbers ("genes"): random ones, slightly changed ones, simple ones.

Multiplying genes by noise is a small change at every scale, and what is exactly 0 stays there. For M members, B candidates and K
classes they have the shape (M, B, 3K + 3): the member itself, where a move adds and takes (K each); its weight, the share of the
room that a move takes, the odds of the two halves of a split member.
"""

from __future__ import annotations

import numpy as np

from ..distributions import Ensemble
from .rules import Candidate

# Probabilities below are 0: at 1e-6 everything special about the edge shows, and rounding does not yet.
SMALLEST = 1e-6


def draw(rng: np.random.Generator, m: int, b: int, k: int) -> np.ndarray:
    """Random candidates of all kinds: spread out and concentrated, in agreement and not, inside and on the edges."""
    few, alike, holes, corners, equal = (rng.random((b, 1)) < share for share in (0.25, 0.3, 0.2, 0.05, 0.3))
    shape = np.exp(rng.uniform(np.log(0.2), np.log(8), (b, 1)))
    atoms = rng.standard_gamma(shape, (m, b, k)) + 1e-12
    atoms = np.where(alike, atoms[:1] * np.exp(0.4 * rng.standard_normal((m, b, k))), atoms)
    in_play = rng.random((b, k)).argsort(axis=-1) < rng.integers(2, 4, (b, 1))  # two or three of many classes
    atoms = np.where(few & ~in_play, 0.0, atoms)
    top = atoms == atoms.max(axis=-1, keepdims=True)
    atoms = np.where((holes & (rng.random((m, b, k)) < 0.4) | corners) & ~top, 0.0, atoms)
    weights = np.where(equal[:, 0], 1.0, rng.standard_gamma(1.0, (m, b)) + 0.05)
    moves = rng.standard_gamma(0.5, (m, b, 2 * k)) + 1e-12
    others = np.exp(rng.standard_normal((m, b, 2)))
    return np.concatenate([atoms, moves, weights[..., None], others], axis=-1)


def mutate(rng: np.random.Generator, genes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Children that differ from their parents in some of the genes, by a factor of about exp(±step); ``steps`` has shape (B,)."""
    changed = rng.random(genes.shape) < 0.5
    return np.asarray(genes * np.exp(steps[:, None] * changed * rng.standard_normal(genes.shape)))


def decode(genes: np.ndarray) -> Candidate:
    """The candidates that the genes stand for."""
    k = (genes.shape[-1] - 3) // 3
    atoms = simplex(genes[..., :k])
    atoms = simplex(np.where(atoms < SMALLEST, 0.0, atoms))
    weights, share, odds = genes[..., 3 * k], genes[..., 3 * k + 1], genes[..., 3 * k + 2]
    p = np.clip(odds / (1 + odds), 0.02, 0.98)
    q = Ensemble(atoms, weights=weights, member_axis=0)
    return Candidate(q, genes[..., k : 2 * k], genes[..., 2 * k : 3 * k], np.minimum(share, 1.0), p)


def tidy(genes: np.ndarray, digits: int) -> np.ndarray | None:
    """The genes of a similar candidate that can be written with so many decimals, or ``None`` where a member would be lost."""
    k = (genes.shape[-1] - 3) // 3
    blocks = [_rounded(simplex(genes[..., i * k : (i + 1) * k]), digits) for i in range(3)]
    weights = _rounded(simplex(genes[..., 3 * k].T), digits).T
    if np.any(weights <= 0):
        return None
    share = np.maximum(np.round(np.minimum(genes[..., 3 * k + 1], 1.0), digits), 0.1)
    odds = genes[..., 3 * k + 2]
    p = np.clip(np.round(odds / (1 + odds), 1), 0.1, 0.9)
    return np.concatenate([*blocks, weights[..., None], share[..., None], (p / (1 - p))[..., None]], axis=-1)


def simplex(x: np.ndarray) -> np.ndarray:
    """``x`` divided by its sum over the last axis; left as it is where that is 1 already."""
    total = x.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(np.abs(total - 1) < 1e-12, x, x / total))


def _rounded(x: np.ndarray, digits: int) -> np.ndarray:
    """``x`` rounded, the largest coordinate taking up what is missing from 1."""
    r = np.round(x, digits)
    largest = np.eye(x.shape[-1])[x.argmax(axis=-1)]
    return np.asarray(np.round(r + largest * (1 - r.sum(axis=-1, keepdims=True)), digits))
