"""Rejection curves: quality of the remaining predictions when the most uncertain instances are
rejected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from .._arrays import Array
from .._frames import same_rows
from .._resampling import Estimate, Resampling
from .._tables import Tabular
from .._validation.arguments import Rng
from .._validation.labels import as_correct, as_scores, same_length
from .ranking import RankedScores

SUMMARIES = ("area", "normalized_area", "aurc", "augrc")
BAND_POINTS = 200
"""Number of points of the band of a finer curve."""


@dataclass(frozen=True, eq=False)
class Band:
    """Pointwise bootstrap intervals of a rejection curve, and intervals of its summaries."""

    rejected: Array
    low: Array
    high: Array
    area: Estimate
    normalized_area: Estimate
    aurc: Estimate
    augrc: Estimate
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class RejectionCurve(Tabular):
    """Accuracy, mean risk or mean utility of the kept instances, against the share rejected; at
    least one instance is kept.
    """

    kind: str
    """``"accuracy"``, ``"risk"`` or ``"utility"``."""
    sums: Array
    """(n + 1,): sum of values over the j most certain instances, j = 0 … n, in expectation over the
    order of ties.
    """
    outcome: Array
    """(n,): the value of each instance, in no particular order."""
    rejected: Array
    """Shares rejected."""
    n_rejected: Array
    """Number of instances rejected at each point."""
    tie_share: float
    """Share of instances whose score another instance has too; see `ranking_scores` for scores that
    tie exactly.
    """
    band: Band | None = None

    def _title(self) -> str:
        return (
            f"Rejection of {self.n:,} cases: {self.kind}, area {self.area:.4f} (random "
            f"{self.random:.4f}, normalized {self.normalized_area:.3f})"
        )

    def _columns(self) -> dict[str, Any]:
        return {
            "rejected": self.rejected,
            "n_rejected": self.n_rejected,
            self.kind: self.value,
            "oracle": self.oracle,
        }

    @property
    def n(self) -> int:
        """Number of instances."""
        return len(self.sums) - 1

    @property
    def higher_is_better(self) -> bool:
        return self.kind != "risk"

    @cached_property
    def value(self) -> Array:
        """Mean value of the kept instances at each share."""
        kept = self.n - self.n_rejected
        return self.sums[kept] / kept

    @property
    def random(self) -> float:
        """Expected value under random rejection, the same at every share."""
        return float(self.sums[-1] / self.n)

    @cached_property
    def oracle(self) -> Array:
        """The best possible curve, rejecting the worst instances first."""
        best_first = np.sort(self.outcome)
        if self.higher_is_better:
            best_first = best_first[::-1]
        kept = self.n - self.n_rejected
        return np.cumsum(best_first, dtype=float)[kept - 1] / kept

    @cached_property
    def area(self) -> float:
        """Area under the curve: the mean value over all shares, with each point weighted by the
        distance to the next.
        """
        return self._area(self.value)

    def _area(self, value: Array) -> float:
        width = np.diff(self.rejected, append=1.0)
        return float(width @ value / (1 - self.rejected[0]))

    @cached_property
    def normalized_area(self) -> float:
        """Area between the curve and random rejection as a share of the oracle's: 1 is perfect, 0
        is chance level.

        NaN if all instances have the same value.
        """
        best = self._area(self.oracle) - self.random
        return (self.area - self.random) / best if best != 0 else math.nan

    @cached_property
    def _risks(self) -> Array:
        """Cumulative risk of the j most certain instances: 1 − correct, the risk itself, or minus
        the utility.
        """
        if self.kind == "accuracy":
            return np.arange(self.n + 1) - self.sums
        return self.sums if self.kind == "risk" else -self.sums

    @property
    def aurc(self) -> float:
        r"""Area under the risk–coverage curve, :math:`\frac1n \sum_j \frac1j \sum_{i \le j}
        \ell_i`; lower is better.

        Computed from the full curve for any grid. For accuracy it equals 1 − area of the full
        curve.
        """
        return float(np.mean(self._risks[1:] / np.arange(1, self.n + 1)))

    @property
    def augrc(self) -> float:
        r"""Area under the generalized risk–coverage curve (Traub et al. 2024); lower is better.

        The generalized risk at coverage j/n is :math:`\frac1n \sum_{i \le j} \ell_i`, the mean risk
        over *all* instances when rejected ones cost nothing. It is 0 at coverage 0, so the area
        covers the whole interval (trapezoids). For accuracy a it equals (1 − AUROC of the score
        against errors)·a(1−a) + (1−a)²/2.
        """
        return float((self._risks.sum() - self._risks[-1] / 2) / self.n**2)

    def at_coverage(self, coverage: float) -> float:
        """The value at this coverage, with the number of kept instances rounded up.

        Of the data at hand: for a guarantee about new cases use
        `labelwise.decisions.choose_threshold`.
        """
        if not 0 < coverage <= 1:
            raise ValueError(f"`coverage` must be above 0 and at most 1; got {coverage!r}")
        kept = min(
            self.n, math.ceil(round(coverage * self.n, 6))
        )  # 0.07 · 100 is 7.000000000000001
        return float(self.sums[max(kept, 1)] / max(kept, 1))


def rejection_curve(
    score: Any,
    *,
    correct: Any = None,
    risk: Any = None,
    utility: Any = None,
    grid: int | Sequence[float] | None = None,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: Rng = None,
) -> RejectionCurve:
    r"""Accuracy, mean risk or mean utility of the remaining instances when the most uncertain are
    rejected.

    Ties are exact: the curve is the expectation over random orders of instances with equal scores,
    so a constant score gives the curve of random rejection, independent of the order of the data.

    Parameters
    ----------
    score : array (N,)
        Uncertainty; the highest is rejected first. Series with an index, here and below, are
        matched by it; arrays by position.
    correct, risk, utility : array (N,)
        Exactly one of: whether each prediction is right, its risk (lower is better), or its utility
        (higher is better).
    grid : int or sequence of float, optional
        Shares to reject: a number of points, ``linspace(0, 1, grid, endpoint=False)``, or the
        shares themselves. At share s, int(N·s) instances are rejected. ``grid=50`` is the protocol
        of the paper's experiments. Defaults to all shares, 0/N … (N−1)/N.
    groups : array (N,), optional
        Group of each instance (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 replicates (1000 is usual) the curve has a `band` of bootstrap
        intervals; ``rng`` is their random seed or generator.

    Returns
    -------
    RejectionCurve

    Examples
    --------
    >>> curve = rejection_curve([0.1, 0.9, 0.4, 0.4], correct=[True, False, True, False])
    >>> curve.rejected
    array([0.  , 0.25, 0.5 , 0.75])
    >>> curve.value.round(3)  # the tie at 0.4 counts half each
    array([0.5  , 0.667, 0.75 , 1.   ])
    >>> curve.random, round(curve.area, 3), round(curve.at_coverage(0.75), 3)
    (0.5, 0.729, 0.667)
    """
    given = {"correct": correct, "risk": risk, "utility": utility}
    given = {key: x for key, x in given.items() if x is not None}
    if len(given) != 1:
        raise ValueError(
            "give exactly one of `correct`, `risk` and `utility`; got "
            f"{' and '.join(f'`{key}`' for key in given) or 'none'}"
        )
    key, outcome = next(iter(given.items()))
    score, outcome, groups = same_rows(**{"score": score, key: outcome, "groups": groups})
    score = as_scores(score, "score")
    n = len(score)
    if key == "correct":
        kind, outcome = "accuracy", as_correct(outcome, n)
    else:
        kind = key
        outcome = same_length(as_scores(outcome, key), key, n, "score").astype(float)
    ranked, shares = RankedScores(score), _rejected_shares(grid)
    curve = reject_ranked(ranked, outcome, kind, shares=shares)
    resampling = Resampling(n, groups, n_bootstrap, confidence, rng)
    if not resampling.wanted:
        return curve
    return replace(curve, band=_bootstrap_band(curve, ranked, shares, resampling))


def _rejected_shares(grid: int | Sequence[float] | None) -> np.ndarray | None:
    if grid is None:
        return None
    if isinstance(grid, int | np.integer) and grid > 0:
        return np.linspace(0, 1, int(grid), endpoint=False)
    shares = np.asarray(grid, dtype=float)
    increasing = shares.ndim == 1 and np.all(np.diff(shares, append=1) > 0)
    if not increasing or not shares.size or shares[0] < 0:
        raise ValueError(
            "`grid` must be a number of points or increasing shares from 0 to below 1 (rejecting "
            f"everything leaves nothing to evaluate); got {grid!r}"
        )
    return shares


def reject_ranked(
    ranked: RankedScores,
    outcome: np.ndarray,
    kind: str,
    counts: np.ndarray | None = None,
    shares: np.ndarray | None = None,
) -> RejectionCurve:
    """The curve of instances that are there ``counts`` times, by default once."""
    if counts is None:
        counts = np.ones(len(outcome), np.int64)
    kept, sums = ranked.sums(counts), ranked.sums(counts * outcome)
    there = np.diff(kept, prepend=0) > 0
    kept, sums = np.append(0, kept[there]), np.append(0.0, sums[there])
    n = int(kept[-1])
    sums = np.interp(np.arange(n + 1), kept, sums)  # within a tie the expected sum grows linearly
    if shares is None:
        n_rejected = np.arange(n)
        shares = n_rejected / n
    else:
        n_rejected = _count_rejected(n, shares)
    outcome = np.repeat(outcome, counts)
    return RejectionCurve(kind, sums, outcome, shares, n_rejected, ranked.tie_share)


def _count_rejected(n: int, shares: np.ndarray) -> np.ndarray:
    """int(n·share), as in the paper's experiments; at least one instance is kept."""
    return np.minimum((n * shares).astype(np.int64), n - 1)


def _bootstrap_band(
    curve: RejectionCurve, ranked: RankedScores, shares: np.ndarray | None, resampling: Resampling
) -> Band:
    """Intervals from the curves of all bootstrap replicates."""
    at = curve.rejected
    if len(at) > BAND_POINTS:
        at = np.linspace(0, 1, BAND_POINTS, endpoint=False)

    def values_of_band(curve: RejectionCurve) -> np.ndarray:
        on_grid = replace(curve, rejected=at, n_rejected=_count_rejected(curve.n, at))
        return on_grid.value

    points, numbers = [], []
    for counts in chain.from_iterable(resampling.counts()):
        replicate = reject_ranked(ranked, curve.outcome, curve.kind, counts, shares)
        points.append(values_of_band(replicate))
        numbers.append([getattr(replicate, name) for name in SUMMARIES])
    bounds = (0.0, 1.0) if curve.kind == "accuracy" else (-inf, inf)
    n_kept = curve.n - _count_rejected(curve.n, at)
    first_of_groups = np.unique(resampling.code[ranked.order], return_index=True)[1]
    kept = np.searchsorted(np.sort(first_of_groups), n_kept)  # groups of the most certain instances
    interval = resampling.estimate(values_of_band(curve), np.asarray(points), bounds, kept)
    # The spread of a single group is not known.
    low, high = (
        np.where(np.isnan(end), bound, end)
        for end, bound in zip((interval.low, interval.high), bounds, strict=True)
    )
    summaries = {}
    for name, column in zip(SUMMARIES, np.asarray(numbers).T, strict=True):
        limits = (-inf, inf) if name == "normalized_area" else bounds
        summaries[name] = resampling.estimate(getattr(curve, name), column, limits)
    return Band(at, low, high, confidence=resampling.confidence, **summaries)
