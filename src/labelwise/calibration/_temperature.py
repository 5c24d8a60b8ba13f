"""Temperature scaling: recalibrate probabilities with one number, or one for each label."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import log

import numpy as np

from .._arrays import Array, namespace, smallest
from .._engine.blocks import row_blocks
from .._engine.kernel import thread_count

BOUNDS = (1e-3, 1e3)
PRIOR_SD = 1.0
"""Prior standard deviation of ln T."""


def logits_of_classes(probs: Array) -> Array:
    """log p; 0 is taken for the smallest normal number."""
    xp, floor = namespace(probs), smallest(probs)[0]
    return xp.log(xp.where(probs > floor, probs, floor + 0 * probs))


def logits_of_labels(p: np.ndarray) -> np.ndarray:
    """log p − log(1 − p); 0 and 1 are moved by the smallest number that makes both finite."""
    limits = np.finfo(float)
    return np.log(np.maximum(p, limits.tiny)) - np.log(np.maximum(1 - p, limits.eps / 2))


def fit_temperature(z: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    r"""The temperature under which the (weighted) mean over the members has the highest likelihood.

    .. math:: T = \arg\min_T\ -\sum_i \log \sum_m w_m\, \mathrm{softmax}(z_{mi} / T)_{y_i}
              + \frac{(\ln T)^2}{2 \sigma^2}

    The second term is a weak prior (at T = 4 it costs 1 nat in total) that keeps T from going to 0
    on a small data set without errors.

    Parameters
    ----------
    z : array (M, N, K)
        Logits of the members.
    y : array (N,)
        Positions of the true classes.
    weights : array (M, 1) or (M, N), optional
        Of the members, summing to 1.
    """
    from scipy.optimize import minimize_scalar

    m, n, k = z.shape
    w = np.full((m, 1), 1 / m) if weights is None else weights
    log_weights = np.broadcast_to(np.log(np.maximum(w, 1e-300)), (m, n))
    highest = z.max(axis=-1).astype(float)
    truth = z[:, np.arange(n), y] - highest
    blocks = list(row_blocks(n, m * k))

    def objective(s: float) -> float:
        """Mean negative log-likelihood at T = exp(s), in nats, and the prior."""
        temperature = np.exp(s)

        def log_likelihood(rows: slice) -> np.ndarray:
            odds = z[:, rows] - highest[:, rows, None]
            odds /= temperature
            np.exp(odds, out=odds)
            of_members = truth[:, rows] / temperature - np.log(odds.sum(axis=-1))
            of_members += log_weights[:, rows]
            top = of_members.max(axis=0)
            return top + np.log(np.exp(of_members - top).sum(axis=0))

        log_p = np.concatenate([*pool.map(log_likelihood, blocks)])
        return float((s / PRIOR_SD) ** 2 / 2 / n - log_p.mean())

    # The mean over members need not be convex in s: first a grid.
    grid = np.linspace(log(BOUNDS[0]), log(BOUNDS[1]), 41)
    with ThreadPoolExecutor(thread_count()) as pool:
        i = np.argmin([objective(s) for s in grid])
        if i in (0, len(grid) - 1):
            where = "infinity. Are `y_true` and the classes in the same order?"
            if i == 0:
                where = "0, because every prediction is right. Use more instances"
            raise ValueError(
                "no finite temperature fits best: the likelihood keeps growing as T goes to "
                f"{where}"
            )
        around = (grid[i - 1], grid[i + 1])
        found = minimize_scalar(objective, bounds=around, method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x))
