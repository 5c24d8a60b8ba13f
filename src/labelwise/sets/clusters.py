"""Clusters of classes whose scores are alike (clustered conformal prediction, Ding et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._suggestions import check_choice
from .._validation import as_rng, check_positive
from ._input import calibration_cases
from ._quantiles import as_level, fewest_cases
from ._scores import SCORES, class_scores

QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9)
"""A class is described by these quantiles of its scores, and by that of the level."""
ROUNDS, STARTS = 100, 10


@dataclass(frozen=True)
class Clusters:
    """Classes by cluster; `fit_sets` takes it as ``per``."""

    class_names: tuple[str, ...]
    clusters: tuple[tuple[str, ...], ...]
    rare: tuple[str, ...]
    """Classes with too few cases to be clustered: they get the threshold of all cases, without a
    guarantee of their own.
    """

    def pools(self, names: Sequence[str]) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Name, classes inside and classes that use the threshold of each cluster."""
        if tuple(names) != self.class_names:
            raise ValueError(
                "`per`: the clusters were made for other classes than those of the calibration "
                "cases"
            )
        masks = [np.isin(self.class_names, cluster) for cluster in self.clusters]
        found = [(f"cluster {i + 1}", mask, mask) for i, mask in enumerate(masks)]
        if self.rare:
            everything = np.ones(len(names), bool)
            found.append(("all classes", everything, np.isin(self.class_names, self.rare)))
        return found


def cluster_classes(
    q: Any, y_true: Any, *, n_clusters: int, coverage: float = 0.9, score: str = "lac", rng: Any = 0
) -> Clusters:
    """Cluster the classes by the quantiles of their scores, with cases other than the calibration
    cases.

    Classes whose true-class scores have alike distributions share a threshold, which then has more
    cases to stand on. The guarantee holds for each cluster, and nearly for each class in it as far
    as they are alike (k-means, weighted by the square root of the number of cases).

    Parameters
    ----------
    q : distribution, Predictions or mean probabilities (N, K)
        Cases used for this only: split them off the calibration cases at random first.
    y_true : array (N,)
    n_clusters : int
    coverage : float
        The level at which the sets will be fitted.
    score : {"lac", "aps"}
    rng : int or Generator
        Random seed for the starting points of k-means.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(4, size=400)
    >>> right = np.where(y < 2, 0.9, 0.4) + 0.05 * rng.random(400)   # classes 0 and 1 are easy
    >>> p = np.repeat((1 - right)[:, None] / 3, 4, axis=1)
    >>> p[np.arange(400), y] = right
    >>> cluster_classes(p, y, n_clusters=2).clusters
    (('0', '1'), ('2', '3'))
    """
    level = as_level(coverage)
    check_choice(score, "score", SCORES)
    check_positive(n_clusters, "n_clusters")
    p, y, names = calibration_cases(q, y_true, "q", "y_true")
    scores = class_scores(score, p)[np.arange(len(y)), y]
    counts = np.bincount(y, minlength=len(names))
    enough = np.flatnonzero(counts >= fewest_cases(level))
    if len(enough) < n_clusters:
        raise ValueError(
            f"`n_clusters` must be at most the number of classes with {fewest_cases(level)} or "
            f"more cases, {len(enough)}; got {n_clusters}"
        )
    at = sorted({*QUANTILES, float(level)})
    described = np.stack([np.quantile(scores[y == k], at) for k in enough])
    member = _k_means(described, np.sqrt(counts[enough]), n_clusters, as_rng(rng))
    groups = [tuple(names[k] for k in enough[member == c]) for c in dict.fromkeys(member.tolist())]
    rare = [name for k, name in enumerate(names) if k not in enough]
    return Clusters(names, tuple(groups), tuple(rare))


def _k_means(x: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """The cluster of each row, from the best of several starts (k-means++)."""
    best, lowest = np.zeros(len(x), int), np.inf
    for _ in range(STARTS):
        centers = x[rng.choice(len(x), 1, p=weights / weights.sum())]
        while len(centers) < k:
            away = weights * ((x[:, None] - centers) ** 2).sum(axis=-1).min(axis=1)
            chance = away / away.sum() if away.sum() > 0 else weights / weights.sum()
            centers = np.concatenate([centers, x[rng.choice(len(x), 1, p=chance)]])
        for _ in range(ROUNDS):
            distance = ((x[:, None] - centers) ** 2).sum(axis=-1)
            member = distance.argmin(axis=1)
            moved = centers.copy()
            for c in np.unique(member):
                here = member == c
                moved[c] = np.average(x[here], axis=0, weights=weights[here])
            if np.array_equal(moved, centers):
                break
            centers = moved
        cost = float((weights * distance.min(axis=1)).sum())
        if cost < lowest:
            best, lowest = member, cost
    return best
