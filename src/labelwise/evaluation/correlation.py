"""Rank agreement of uncertainty with anything else: prediction error, the spread of votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import quotient
from .._frames import same_rows
from .._resampling import Estimate, Resampling
from .._validation.arguments import Rng
from .._validation.labels import as_scores, same_length
from .ranking import RankedScores


def rank_agreement(
    a: Any,
    b: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: Rng = None,
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
    ranked = RankedScores(x), RankedScores(y)
    value = float(rank_correlation(*ranked, np.ones(len(x))))
    if not resampling.wanted:
        return Estimate(value, confidence=confidence)
    replicates = [rank_correlation(*ranked, counts) for counts in resampling.counts()]
    return resampling.estimate(value, np.concatenate(replicates), (-1.0, 1.0))


def rank_correlation(x: RankedScores, y: RankedScores, counts: np.ndarray) -> np.ndarray:
    """The correlation of the ranks, (...,), of instances that are there ``counts`` (..., n) times;
    NaN if one of them is constant.
    """
    from_middle = []
    for ranked in (x, y):
        up_to = ranked.sums(counts)
        mean_rank = up_to - np.diff(up_to, axis=-1, prepend=0) / 2
        from_middle.append(ranked.of_instances(mean_rank - up_to[..., -1:] / 2))
    a, b = from_middle
    spread = np.sqrt(np.sum(counts * a**2, axis=-1) * np.sum(counts * b**2, axis=-1))
    product = np.sum(counts * a * b, axis=-1)
    return quotient(product, spread)
