"""Mean claims against mean observations, with intervals over cases, groups and annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array
from .._resampling import (
    Estimate,
    pooled_variance,
    t_interval,
    t_interval_with_extremes,
    t_quantile,
)
from .votes import Votes, pair_statistics


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


def without_each_annotator(read: Votes) -> np.ndarray | None:
    """Means of claimed and observed uncertainty without each of the annotators, (A, 3, 2, E);
    ``None`` for fewer than three.
    """
    if read.labels is None or read.labels.shape[1] < 3:
        return None
    claimed, found = read.claimed, []
    for chosen in read.labels.T:
        voted = chosen >= 0
        n = read.n - voted[:, None]
        enough = n[:, 0] >= 2
        if enough.any():
            yes = read.yes - np.where(voted[:, None], read.inside[chosen], 0)
            observed = pair_statistics(yes[enough], n[enough], read.mean[enough])
            found.append(np.stack([claimed[:, enough].mean(axis=1), observed.mean(axis=1)], axis=1))
    return np.stack(found) if len(found) >= 3 else None


def pair_bounds(read: Votes) -> np.ndarray:
    """The largest ½ Σ (v₁ − v₂)² of two votes, for each event and then for the sum over all events,
    (E + 1,).
    """
    inside = read.inside
    squares = np.sum(inside**2, axis=1)
    apart = (
        squares[:, None] + squares - 2 * inside @ inside.T
    )  # Σ (v₁ − v₂)² of votes for each two classes, (K, K)
    return 0.5 * np.append((inside.max(axis=0) - inside.min(axis=0)) ** 2, apart.max())


def case_bounds(part: int, pair: Any, read: Votes, *, of_sum: bool = False) -> tuple[Any, Any]:
    """What total (0), aleatoric (1) and epistemic (2) statistics of one case lie between, from
    `pair_bounds`.

    Epistemic: (v₁ − θ̄)(v₂ − θ̄) is lowest if θ̄ is halfway between two different votes.
    """
    if part == 1:
        fewest = read.n.min()
        # The votes on one event are of two kinds, so not all pairs differ: at most 2 · ⌊n/2⌋⌈n/2⌉
        # of n(n − 1).
        differ = (
            1.0 if of_sum else 2 * (fewest // 2) * (fewest - fewest // 2) / (fewest * (fewest - 1))
        )
        return 0.0 * pair, pair * differ
    return (0.0 * pair, 2 * pair) if part == 0 else (-pair / 2, 2 * pair)


def added_cases(part: int, read: Votes) -> float:
    """How many cases at either bound stand for what was not seen: one, and for epistemic statistics
    one pair of votes of a case.

    An extreme epistemic value takes two people who agree against θ̄. Of few votes that is a whole
    case, of many it hardly matters.
    """
    return 2 / float(read.n.mean()) if part == 2 else 1.0


def mean_claim(
    read: Votes,
    claimed: np.ndarray,
    observed: np.ndarray,
    jackknife: np.ndarray | None,
    confidence: float,
    *,
    part: int,
    pair: np.ndarray,
    of_sum: bool = False,
) -> Claim:
    """Means over the cases with intervals; ``jackknife`` are the means (A, 2, E) without each
    annotator, ``pair`` is that of `pair_bounds`.

    What was observed is bounded. Aleatoric: `t_interval`, in which groups are the units where
    nobody disagreed. Total and epistemic values are not alike where nobody chose a label, since θ̄
    differs; `added_cases` at either bound stand for what was not seen.
    """
    c, o = claimed.mean(axis=0), observed.mean(axis=0)
    n = len(observed)
    method = f"{read.n_groups} groups" + (
        "" if jackknife is None else f", {len(jackknife)} annotators"
    )
    lowest, highest = case_bounds(part, pair, read, of_sum=of_sum)

    def spread(influence: np.ndarray, again: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        return standard_error(influence, read.code, read.n_groups, again)

    of_observed = spread(observed, None if jackknife is None else jackknife[:, 1])
    of_gap = spread(
        claimed - observed, None if jackknife is None else jackknife[:, 0] - jackknife[:, 1]
    )
    if part == 1:
        low, high = t_interval(o, *of_observed, confidence, (0.0, highest), read.n_groups)
        # The gap is the claim minus what was observed: the same scale, with the error of the gap.
        nearest, farthest = t_interval(o, *of_gap, confidence, (0.0, highest), read.n_groups)
        gap_low, gap_high = c - farthest, c - nearest
    else:
        weight = added_cases(part, read)
        low, high = t_interval_with_extremes(
            o, *of_observed, confidence, (lowest, highest), n, weight
        )
        gap_low, gap_high = t_interval_with_extremes(
            c - o, *of_gap, confidence, (-highest, pair - lowest), n, weight
        )
    seen = Estimate(o, low, high, confidence, method)
    gap = Estimate(c - o, gap_low, gap_high, confidence, method)
    there = (c > 0) & (o > 0)
    relative = claimed / np.where(there, c, 1) - observed / np.where(there, o, 1)
    logs = None
    if jackknife is not None:
        positive = np.where(jackknife > 0, jackknife, 1)
        logs = np.log(positive[:, 0] / positive[:, 1])
    se, freedom = spread(relative, logs)
    return Claim(c, seen, gap, _ratio(c, o, gap, t_quantile(freedom, confidence) * se))


def _ratio(c: np.ndarray, o: np.ndarray, gap: Estimate, error: np.ndarray) -> Estimate:
    """Claimed divided by observed, with half the width ``error`` of its interval on the log scale.

    That scale does not know what was not seen. So the interval has at least the ratios of claimed
    to observed that the interval of the gap allows for: if it contains 0, that of the ratio
    contains 1, and where nothing was observed it has a lower end.
    """
    there = (c > 0) & (o > 0)
    unseen = (c > 0) & (o == 0)
    ratio = np.where(there, c / np.where(there, o, 1), np.nan)
    ratio = np.where(unseen, np.inf, np.where((c == 0) & (o > 0), 0.0, ratio))
    ratio = np.where((c == 0) & (o == 0), 1.0, ratio)  # nothing claimed, nothing observed
    least, most = c - gap.high, c - gap.low  # what may have been there to observe
    low = np.where(most > 0, c / np.where(most > 0, most, 1), np.nan)
    high = np.where(least > 0, c / np.where(least > 0, least, 1), np.inf)
    factor = np.exp(np.minimum(error, 500))
    low = np.where(there, np.fmin(low, ratio / factor), np.where(unseen, low, np.nan))
    high = np.where(there, np.fmax(high, ratio * factor), np.where(unseen, high, np.nan))
    return Estimate(ratio, low, high, gap.confidence, gap.method)


def first_column(claim: Claim) -> Claim:
    """The numbers of a single column."""
    pick = [
        Estimate(x.value[0], x.low[0], x.high[0], x.confidence, x.method)
        for x in (claim.observed, claim.gap, claim.ratio)
    ]
    return Claim(claim.claimed[0], pick[0], pick[1], pick[2])


def standard_error(
    influence: np.ndarray, code: np.ndarray, n_groups: int, jackknife: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Of the mean of ``influence`` (N, E): clustered by group, plus the jackknife over annotators
    (A, E); and its degrees of freedom.
    """
    centered = influence - influence.mean(axis=0)
    sums = np.stack(
        [np.bincount(code, column, minlength=n_groups) for column in centered.T], axis=-1
    )
    parts = [
        ((sums**2).sum(axis=0) * n_groups / (n_groups - 1) / len(influence) ** 2, n_groups - 1)
    ]
    if jackknife is not None:
        a = len(jackknife)
        parts.append((((jackknife - jackknife.mean(axis=0)) ** 2).sum(axis=0) * (a - 1) / a, a - 1))
    variance, freedom = pooled_variance(parts)
    return np.sqrt(variance), freedom
