"""Mean claims against mean observations, with intervals over cases, groups and annotators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from .._resampling import Estimate, pooled_variance, t_quantile
from .votes import Votes, pair_statistics


@dataclass(frozen=True, eq=False)
class Claim:
    """A mean claim and what the votes say: arrays (E,) for labels or events, numbers for their sum."""

    claimed: Array
    observed: Estimate
    gap: Estimate
    """Claimed minus observed."""
    ratio: Estimate
    """Claimed divided by observed; infinite if none is observed, NaN if what is observed is negative, which only EU can be."""


def without_each_annotator(read: Votes) -> np.ndarray | None:
    """Means of claimed and observed uncertainty without each of the annotators, (A, 3, 2, E); ``None`` for fewer than three."""
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


def mean_claim(
    read: Votes, claimed: np.ndarray, observed: np.ndarray, jackknife: np.ndarray | None, confidence: float, *, signed: bool
) -> Claim:
    """Means over the cases with intervals; ``jackknife`` are the means (A, 2, E) without each annotator."""
    c, o = claimed.mean(axis=0), observed.mean(axis=0)
    method = f"{read.n_groups} groups" + ("" if jackknife is None else f", {len(jackknife)} annotators")

    def interval(value: np.ndarray, influence: np.ndarray, again: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        half = half_width(influence, read.code, read.n_groups, again, confidence)
        return value - half, value + half

    low, high = interval(o, observed, None if jackknife is None else jackknife[:, 1])
    seen = Estimate(o, low if signed else np.maximum(low, 0), high, confidence, method)
    gap = Estimate(
        c - o, *interval(c - o, claimed - observed, None if jackknife is None else jackknife[:, 0] - jackknife[:, 1]), confidence, method
    )
    there = (c > 0) & (o > 0)
    safe_c, safe_o = np.where(there, c, 1), np.where(there, o, 1)
    logs = None
    if jackknife is not None:
        positive = np.where(jackknife > 0, jackknife, 1)
        logs = np.log(positive[:, 0] / positive[:, 1])
    low, high = interval(np.log(safe_c / safe_o), claimed / safe_c - observed / safe_o, logs)
    ratio = np.where(there, safe_c / safe_o, np.where((o == 0) & (c > 0), np.inf, np.where((c == 0) & (o > 0), 0.0, np.nan)))
    ratio = np.where((o == 0) & (c == 0), 1.0, ratio)  # nothing claimed, nothing observed
    bounds = [np.where(there, np.exp(x), np.nan) for x in (low, high)]
    return Claim(c, seen, gap, Estimate(ratio, bounds[0], bounds[1], confidence, method))


def first_column(claim: Claim) -> Claim:
    """The numbers of a single column."""
    pick = [Estimate(x.value[0], x.low[0], x.high[0], x.confidence, x.method) for x in (claim.observed, claim.gap, claim.ratio)]
    return Claim(claim.claimed[0], pick[0], pick[1], pick[2])


def half_width(influence: np.ndarray, code: np.ndarray, n_groups: int, jackknife: np.ndarray | None, confidence: float) -> np.ndarray:
    """Half the width of a t-interval of the mean of ``influence`` (N, E): clustered by group, plus the jackknife over annotators (A, E)."""
    centered = influence - influence.mean(axis=0)
    sums = np.stack([np.bincount(code, column, minlength=n_groups) for column in centered.T], axis=-1)
    parts = [((sums**2).sum(axis=0) * n_groups / (n_groups - 1) / len(influence) ** 2, n_groups - 1)]
    if jackknife is not None:
        a = len(jackknife)
        parts.append((((jackknife - jackknife.mean(axis=0)) ** 2).sum(axis=0) * (a - 1) / a, a - 1))
    variance, freedom = pooled_variance(parts)
    return np.asarray(t_quantile(freedom, confidence) * np.sqrt(variance))
