"""Ensembles of members that know something, and what a check found in them."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from labelwise.typing import EnsembleCheck


def members(
    m: int = 5, n: int = 300, k: int = 4, seed: int = 0, noise: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (m, n, k) of noisy members, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    z = 3 * np.eye(k)[y] + rng.normal(size=(n, k)) + noise * rng.normal(size=(m, n, k))
    return softmax(z, axis=-1), y


def votes(
    m: int, n: int, k: int = 3, right: float = 0.9, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The same of members that are right this often, with probabilities of 0 and 1, as those of
    full-grown trees.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    vote = np.where(rng.random((m, n)) < right, y, rng.integers(0, k, (m, n)))
    return np.eye(k)[vote], y


def found(check: EnsembleCheck) -> list[tuple[str, tuple[int, ...]]]:
    return [(x.fault, x.members) for x in check.findings]
