"""Temperature scaling: recalibrate probabilities with one number, or one for each label."""

from __future__ import annotations

from math import log

import numpy as np

from .._arrays import Array, namespace, smallest

BOUNDS = (1e-3, 1e3)


def logits_of_classes(probs: Array) -> Array:
    """log p; 0 is taken for the smallest normal number."""
    xp, floor = namespace(probs), smallest(probs)[0]
    return xp.log(xp.where(probs > floor, probs, floor + 0 * probs))


def logits_of_labels(p: np.ndarray) -> np.ndarray:
    """log p − log(1 − p); 0 and 1 are moved by the smallest number that makes both finite."""
    limits = np.finfo(float)
    return np.asarray(
        np.log(np.maximum(p, limits.tiny)) - np.log(np.maximum(1 - p, limits.eps / 2))
    )


def fit_temperature(
    z: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, prior_sd: float = 1.0
) -> float:
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
    prior_sd : float
        σ, the prior standard deviation of ln T.
    """
    from scipy.optimize import minimize_scalar

    away = z - z[:, np.arange(len(y)), y, None]  # from the true class
    w = np.full((len(z), 1), 1 / len(z)) if weights is None else weights
    log_weights = np.log(np.maximum(w, 1e-300))

    def objective(s: float) -> float:
        """Mean negative log-likelihood at T = exp(s), in nats, and the prior."""
        scaled = away / np.exp(s)
        top = scaled.max(axis=-1)
        log_p = -top - np.log(np.exp(scaled - top[..., None]).sum(axis=-1))
        nll = -np.mean(np.logaddexp.reduce(log_p + log_weights, axis=0))
        return float(nll + (s / prior_sd) ** 2 / 2 / len(y))

    # The mean over members need not be convex in s: first a grid.
    grid = np.linspace(log(BOUNDS[0]), log(BOUNDS[1]), 41)
    i = int(np.argmin([objective(s) for s in grid]))
    if i in (0, len(grid) - 1):
        where = "infinity. Are `y_true` and the classes in the same order?"
        if i == 0:
            where = "0, because every prediction is right. Use more instances"
        raise ValueError(
            f"no finite temperature fits best: the likelihood keeps growing as T goes to {where}"
        )
    around = (grid[i - 1], grid[i + 1])
    found = minimize_scalar(objective, bounds=around, method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x))
