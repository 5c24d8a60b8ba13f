"""Random candidates of the search for counterexamples, and candidates with short numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..distributions import Ensemble
from .rules import Candidate
from .shifts import atoms_and_weights

# Smaller probabilities are set to 0: large enough that rounding does not matter near the boundary.
SMALLEST_PROBABILITY = 1e-6


def draw_candidates(rng: np.random.Generator, m: int, b: int, k: int) -> Candidate:
    """``b`` random candidates of ``m`` members and ``k`` classes: dispersed and concentrated,
    agreeing and disagreeing, in the interior and on the boundary.
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
    atoms = scaled_to_simplex(atoms)
    atoms = scaled_to_simplex(np.where(atoms < SMALLEST_PROBABILITY, 0.0, atoms))
    weights = np.where(equal[:, 0], 1.0, rng.standard_gamma(1.0, (m, b)) + 0.05)
    up, down = np.split(rng.standard_gamma(0.5, (m, b, 2 * k)) + 1e-12, 2, axis=-1)
    share, odds = np.moveaxis(np.exp(rng.standard_normal((m, b, 2))), -1, 0)
    return Candidate(
        Ensemble(atoms, weights=weights, member_axis=0),
        up,
        down,
        np.minimum(share, 1.0),
        np.clip(odds / (1 + odds), 0.02, 0.98),
    )


def one_candidate(c: Candidate, i: int) -> Candidate:
    """Candidate ``i`` as a batch of one."""
    return Candidate(c.q[[i]], c.up[:, [i]], c.down[:, [i]], c.share[:, [i]], c.p[:, [i]])


def round_candidate(c: Candidate, digits: int) -> Candidate | None:
    """A similar candidate, rounded to ``digits`` decimals; ``None`` if a member would vanish."""
    atoms, weights = atoms_and_weights(c.q)
    weights = _round_on_simplex(weights.T, digits).T
    if np.any(weights <= 0):
        return None
    return replace(
        c,
        q=Ensemble(_round_on_simplex(atoms, digits), weights=weights, member_axis=0),
        up=_round_on_simplex(scaled_to_simplex(c.up), digits),
        down=_round_on_simplex(scaled_to_simplex(c.down), digits),
        share=np.maximum(np.round(c.share, digits), 0.1),
        p=np.clip(np.round(c.p, 1), 0.1, 0.9),
    )


def scaled_to_simplex(x: np.ndarray) -> np.ndarray:
    """``x`` divided by its sum over the last axis, unless that is already 1."""
    total = x.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(np.abs(total - 1) < 1e-12, x, x / total))


def _round_on_simplex(x: np.ndarray, digits: int) -> np.ndarray:
    """``x`` rounded; the largest coordinate is adjusted so that the sum stays 1."""
    r = np.round(x, digits)
    largest = np.eye(x.shape[-1])[x.argmax(axis=-1)]
    return np.asarray(np.round(r + largest * (1 - r.sum(axis=-1, keepdims=True)), digits))
