"""The interval of what decisions save once the truth is known."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

from .._resampling import t_interval_with_extremes
from .problem import Problem


def largest_savings(problem: Problem) -> tuple[np.ndarray, float]:
    """The largest possible saving of one case of each class (per label: about each label), and of
    any case (per label: of all labels together).
    """
    largest = problem.largest_difference
    if largest.ndim == 1:
        return largest, float(largest.max())
    by_label = largest.max(axis=-1)  # whether it is present or not
    return by_label, float(by_label.sum())


def paired_saving(
    saved: np.ndarray, largest: float, confidence: float
) -> tuple[float, float, float]:
    """Mean of the savings of single cases, each within ± ``largest``, and its interval: (mean, low,
    high); NaN without cases.
    """
    n = len(saved)
    if n == 0:
        return nan, nan, nan
    mean = float(saved.mean())
    se = 0.0
    if n > 1:
        se = float(saved.std(ddof=1)) / sqrt(n)
    low, high = t_interval_with_extremes(mean, se, n - 1, confidence, (-largest, largest), n)
    return mean, float(low), float(high)
