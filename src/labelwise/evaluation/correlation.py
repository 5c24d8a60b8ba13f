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


class _Ranked:
    """One variable, sorted once, and its midranks under any instance counts."""

    def __init__(self, x: np.ndarray) -> None:
        self.order = np.argsort(x, kind="stable")
        ranked = x[self.order]
        self.last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(x) - 1)
        self.block = np.empty(len(x), dtype=np.int64)
        self.block[self.order] = np.repeat(
            np.arange(len(self.last)), np.diff(self.last, prepend=-1)
        )

    def midranks(self, counts: np.ndarray) -> np.ndarray:
        """Mean rank minus one half of each instance when instance i occurs ``counts[..., i]``
        times.
        """
        upper = np.cumsum(counts[..., self.order], axis=-1, dtype=float)[..., self.last]
        lower = np.concatenate([np.zeros_like(upper[..., :1]), upper[..., :-1]], axis=-1)
        return np.asarray(((upper + lower) / 2)[..., self.block])


def _pearson(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Correlation over the last axis with weights."""
    total = w.sum(axis=-1, keepdims=True)
    dx, dy = (v - (w * v).sum(axis=-1, keepdims=True) / total for v in (x, y))
    xy, xx, yy = ((w * a * b).sum(axis=-1) for a, b in ((dx, dy), (dx, dx), (dy, dy)))
    spread = np.sqrt(xx * yy)
    return np.where(spread > 0, xy / np.where(spread > 0, spread, 1), np.nan)


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
    ranked = _Ranked(x), _Ranked(y)

    def spearman(counts: np.ndarray) -> np.ndarray:
        return _pearson(ranked[0].midranks(counts), ranked[1].midranks(counts), counts)

    values = float(spearman(np.ones(len(x)))), _kendall(ranked[0].block, ranked[1].block)
    if not resampling.wanted:
        return RankAgreement(
            Estimate(values[0], confidence=confidence),
            Estimate(values[1], confidence=confidence),
            len(x),
        )
    rho: list[np.ndarray] = []
    tau: list[float] = []
    for counts in resampling.counts():
        rho.append(spearman(counts))
        tau.extend(_kendall(*(np.repeat(x.block, count) for x in ranked)) for count in counts)
    found = [
        resampling.estimate(value, again, (-1.0, 1.0))
        for value, again in zip(values, (np.concatenate(rho), tau), strict=True)
    ]
    return RankAgreement(found[0], found[1], len(x))


def _kendall(x: np.ndarray, y: np.ndarray) -> float:
    """Kendall's τ_b of two integer rankings, NaN if one is constant."""
    from scipy.stats import kendalltau

    if np.all(x == x[0]) or np.all(y == y[0]):
        return float("nan")
    return float(
        kendalltau(x, y, method="asymptotic" if len(x) > 2 else "exact").statistic
    )  # the p-value of two would divide by 0
