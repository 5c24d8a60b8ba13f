"""Do the error bounds of LogisticNormal hold? Coverage against a reference of 10⁷ points, K = 10 classes.

The reference is a scrambled Sobol' sequence of 10 · 2²⁰ points per instance, so that its own error is far below the bounds
(plain Monte Carlo with as many draws would be off by a good part of them). Run: python benchmarks/verify_logistic_normal.py
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

import labelwise as lw

K, SEQUENCES, POINTS, BLOCK = 10, 10, 2**20, 2**14
LOSSES = {"log": lw.LogLoss(), "squared": lw.SquaredLoss(), "spherical": lw.SphericalLoss(), "zero_one": lw.ZeroOneLoss()}


def random_instances(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances from nearly certain to wide open, every other one diagonal."""
    mean = rng.normal(size=(n, K)) * 10 ** rng.uniform(-0.5, 0.5, (n, 1))
    cov = np.zeros((n, K, K))
    for i in range(n):
        factor = rng.normal(size=(K, K)) / np.sqrt(K)
        cov[i] = np.diag(10 ** rng.uniform(-2, 1, K)) if i % 2 else factor @ factor.T * 10 ** rng.uniform(-1, 1)
    return mean, cov


def reference(mean: np.ndarray, cov: np.ndarray) -> dict[str, np.ndarray]:
    """TU, AU and EU of each loss, (3, n, K)."""
    n = len(mean)
    factor = np.linalg.cholesky(cov + 1e-12 * np.eye(K))
    t_sum, c_sum = np.zeros((n, K)), np.zeros((n, K))
    g_sum = {name: np.zeros((n, K)) for name in LOSSES}
    for seed in range(SEQUENCES):
        sobol = qmc.Sobol(K, rng=np.random.default_rng([seed, 12345]))
        for _ in range(POINTS // BLOCK):
            normals = ndtri(sobol.random(BLOCK))
            for i in range(n):
                z = mean[i] + normals @ factor[i].T
                t = np.exp(z - z.max(axis=1, keepdims=True))
                t /= t.sum(axis=1, keepdims=True)
                c = 1 - t
                t_sum[i] += t.sum(axis=0)
                c_sum[i] += c.sum(axis=0)
                for name, loss in LOSSES.items():
                    g_sum[name][i] += loss.entropy(t, c).sum(axis=0)
    count = SEQUENCES * POINTS
    result = {}
    for name, loss in LOSSES.items():
        total, aleatoric = loss.entropy(t_sum / count, c_sum / count), g_sum[name] / count
        result[name] = np.stack([total, aleatoric, total - aleatoric])
    return result


def main(n: int = 20) -> None:
    mean, cov = random_instances(n, np.random.default_rng(2024))
    start = time.time()
    truth = reference(mean, cov)
    print(f"reference: {n} instances x {K} labels x {SEQUENCES * POINTS:,} points in {time.time() - start:.0f} s")
    for seed in range(3):
        q = lw.LogisticNormal(mean, cov, rng=seed)
        for name, loss in LOSSES.items():
            u = lw.decompose(q, loss)
            assert u.error is not None
            found = np.stack([u.total, u.aleatoric, u.epistemic])
            bound = np.stack([u.error.total, u.error.aleatoric, u.error.epistemic])
            covered = np.mean(np.abs(found - truth[name]) <= bound, axis=(1, 2))
            typical = np.median(bound / truth[name][0], axis=(1, 2))
            print(
                f"seed {seed} {name:9s} covered TU {covered[0]:.3f} AU {covered[1]:.3f} EU {covered[2]:.3f}   "
                f"median bound / TU {typical[0]:.1e} {typical[1]:.1e} {typical[2]:.1e}"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
