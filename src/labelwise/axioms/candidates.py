"""Candidate distributions of the search, encoded by positive parameters.

Multiplicative noise is a small change at every scale and keeps exact zeros. For M members, B
candidates and K classes the parameters have shape (M, B, 3K + 3): the member, where a move adds and
where it removes probability (K each); its weight, the length of a move as a share of the largest
possible one, and the odds of the two halves of a split member.
"""

from __future__ import annotations

import numpy as np

from ..distributions import Ensemble
from .rules import Candidate

# Smaller probabilities are set to 0: large enough that rounding does not matter near the boundary.
SMALLEST_PROBABILITY = 1e-6


def draw_parameters(rng: np.random.Generator, m: int, b: int, k: int) -> np.ndarray:
    """Random candidates: dispersed and concentrated, agreeing and disagreeing, in the interior and
    on the boundary.
    """
    few, alike, holes, corners, equal = (
        rng.random((b, 1)) < share for share in (0.25, 0.3, 0.2, 0.05, 0.3)
    )
    shape = np.exp(rng.uniform(np.log(0.2), np.log(8), (b, 1)))
    atoms = rng.standard_gamma(shape, (m, b, k)) + 1e-12
    atoms = np.where(alike, atoms[:1] * np.exp(0.4 * rng.standard_normal((m, b, k))), atoms)
    # two or three of many classes
    in_play = rng.random((b, k)).argsort(axis=-1) < rng.integers(2, 4, (b, 1))
    atoms = np.where(few & ~in_play, 0.0, atoms)
    top = atoms == atoms.max(axis=-1, keepdims=True)
    atoms = np.where((holes & (rng.random((m, b, k)) < 0.4) | corners) & ~top, 0.0, atoms)
    weights = np.where(equal[:, 0], 1.0, rng.standard_gamma(1.0, (m, b)) + 0.05)
    moves = rng.standard_gamma(0.5, (m, b, 2 * k)) + 1e-12
    others = np.exp(rng.standard_normal((m, b, 2)))
    return np.concatenate([atoms, moves, weights[..., None], others], axis=-1)


def mutate_parameters(
    rng: np.random.Generator, params: np.ndarray, steps: np.ndarray
) -> np.ndarray:
    """Children that differ from their parents in some parameters, by a factor of about exp(±step);
    ``steps`` has shape (B,).
    """
    changed = rng.random(params.shape) < 0.5
    return np.asarray(params * np.exp(steps[:, None] * changed * rng.standard_normal(params.shape)))


def _split_parameters(params: np.ndarray) -> list[np.ndarray]:
    """The member, where a move adds and removes, (..., K) each; weight, length and odds, (...)."""
    k = (params.shape[-1] - 3) // 3
    numbers = np.moveaxis(params[..., 3 * k :], -1, 0)
    return [*np.split(params[..., : 3 * k], 3, axis=-1), *numbers]


def decode(params: np.ndarray) -> Candidate:
    """The candidates encoded by the parameters."""
    member, adds, removes, weights, share, odds = _split_parameters(params)
    atoms = simplex(member)
    atoms = simplex(np.where(atoms < SMALLEST_PROBABILITY, 0.0, atoms))
    q = Ensemble(atoms, weights=weights, member_axis=0)
    p = np.clip(odds / (1 + odds), 0.02, 0.98)
    return Candidate(q, adds, removes, np.minimum(share, 1.0), p)


def round_parameters(params: np.ndarray, digits: int) -> np.ndarray | None:
    """Parameters of a similar candidate, rounded to ``digits`` decimals; ``None`` if a member would
    vanish.
    """
    *blocks, weights, share, odds = _split_parameters(params)
    weights = _round_on_simplex(simplex(weights.T), digits).T
    if np.any(weights <= 0):
        return None
    blocks = [_round_on_simplex(simplex(block), digits) for block in blocks]
    share = np.maximum(np.round(np.minimum(share, 1.0), digits), 0.1)
    p = np.clip(np.round(odds / (1 + odds), 1), 0.1, 0.9)
    return np.concatenate([*blocks, np.stack([weights, share, p / (1 - p)], axis=-1)], axis=-1)


def simplex(x: np.ndarray) -> np.ndarray:
    """``x`` divided by its sum over the last axis, unless that is already 1."""
    total = x.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(np.abs(total - 1) < 1e-12, x, x / total))


def _round_on_simplex(x: np.ndarray, digits: int) -> np.ndarray:
    """``x`` rounded; the largest coordinate is adjusted so that the sum stays 1."""
    r = np.round(x, digits)
    largest = np.eye(x.shape[-1])[x.argmax(axis=-1)]
    return np.asarray(np.round(r + largest * (1 - r.sum(axis=-1, keepdims=True)), digits))
