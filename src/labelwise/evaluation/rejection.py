"""Rejection curves: how good the rest is when the most uncertain cases are handed over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array
from .._labels import as_correct, as_scores, same_length
from .._resampling import Estimate, Resampling

BAND_POINTS = 200
"""A band over a finer curve is given at this many points."""


@dataclass(frozen=True, eq=False)
class Band:
    """Bootstrap intervals of a rejection curve (for each point on its own) and of the numbers that sum it up."""

    rejected: Array
    low: Array
    high: Array
    area: Estimate
    normalized_area: Estimate
    aurc: Estimate
    augrc: Estimate
    confidence: float


@dataclass(frozen=True, eq=False)
class RejectionCurve:
    """Mean accuracy, loss or utility of the instances that are kept, against the share that is rejected.

    The last point keeps at least one instance: nothing is said about the empty rest.
    """

    kind: str
    """``"accuracy"``, ``"loss"`` or ``"utility"``."""
    sums: Array
    """(n + 1,): the sum of values over the j most certain instances, in expectation over the order of ties, j = 0 … n."""
    outcome: Array
    """(n,): the value of each instance, in no particular order."""
    rejected: Array
    """The shares rejected."""
    n_rejected: Array
    """How many instances that is, at each point."""
    band: Band | None = None

    @property
    def n(self) -> int:
        """How many instances there are."""
        return len(self.sums) - 1

    @property
    def higher_is_better(self) -> bool:
        return self.kind != "loss"

    def _at(self, sums: Array) -> Array:
        kept = self.n - self.n_rejected
        return sums[kept] / kept

    @cached_property
    def value(self) -> Array:
        """Mean value of the kept instances at each share."""
        return self._at(self.sums)

    @property
    def random(self) -> float:
        """The value that rejecting at random has on average, at every share."""
        return float(self.sums[-1] / self.n)

    @cached_property
    def oracle(self) -> Array:
        """The best possible curve: the worst instances are rejected first."""
        best_first = np.sort(self.outcome)
        if self.higher_is_better:
            best_first = best_first[::-1]
        return self._at(_cumulated(best_first))

    def area(self) -> float:
        """Area under the curve: the mean value over all shares, each point standing for the stretch up to the next."""
        return self._area(self.value)

    def _area(self, value: Array) -> float:
        width = np.diff(self.rejected, append=1.0)
        return float(width @ value / (1 - self.rejected[0]))

    def normalized_area(self) -> float:
        """Area between the curve and random rejection, as a share of the oracle's: 1 is perfect, 0 no better than chance.

        NaN if all instances have the same value, so that there is nothing to gain.
        """
        best = self._area(self.oracle) - self.random
        return (self.area() - self.random) / best if best != 0 else math.nan

    @cached_property
    def _losses(self) -> Array:
        """Sums of losses over the j most certain: 1 − correct, the loss itself, or minus the utility."""
        if self.kind == "accuracy":
            return np.arange(self.n + 1) - self.sums
        return self.sums if self.kind == "loss" else -self.sums

    @property
    def aurc(self) -> float:
        r"""Area under the risk–coverage curve, :math:`\frac1n \sum_j \frac1j \sum_{i \le j} \ell_i`; lower is better.

        Always from the full curve, whatever the grid. For accuracy it is 1 − area of the full curve.
        """
        return float(np.mean(self._losses[1:] / np.arange(1, self.n + 1)))

    @property
    def augrc(self) -> float:
        r"""Area under the generalised risk–coverage curve (Traub et al. 2024); lower is better.

        The generalised risk at coverage j/n is :math:`\frac1n \sum_{i \le j} \ell_i`, the average loss over *all* instances when
        those handed over cost nothing; it is 0 when nothing is kept, so the area runs over the whole interval (trapezoids). For
        accuracy a it equals (1 − AUROC of the score against errors)·a(1−a) + (1−a)²/2.
        """
        return float((self._losses.sum() - self._losses[-1] / 2) / self.n**2)

    def at_coverage(self, coverage: float) -> float:
        """The value when at least the share ``coverage`` is kept: that many instances, rounded up."""
        if not 0 < coverage <= 1:
            raise ValueError(f"`coverage` must be above 0 and at most 1 (nothing kept has no value); got {coverage!r}")
        kept = min(self.n, math.ceil(round(coverage * self.n, 6)))  # 0.07 · 100 is 7.000000000000001
        return float(self.sums[max(kept, 1)] / max(kept, 1))

    def risk_at_coverage(self, coverage: float) -> float:
        """The mean risk of the kept when at least the share ``coverage`` is: 1 − accuracy, the loss itself, or minus the utility."""
        value = self.at_coverage(coverage)
        return 1 - value if self.kind == "accuracy" else -value if self.higher_is_better else value

    def coverage_at_risk(self, risk: float) -> float:
        """The largest share that can be kept with a mean risk of at most ``risk``; 0 if no share can.

        Of the data at hand: for a guarantee about new cases use `labelwise.decisions.choose_threshold`.
        """
        if isinstance(risk, bool) or not isinstance(risk, int | float | np.number) or math.isnan(risk):
            raise ValueError(f"`risk` must be a number; got {risk!r}")
        kept = np.arange(1, self.n + 1)
        rounding = 1e-12 * np.abs(self._losses[1:]).max(initial=1.0)
        good = np.flatnonzero(self._losses[1:] <= risk * kept + rounding)
        return float(kept[good[-1]] / self.n) if good.size else 0.0

    @cached_property
    def monotonicity(self) -> float:
        """How steadily rejecting more makes the rest better: 1, it never gets worse; 0, it never gets better; NaN, it is flat.

        Up is the height of a point above the lowest point before it, down its depth below the highest one (for a loss the other
        way round), and the measure is Σ up / (Σ up + Σ down). Every point weighs as many instances as it keeps, the inverse of
        its variance, so that the noisy end counts little. A score that knows nothing wanders and comes out anywhere around
        ½. It says nothing about how much is gained: see `normalized_area`.
        """
        value = self.value if self.higher_is_better else -self.value
        weight = (self.n - self.n_rejected).astype(float)
        up = weight @ (value - np.minimum.accumulate(value))
        down = weight @ (np.maximum.accumulate(value) - value)
        rounding = 1e-14 * weight @ np.abs(value)
        return float(up / (up + down)) if up + down > rounding else math.nan


def rejection_curve(
    score: Any,
    *,
    correct: Any = None,
    loss: Any = None,
    utility: Any = None,
    grid: int | Sequence[float] | None = None,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    rng: int | np.random.Generator | None = None,
) -> RejectionCurve:
    r"""Accuracy, loss or utility of what remains when the most uncertain instances are rejected.

    Exact at every share. Instances with equal scores are rejected in random order, and the curve is the expectation over all
    orders: a score that is the same for all gives the curve of random rejection, whatever order the data came in.

    Parameters
    ----------
    score : array (N,)
        Uncertainty: the highest is rejected first.
    correct, loss, utility : array (N,)
        Exactly one: whether each prediction is right, what it costs, or what it is worth.
    grid : int or sequence of float, optional
        Shares to reject: a number of points, ``linspace(0, 1, grid, endpoint=False)``, or the shares themselves. At a share s,
        int(N·s) instances are rejected. ``grid=50`` is the protocol of the paper's experiments. Default: every share, 0/N … (N−1)/N.
    groups : array (N,), optional
        What belongs together (patients): the bootstrap draws whole groups.
    confidence, n_bootstrap, rng
        With ``rng`` (a seed or a generator) the curve gets a `band` of bootstrap intervals.

    Returns
    -------
    RejectionCurve

    Examples
    --------
    >>> curve = rejection_curve([0.1, 0.9, 0.4, 0.4], correct=[True, False, True, False])
    >>> curve.rejected
    array([0.  , 0.25, 0.5 , 0.75])
    >>> curve.value.round(3)  # the tie at 0.4 counts half each way
    array([0.5  , 0.667, 0.75 , 1.   ])
    >>> curve.random, round(curve.area(), 3), round(curve.at_coverage(0.75), 3)
    (0.5, 0.729, 0.667)
    """
    given = {key: x for key, x in (("correct", correct), ("loss", loss), ("utility", utility)) if x is not None}
    if len(given) != 1:
        raise ValueError(f"give exactly one of `correct`, `loss` and `utility`; got {' and '.join(f'`{key}`' for key in given) or 'none'}")
    score = as_scores(score, "score")
    (key, outcome), n = next(iter(given.items())), len(score)
    outcome = as_correct(outcome, n) if key == "correct" else same_length(as_scores(outcome, key), key, n, "score").astype(float)
    kind = "accuracy" if key == "correct" else key
    order = np.argsort(score)
    ranked, values = score[order], outcome[order]
    shares = _shares(grid)
    curve = _curve(kind, ranked, values, shares)
    resampling = Resampling(n, groups, n_bootstrap, confidence, rng)
    if not resampling.wanted:
        return curve
    return replace(curve, band=_band(curve, ranked, values, shares, order, resampling))


def _shares(grid: int | Sequence[float] | None) -> np.ndarray | None:
    if grid is None:
        return None
    if isinstance(grid, int | np.integer) and not isinstance(grid, bool):
        if grid < 1:
            raise ValueError(f"`grid` must have at least one point; got {grid}")
        return np.linspace(0, 1, int(grid), endpoint=False)
    shares = np.asarray(grid, dtype=float)
    if shares.ndim != 1 or not shares.size or not np.all(np.diff(shares) > 0) or shares[0] < 0 or shares[-1] >= 1:
        raise ValueError(
            "`grid` must be a number of points or increasing shares from 0 to below 1 (rejecting everything leaves nothing to judge); "
            f"got {grid!r}"
        )
    return shares


def _cumulated(x: np.ndarray) -> np.ndarray:
    """0, x₁, x₁ + x₂, …"""
    sums = np.zeros(len(x) + 1)
    np.cumsum(x, dtype=float, out=sums[1:])
    return sums


def _curve(kind: str, ranked: np.ndarray, values: np.ndarray, shares: np.ndarray | None) -> RejectionCurve:
    """The curve of values whose scores are in rising order."""
    n = len(ranked)
    sums = _cumulated(values)
    first = np.flatnonzero(ranked[1:] != ranked[:-1]) + 1
    if len(first) < n - 1:  # within a tie the expected sum grows evenly
        knots = np.concatenate([[0], first, [n]])
        sums = np.interp(np.arange(n + 1), knots, sums[knots])
    if shares is None:
        n_rejected = np.arange(n)
        return RejectionCurve(kind, sums, values, n_rejected / n, n_rejected)
    return RejectionCurve(kind, sums, values, shares, _n_rejected(n, shares))


def _n_rejected(n: int, shares: np.ndarray) -> np.ndarray:
    """int(n·share), as the paper's experiments count; at least one instance is kept."""
    return np.minimum((n * shares).astype(np.int64), n - 1)


def _band(
    curve: RejectionCurve,
    ranked: np.ndarray,
    values: np.ndarray,
    shares: np.ndarray | None,
    order: np.ndarray,
    resampling: Resampling,
) -> Band:
    """The curve of every resample, by the same definition."""
    at = curve.rejected if len(curve.rejected) <= BAND_POINTS else np.linspace(0, 1, BAND_POINTS, endpoint=False)
    points, numbers = [], []
    for counts in resampling.counts():
        for count in counts:
            again = np.repeat(np.arange(curve.n), count[order])
            replicate = _curve(curve.kind, ranked[again], values[again], shares)
            points.append(replace(replicate, rejected=at, n_rejected=_n_rejected(replicate.n, at)).value)
            numbers.append((replicate.area(), replicate.normalized_area(), replicate.aurc, replicate.augrc))
    interval = resampling.estimate(None, points)
    found = (curve.area(), curve.normalized_area(), curve.aurc, curve.augrc)
    area, normalized, aurc, augrc = (resampling.estimate(value, column) for value, column in zip(found, np.asarray(numbers).T, strict=True))
    return Band(at, interval.low, interval.high, area, normalized, aurc, augrc, resampling.confidence)
