"""Rank agreement of uncertainty with anything else: prediction error, the spread of votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._frames import same_rows
from .._labels import as_scores, same_length
from .._resampling import Estimate, Resampling


@dataclass(frozen=True, eq=False)
class RankAgreement:
    """Rank correlations of two quantities; NaN if one of them is constant."""

    spearman: Estimate
    """Correlation of the ranks (ties share their mean rank)."""
    kendall: Estimate
    """Kendall's τ_b: pairs in the same order minus pairs in opposite order, corrected for ties."""
    n: int


def rank_agreement(
    a: Any,
    b: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> RankAgreement:
    """Spearman's and Kendall's rank correlation of two quantities, with (cluster) bootstrap
    intervals.

    Parameters
    ----------
    a, b : array (N,)
    groups : array (N,), optional
        Group of each instance (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 replicates (1000 is usual) both have bootstrap intervals; ``rng``
        is their random seed or generator. Kendall's takes most of the time: 2 s for 1000 replicates
        of 10,000 instances.

    Returns
    -------
    RankAgreement

    Examples
    --------
    >>> result = rank_agreement([1, 2, 3, 4], [1, 3, 2, 4])
    >>> round(float(result.spearman), 3), round(float(result.kendall), 3)
    (0.8, 0.667)
    """
    a, b, groups = same_rows(a=a, b=b, groups=groups)
    x = as_scores(a, "a")
    y = same_length(as_scores(b, "b"), "b", len(x), "a")
    resampling = Resampling(len(x), groups, n_bootstrap, confidence, rng)
    x, y = (np.unique(values, return_inverse=True)[1] for values in (x, y))  # only the order counts
    spearman, kendall = _correlations(x, y)
    if not resampling.wanted:
        return RankAgreement(
            Estimate(spearman, confidence=confidence),
            Estimate(kendall, confidence=confidence),
            len(x),
        )
    replicates = [
        _correlations(np.repeat(x, count), np.repeat(y, count))
        for counts in resampling.counts()
        for count in counts
    ]
    rho, tau = np.transpose(replicates)
    return RankAgreement(
        resampling.estimate(spearman, rho, (-1.0, 1.0)),
        resampling.estimate(kendall, tau, (-1.0, 1.0)),
        len(x),
    )


def _correlations(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Spearman's ρ and Kendall's τ_b of two integer rankings, NaN if one is constant."""
    from scipy.stats import kendalltau

    if np.all(x == x[0]) or np.all(y == y[0]):
        return np.nan, np.nan
    rho = np.corrcoef(_midranks(x), _midranks(y))[0, 1]
    # The p-value of two would divide by 0.
    tau = kendalltau(x, y, method="asymptotic" if len(x) > 2 else "exact").statistic
    return float(rho), float(tau)


def _midranks(x: np.ndarray) -> np.ndarray:
    """The mean rank of each value and those that are equal to it, less one half."""
    counts = np.bincount(x)
    return np.asarray((np.cumsum(counts) - counts / 2)[x])
