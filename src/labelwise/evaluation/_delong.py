"""Sampling variance of an AUROC (DeLong et al. 1988), in O(n log n) by midranks (Sun & Xu 2014),
also for clustered data (Obuchowski 1997).
"""

from __future__ import annotations

from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np

from .._resampling import Estimate, group_codes, t_interval


def placements(
    tp: np.ndarray, fp: np.ndarray, order: np.ndarray, last: np.ndarray, n_in: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each "in" the share of "out" that scores higher, for each "out" the share of "in" that
    scores lower; ties count half.

    The mean of either is the AUROC. ``tp`` and ``fp`` are cumulative counts at the distinct scores,
    from the highest.
    """
    higher = (tp + np.append(0, tp[:-1])) / (2 * tp[-1])
    lower = 1 - (fp + np.append(0, fp[:-1])) / (2 * fp[-1])
    sizes = np.diff(last, prepend=-1)
    value = np.where(order < n_in, np.repeat(higher, sizes), np.repeat(lower, sizes))
    placed = np.empty_like(value)
    placed[order] = value
    return placed[:n_in], placed[n_in:]


class Spread(NamedTuple):
    """Of an AUROC: its variance, degrees of freedom, and the number of independent pairs."""

    variance: float
    freedom: float
    pairs: int


def delong(v_in: np.ndarray, v_out: np.ndarray, groups: np.ndarray | None) -> Spread:
    """Spread of the AUROC (or of a difference, given differences of placements); degrees of freedom
    follow Satterthwaite.
    """
    n_in, n_out = len(v_in), len(v_out)
    if groups is None:
        if min(n_in, n_out) < 2:
            return Spread(nan, 1, 1)
        sides = [(float(v.var(ddof=1) / len(v)), len(v)) for v in (v_in, v_out)]
        return Spread(sides[0][0] + sides[1][0], _freedom(sides), min(n_in, n_out))
    code, n_groups = group_codes(groups, n_in + n_out)
    sums = [
        np.bincount(c, v - v.mean(), minlength=n_groups) / len(v)
        for c, v in ((code[:n_in], v_in), (code[n_in:], v_out))
    ]  # of each group, "in" and "out"
    present = [len(np.unique(c)) for c in (code[:n_in], code[n_in:])]
    pairs = max(1, min(*present, n_groups // 2))
    if min(present) < 2:
        return Spread(nan, 1, pairs)
    sides = [(g / (g - 1) * float(s @ s), g) for g, s in zip(present, sums, strict=True)]
    variance = sides[0][0] + sides[1][0] + 2 * n_groups / (n_groups - 1) * float(sums[0] @ sums[1])
    return Spread(max(0.0, variance), min(_freedom(sides), n_groups - 1), pairs)


def _freedom(sides: list[tuple[float, int]]) -> float:
    """Degrees of freedom of a sum of variances, each from so many values."""
    spread = sum(variance**2 / (n - 1) for variance, n in sides)
    return (
        sum(variance for variance, _ in sides) ** 2 / spread
        if spread > 0
        else sum(n - 1 for _, n in sides)
    )


def interval(auroc: float, spread: Spread, confidence: float) -> Estimate:
    """DeLong's interval on the logit scale, with Student's t.

    Under perfect separation the bound is exact for as many independent pairs as can be formed: the
    probability that all are in the right order is AUROC^pairs.
    """
    low, high = t_interval(
        auroc, sqrt(spread.variance), spread.freedom, confidence, (0.0, 1.0), spread.pairs
    )
    method = "exact for independent pairs" if auroc in (0.0, 1.0) else "DeLong"
    return Estimate(auroc, float(low), float(high), confidence, method)


def difference_interval(
    difference: float, spread: Spread, confidence: float
) -> tuple[Estimate, float]:
    """DeLong's interval of a difference, and the p-value of equality."""
    from scipy.special import stdtr

    se = sqrt(spread.variance)
    if difference == 0 and se == 0:
        return Estimate(0.0, 0.0, 0.0, confidence, "DeLong"), 1.0
    if not se > 0:  # the standard error is 0 or undefined
        return Estimate(difference, confidence=confidence), nan
    low, high = t_interval(difference, se, spread.freedom, confidence, (-inf, inf), spread.pairs)
    p_value = 2 * float(stdtr(spread.freedom, -abs(difference) / se))
    return Estimate(
        difference, max(-1.0, float(low)), min(1.0, float(high)), confidence, "DeLong"
    ), p_value
