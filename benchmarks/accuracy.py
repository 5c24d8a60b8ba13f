"""How exact the epistemic uncertainty of LogisticNormal is beside plain Monte Carlo, and whether
its error bounds hold.
"""

from __future__ import annotations

import numpy as np
import plain
import values
from scipy.special import entr, ndtri
from scipy.stats import qmc

import labelwise as lw


def reference(mean: np.ndarray, cov: np.ndarray, points: int) -> np.ndarray:
    """EU under log loss (n, K), by a scrambled Sobol' sequence that labelwise does not use."""
    normals = ndtri(qmc.Sobol(mean.shape[1], rng=np.random.default_rng(987654321)).random(points))
    found = []
    for m, factor in zip(mean, np.linalg.cholesky(cov), strict=True):
        z = m + normals @ factor.T
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        t = p.mean(0)
        found.append(entr(t) + entr(1 - t) - (entr(p) + entr(1 - p)).mean(0))
    return np.asarray(found) / plain.BIT


def logistic_normal(spread: float, n: int, points: int) -> dict[str, float]:
    """Root mean squared error of EU of labelwise and of 1,000 draws, and how often the stated 95 %
    bound holds; K = 10.
    """
    mean, cov = values.gaussian(n, 10, spread)
    truth = reference(mean, cov, points)
    u = lw.decompose(lw.LogisticNormal(mean, cov), "log")
    draws = plain.logistic_normal(mean, cov)[2]
    ours, theirs = (float(np.sqrt(np.mean((x - truth) ** 2))) for x in (u.epistemic, draws))
    bound = np.inf if u.error is None else u.error.epistemic
    return {
        "spread": spread,
        "ours": ours,
        "draws": theirs,
        "covered": float(np.mean(np.abs(u.epistemic - truth) <= bound)),
    }
