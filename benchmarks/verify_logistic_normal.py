"""LogisticNormal against 1,000 plain Monte Carlo draws, K = 10 classes: time, error, and whether
the stated error bounds hold.

Three numbers for each kind of covariance: the time of plain Monte Carlo divided by ours (2,000
instances), the RMSE of its epistemic uncertainty divided by ours, and the share of errors within
the stated 95 % bounds. The reference is a scrambled Sobol' sequence of 2¹⁸ points, whose own error
is far below all of these. Run: python benchmarks/verify_logistic_normal.py
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

import labelwise as lw

K, DRAWS, POINTS, BLOCK = 10, 1000, 2**18, 2**14
LOSSES = {"log": lw.LogLoss(), "squared": lw.SquaredLoss(), "zero_one": lw.ZeroOneLoss()}


def random_instances(
    n: int, sd: float, diagonal: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Means, and covariances whose logits have standard deviations up to ``sd``."""
    mean = rng.normal(size=(n, K)) * 10 ** rng.uniform(-0.5, 0.5, (n, 1))
    scale = sd * rng.uniform(0.3, 1, (n, K))
    if diagonal:
        return mean, scale**2
    root = rng.normal(size=(n, K, K))
    root *= (scale / np.sqrt((root**2).sum(axis=2)))[:, :, None]
    return mean, root @ np.swapaxes(root, 1, 2)


def softmax(z: np.ndarray) -> np.ndarray:
    odds = np.exp(z - z.max(axis=-1, keepdims=True))
    odds /= odds.sum(axis=-1, keepdims=True)
    return np.asarray(odds)


def factor(cov: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return (
        np.sqrt(cov)[..., None] * np.eye(K)
        if cov.ndim == mean.ndim
        else np.linalg.cholesky(cov + 1e-12 * np.eye(K))
    )


def plain(mean: np.ndarray, cov: np.ndarray, loss: lw.Loss, rng: np.random.Generator) -> np.ndarray:
    """Epistemic uncertainty from draws, as anyone writes it."""
    normals = rng.standard_normal((DRAWS, *mean.shape))
    noise = (
        np.sqrt(cov) * normals
        if cov.ndim == mean.ndim
        else np.einsum("nij,snj->sni", factor(cov, mean), normals)
    )
    p = softmax(mean + noise)
    return np.asarray(loss.entropy(p.mean(axis=0)) - loss.entropy(p).mean(axis=0))


def reference(mean: np.ndarray, cov: np.ndarray) -> dict[str, np.ndarray]:
    """TU, AU and EU of each loss, (3, n, K)."""
    n = len(mean)
    root = factor(cov, mean)
    t_sum = np.zeros((n, K))
    g_sum = {name: np.zeros((n, K)) for name in LOSSES}
    sobol = qmc.Sobol(K, rng=np.random.default_rng(12345))
    for _ in range(POINTS // BLOCK):
        normals = ndtri(sobol.random(BLOCK))
        for i in range(n):
            t = softmax(mean[i] + normals @ root[i].T)
            t_sum[i] += t.sum(axis=0)
            for name, loss in LOSSES.items():
                g_sum[name][i] += loss.entropy(t).sum(axis=0)
    result = {}
    for name, loss in LOSSES.items():
        total, aleatoric = loss.entropy(t_sum / POINTS), g_sum[name] / POINTS
        result[name] = np.stack([total, aleatoric, total - aleatoric])
    return result


def speed(diagonal: bool, n: int = 2000) -> float:
    """Time of plain Monte Carlo divided by ours."""
    mean, cov = random_instances(n, 1.0, diagonal, np.random.default_rng(1))
    times = []
    for compute in (
        lambda: plain(mean, cov, LOSSES["log"], np.random.default_rng(0)),
        lambda: lw.decompose(lw.LogisticNormal(mean, cov)),
    ):
        begin = time.perf_counter()
        compute()
        times.append(time.perf_counter() - begin)
    return times[0] / times[1]


def main(n: int = 20, seeds: int = 20) -> None:
    print(
        "covariance logit sd  loss      plain time / ours  plain RMSE / ours  covered TU   AU    "
        "EU   (of 95 % bounds)"
    )
    for diagonal in (True, False):
        ratio = speed(diagonal)
        for sd in (0.1, 0.5, 1.0, 3.0, 8.0):
            mean, cov = random_instances(n, sd, diagonal, np.random.default_rng(2024))
            truth = reference(mean, cov)
            for name, loss in LOSSES.items():
                ours, theirs, covered = [], [], []
                for seed in range(seeds):
                    u = lw.decompose(lw.LogisticNormal(mean, cov, rng=seed), loss)
                    assert u.error is not None
                    errors = np.abs(np.stack([u.total, u.aleatoric, u.epistemic]) - truth[name])
                    covered.append(
                        np.mean(
                            errors
                            <= np.stack([u.error.total, u.error.aleatoric, u.error.epistemic]),
                            axis=(1, 2),
                        )
                    )
                    ours.append(errors[2])
                    theirs.append(
                        plain(mean, cov, loss, np.random.default_rng(seed)) - truth[name][2]
                    )
                squares = np.mean(np.square(theirs)), np.mean(np.square(ours))
                rmse = (
                    np.sqrt(squares[0] / squares[1]) if squares[1] else np.inf
                )  # no draw of either crosses the corner
                shares = " ".join(f"{x:.3f}" for x in np.mean(covered, axis=0))
                print(
                    (
                        f"{'diagonal' if diagonal else 'full':10s} {sd:8g}  {name:9s} "
                        f"{ratio:17.2f} {rmse:18.2f}  {shares}"
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
