"""Rank agreement of uncertainty with anything else: prediction error, the spread of votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._frames import same_rows
from .._resampling import Estimate, Resampling
from .._validation.labels import as_scores, same_length


def rank_agreement(
    a: Any,
    b: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> Estimate:
    """Spearman's rank correlation of two quantities (ties share their mean rank), with a (cluster)
    bootstrap interval; NaN if one of them is constant.

    Parameters
    ----------
    a, b : array (N,)
    groups : array (N,), optional
        Group of each instance (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 replicates (1000 is usual) there is a bootstrap interval; ``rng``
        is their random seed or generator.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> round(float(rank_agreement([1, 2, 3, 4], [1, 3, 2, 4])), 3)
    0.8
    """
    a, b, groups = same_rows(a=a, b=b, groups=groups)
    x = as_scores(a, "a")
    y = same_length(as_scores(b, "b"), "b", len(x), "a")
    resampling = Resampling(len(x), groups, n_bootstrap, confidence, rng)
    value = spearman(x, y)
    if not resampling.wanted:
        return Estimate(value, confidence=confidence)
    replicates = []
    for counts in resampling.counts():
        replicates += [spearman(np.repeat(x, n), np.repeat(y, n)) for n in counts]
    return resampling.estimate(value, np.asarray(replicates), (-1.0, 1.0))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """The correlation of the ranks; NaN if one of them is constant."""
    if np.all(x == x[0]) or np.all(y == y[0]):
        return np.nan
    return float(np.corrcoef(_midranks(x), _midranks(y))[0, 1])


def _midranks(x: np.ndarray) -> np.ndarray:
    """The mean rank of each value and those that are equal to it, less one half."""
    _, order, counts = np.unique(x, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[order])
