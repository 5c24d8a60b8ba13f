"""Sampling variance of an AUROC (DeLong et al. 1988), in O(n log n) by midranks (Sun & Xu 2014), also for clustered data (Obuchowski 1997)."""

from __future__ import annotations

from math import erfc, exp, log, sqrt
from statistics import NormalDist

import numpy as np

from .._resampling import Estimate, group_codes


def placements(tp: np.ndarray, fp: np.ndarray, order: np.ndarray, last: np.ndarray, n_in: int) -> tuple[np.ndarray, np.ndarray]:
    """For each "in" the share of "out" that scores higher, for each "out" the share of "in" that scores lower; ties count half.

    The mean of either is the AUROC. ``tp`` and ``fp`` are cumulative counts at the distinct scores, from the highest.
    """
    higher = (tp + np.append(0, tp[:-1])) / (2 * tp[-1])
    lower = 1 - (fp + np.append(0, fp[:-1])) / (2 * fp[-1])
    sizes = np.diff(last, prepend=-1)
    value = np.where(order < n_in, np.repeat(higher, sizes), np.repeat(lower, sizes))
    placed = np.empty_like(value)
    placed[order] = value
    return placed[:n_in], placed[n_in:]


def delong(v_in: np.ndarray, v_out: np.ndarray, groups: np.ndarray | None) -> tuple[float, int]:
    """Variance of the AUROC (or of a difference, given differences of placements) and number of independent pairs."""
    n_in, n_out = len(v_in), len(v_out)
    if groups is None:
        if min(n_in, n_out) < 2:
            return float("nan"), 1
        return float(v_in.var(ddof=1) / n_in + v_out.var(ddof=1) / n_out), min(n_in, n_out)
    code, n_groups = group_codes(groups, n_in + n_out)
    sums = [
        np.bincount(c, v - v.mean(), minlength=n_groups) / len(v) for c, v in ((code[:n_in], v_in), (code[n_in:], v_out))
    ]  # of each group, "in" and "out"
    present = [len(np.unique(c)) for c in (code[:n_in], code[n_in:])]
    pairs = max(1, min(*present, n_groups // 2))
    if min(present) < 2:
        return float("nan"), pairs
    variance = sum(g / (g - 1) * float(s @ s) for g, s in zip(present, sums, strict=True))
    return max(0.0, variance + 2 * n_groups / (n_groups - 1) * float(sums[0] @ sums[1])), pairs


def interval(auroc: float, spread: tuple[float, int], confidence: float) -> Estimate:
    """DeLong's interval on the logit scale, which stays within [0, 1] and has better coverage near its ends.

    Under perfect separation the estimated variance is 0 although the AUROC is uncertain. The bound is then exact for as many
    independent pairs as can be formed: the probability that all are in the right order is AUROC^pairs.
    """
    variance, pairs = spread
    if auroc in (0.0, 1.0):
        bound = ((1 - confidence) / 2) ** (1 / pairs)
        low, high = (bound, 1.0) if auroc else (0.0, 1 - bound)
        return Estimate(auroc, low, high, confidence, "exact for independent pairs")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    center, half = log(auroc / (1 - auroc)), z * sqrt(variance) / (auroc * (1 - auroc))
    low, high = (1 / (1 + exp(-x)) if x > 0 else exp(x) / (1 + exp(x)) for x in (center - half, center + half))
    return Estimate(auroc, low, high, confidence, "DeLong")


def difference_interval(difference: float, spread: tuple[float, int], confidence: float) -> tuple[Estimate, float]:
    """DeLong's interval of a difference, and the p-value of equality."""
    se = sqrt(spread[0])
    if difference == 0 and se == 0:
        return Estimate(0.0, 0.0, 0.0, confidence, "DeLong"), 1.0
    if not se > 0:  # the standard error is 0 or undefined
        return Estimate(difference, confidence=confidence), float("nan")
    half = NormalDist().inv_cdf((1 + confidence) / 2) * se
    p_value = erfc(abs(difference) / se / sqrt(2))
    return Estimate(difference, max(-1.0, difference - half), min(1.0, difference + half), confidence, "DeLong"), p_value
