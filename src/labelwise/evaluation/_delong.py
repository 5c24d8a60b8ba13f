"""Sampling variance of an AUROC (DeLong et al. 1988), in O(n log n) by midranks (Sun & Xu 2014),
also for clustered data (Obuchowski 1997).
"""

from __future__ import annotations

from math import inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np

from .._resampling import Estimate, group_codes, pooled_variance, t_interval


class Spread(NamedTuple):
    """Of an AUROC: its variance, degrees of freedom, and the number of independent pairs."""

    variance: float
    df: float
    pairs: int


def delong(v_in: np.ndarray, v_out: np.ndarray, groups: np.ndarray | None) -> Spread:
    """Spread of the AUROC (or of a difference, given differences of placements); degrees of freedom
    follow Satterthwaite. Without ``groups`` each instance is a group of its own.
    """
    n_in = len(v_in)
    code, n_groups = group_codes(groups, n_in + len(v_out))
    sums, present, variances = [], [], []  # of the groups on each side
    for codes, v in ((code[:n_in], v_in), (code[n_in:], v_out)):
        of_groups = np.bincount(codes, v - v.mean(), minlength=n_groups) / len(v)
        g = int(np.count_nonzero(np.bincount(codes)))  # numpy.unique is slow for millions
        sums.append(of_groups)
        present.append(g)
        variances.append((g / max(g - 1, 1) * of_groups @ of_groups, max(g - 1, 1)))
    pairs = max(1, min(*present, n_groups // 2))
    if min(present) < 2:
        return Spread(nan, 1, pairs)
    variance, df = map(float, pooled_variance(variances))
    if variance == 0:
        df = float(sum(present) - 2)
    # Groups on both sides make the sides depend on each other.
    variance += 2 * n_groups / (n_groups - 1) * float(sums[0] @ sums[1])
    return Spread(max(0.0, variance), min(df, n_groups - 1), pairs)


def delong_interval(auroc: float, spread: Spread, confidence: float) -> Estimate:
    """DeLong's interval on the logit scale, with Student's t.

    Under perfect separation the bound is exact for as many independent pairs as can be formed: the
    probability that all are in the right order is AUROC^pairs.
    """
    low, high = t_interval(
        auroc, sqrt(spread.variance), spread.df, confidence, (0.0, 1.0), spread.pairs
    )
    method = "exact for independent pairs" if auroc in (0.0, 1.0) else "DeLong"
    return Estimate(auroc, float(low), float(high), confidence, method)


def difference_interval(difference: float, spread: Spread, confidence: float) -> Estimate:
    """DeLong's interval of a difference."""
    se = sqrt(spread.variance)
    if isnan(se) or (se == 0 and difference != 0):
        return Estimate(difference, confidence=confidence)
    low, high = t_interval(difference, se, spread.df, confidence, (-inf, inf), spread.pairs)
    return Estimate(difference, max(-1.0, float(low)), min(1.0, float(high)), confidence, "DeLong")
