"""Joint losses with their textbook entropies, and random ensembles."""

from __future__ import annotations

import numpy as np
from scipy.stats import entropy as scipy_entropy

import labelwise as lw

COSTS = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
WITH_ABSTAINING = np.column_stack([COSTS, np.full(3, 0.6)])
JOINT = [
    "log",
    "squared",
    "spherical",
    "zero_one",
    lw.joint.CostMatrix(COSTS),
    lw.joint.CostMatrix(WITH_ABSTAINING),
]


def entropy_of(loss: object, p: np.ndarray) -> np.ndarray:
    """The textbook formulas, of vectors on the last axis."""
    if loss == "log":
        return np.asarray(scipy_entropy(p, base=2, axis=-1))
    if loss == "squared":
        return 1 - (p**2).sum(-1)
    if loss == "spherical":
        return 1 - np.linalg.norm(p, axis=-1)
    if loss == "zero_one":
        return 1 - p.max(-1)
    assert isinstance(loss, lw.joint.CostMatrix)
    return np.min([p @ cost for cost in loss.table.T], axis=0)


def random_ensemble(
    seed: int, m: int = 4, n: int = 50, k: int = 3, alpha: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, alpha), (m, n)), rng.random(m)
