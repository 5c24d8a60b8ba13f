"""Mean claims against mean observations, with intervals over cases, groups and annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, quotient
from .._resampling import (
    Estimate,
    pooled_variance,
    t_interval,
    t_interval_with_extremes,
    t_quantile,
)
from ..evaluation.votes import Votes


@dataclass(frozen=True, eq=False)
class Claim:
    """A mean claim and what the votes say: arrays (E,) for labels or events, numbers for their
    sum.
    """

    claimed: Array
    observed: Estimate
    gap: Estimate
    """Claimed minus observed."""
    ratio: Estimate
    """Claimed divided by observed; infinite if none is observed (its lower bound is not), NaN if
    what is observed is negative, which only EU can be.
    """

    def __getitem__(self, labels: Any) -> Claim:
        """The claims about some of the labels."""
        estimates = self.observed[labels], self.gap[labels], self.ratio[labels]
        return Claim(self.claimed[labels], *estimates)


def case_bounds(part: int, read: Votes) -> tuple[np.ndarray, np.ndarray]:
    """What total (0), aleatoric (1) and epistemic (2) statistics of one case lie between: of each
    event and, last, of the sum over all.

    Epistemic: (v₁ − θ̄)(v₂ − θ̄) is lowest if θ̄ is halfway between two different votes.
    """
    pair = read.pair_bounds
    if part == 0:
        return 0.0 * pair, 2 * pair
    if part == 2:
        return -pair / 2, 2 * pair
    # The votes on one event are of two kinds, so not all pairs differ: at most 2 · ⌊n/2⌋⌈n/2⌉ of
    # n(n − 1).
    fewest = read.n.min()
    differ = np.full(len(pair), 2 * (fewest // 2) * (fewest - fewest // 2))
    differ[-1] = fewest * (fewest - 1)
    return 0.0 * pair, pair * differ / differ[-1]


def mean_claim(read: Votes, part: int, confidence: float) -> Claim:
    """Means over the cases with intervals, of each event and, last, of the sum over all.

    What was observed is bounded. Aleatoric: `t_interval`, in which groups are the units where
    nobody disagreed. Total and epistemic values are not alike where nobody chose a label, since θ̄
    differs; added cases at either bound stand for what was not seen.
    """
    # of the annotators: (annotators, claimed and observed, E + 1)
    claimed, observed, jackknife = (
        np.append(x, x.sum(axis=-1, keepdims=True), axis=-1)
        for x in (read.claimed[part], read.observed[part], read.without_each_annotator[:, part])
    )
    method = f"{read.n_groups} groups"
    if len(jackknife):
        method += f", {len(jackknife)} annotators"
    c, o = claimed.mean(axis=0), observed.mean(axis=0)
    there = (c > 0) & (o > 0)
    relative = claimed / np.where(there, c, 1) - observed / np.where(there, o, 1)
    without_claimed, without_observed = jackknife[:, 0], jackknife[:, 1]
    logs = np.log(np.where(jackknife > 0, jackknife, 1))
    groups = read.code, read.n_groups
    of_observed = error_of_mean_claim(observed, *groups, without_observed)
    of_gap = error_of_mean_claim(claimed - observed, *groups, without_claimed - without_observed)
    se, df = error_of_mean_claim(relative, *groups, logs[:, 0] - logs[:, 1])
    lowest, highest = case_bounds(part, read)
    if part == 1:
        bounds, units = (0.0, highest), read.n_groups
        low, high = t_interval(o, *of_observed, confidence, bounds, units)
        # The gap is the claim minus what was observed: the same scale, with the error of the gap.
        nearest, farthest = t_interval(o, *of_gap, confidence, bounds, units)
        gap_low, gap_high = c - farthest, c - nearest
    else:
        n, added = len(observed), 1.0
        if part == 2:
            # An extreme epistemic value takes two people who agree against θ̄. Of few votes that
            # is a whole case, of many it hardly matters.
            added = 2 / float(read.n.mean())
        low, high = t_interval_with_extremes(
            o, *of_observed, confidence, (lowest, highest), n, added
        )
        of_pairs = -highest, read.pair_bounds - lowest  # a claim is at most the bound of a pair
        gap_low, gap_high = t_interval_with_extremes(c - o, *of_gap, confidence, of_pairs, n, added)
    gap = Estimate(c - o, gap_low, gap_high, confidence, method)
    ratio = _claim_ratio(c, o, gap, t_quantile(df, confidence) * se)
    return Claim(c, Estimate(o, low, high, confidence, method), gap, ratio)


def _claim_ratio(c: np.ndarray, o: np.ndarray, gap: Estimate, error: np.ndarray) -> Estimate:
    """Claimed divided by observed, with half the width ``error`` of its interval on the log scale.

    That scale does not know what was not seen. So the interval has at least the ratios of claimed
    to observed that the interval of the gap allows for: if it contains 0, that of the ratio
    contains 1, and where nothing was observed it has a lower end.
    """
    least, most = c - gap.high, c - gap.low  # what may have been there to observe
    ratio = np.where(o < 0, np.nan, quotient(c, o, np.inf))
    low, high = quotient(c, most), quotient(c, least, np.inf)
    ratio = np.where((c == 0) & (o == 0), 1.0, ratio)  # nothing claimed, nothing observed
    there = (c > 0) & (o > 0)
    factor = np.exp(np.minimum(error, 500))
    low = np.where(there, np.fmin(low, ratio / factor), low)
    high = np.where(there, np.fmax(high, ratio * factor), high)
    defined = (c > 0) & (o >= 0)
    low, high = np.where(defined, low, np.nan), np.where(defined, high, np.nan)
    return Estimate(ratio, low, high, gap.confidence, gap.method)


def error_of_mean_claim(
    influence: np.ndarray, code: np.ndarray, n_groups: int, jackknife: Any = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Of the mean of ``influence`` (N, ...): clustered by group, plus the jackknife over annotators
    (A, ...); and its degrees of freedom.
    """
    sums = np.zeros((n_groups, *influence.shape[1:]))
    np.add.at(sums, code, influence - influence.mean(axis=0))
    between = (sums**2).sum(axis=0) * n_groups / (n_groups - 1) / len(influence) ** 2
    parts = [(between, n_groups - 1)]
    a = len(jackknife)
    if a:
        parts.append((jackknife.var(axis=0) * (a - 1), a - 1))
    variance, df = pooled_variance(parts)
    return np.sqrt(variance), df
