"""Random candidates of the search for counterexamples."""

from __future__ import annotations

import numpy as np

from ..distributions import Ensemble
from .rules import Candidate

# Of probabilities and weights: short enough to be read, and large enough that rounding does not
# matter near the boundary.
DECIMALS = 3


def draw_candidates(rng: np.random.Generator, m: int, b: int, k: int) -> Candidate:
    """``b`` random candidates of ``m`` members and ``k`` classes: dispersed and concentrated,
    agreeing and disagreeing, in the interior and on the boundary.
    """
    shares = np.reshape((0.3, 0.3, 0.05, 0.3), (4, 1, 1))
    alike, holes, corners, equal = rng.random((4, b, 1)) < shares
    shape = np.exp(rng.uniform(np.log(0.2), np.log(8), (b, 1)))
    atoms = rng.standard_gamma(shape, (m, b, k)) + 1e-12
    atoms = np.where(alike, atoms[:1] * np.exp(0.4 * rng.standard_normal((m, b, k))), atoms)
    top = atoms == atoms.max(axis=-1, keepdims=True)
    atoms = np.where((holes & (rng.random((m, b, k)) < 0.4) | corners) & ~top, 0.0, atoms)
    weights = np.where(equal, 1.0, rng.standard_gamma(1.0, (b, m)) + 0.05)
    up, down = rng.standard_gamma(0.5, (2, m, b, k)) + 1e-12
    share, odds = np.exp(rng.standard_normal((2, m, b)))
    return Candidate(
        Ensemble(
            _round_candidate_shares(atoms),
            weights=_round_candidate_shares(weights).T,
            member_axis=0,
        ),
        up,
        down,
        np.minimum(share, 1.0),
        np.clip(odds / (1 + odds), 0.02, 0.98),
    )


def one_candidate(c: Candidate, i: int) -> Candidate:
    """Candidate ``i`` as a batch of one."""
    return Candidate(c.q[[i]], *(x[:, [i]] for x in (c.up, c.down, c.share, c.p)))


def _round_candidate_shares(x: np.ndarray) -> np.ndarray:
    """``x`` divided by its sum over the last axis, rounded; the largest coordinate is adjusted so
    that the sum stays 1.
    """
    rounded = np.round(x / x.sum(axis=-1, keepdims=True), DECIMALS)
    largest = np.eye(x.shape[-1])[x.argmax(axis=-1)]
    missing = 1 - rounded.sum(axis=-1, keepdims=True)
    return np.round(rounded + largest * missing, DECIMALS)
