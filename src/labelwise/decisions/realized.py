"""The interval of what decisions save once the truth is known."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

from .._resampling import Estimate, t_interval_with_extremes
from .problem import Problem


def paired_saving(saved: np.ndarray, problem: Problem, confidence: float) -> Estimate:
    """Mean saving of single cases with its interval; NaN without cases."""
    n = len(saved)
    if n == 0:
        return Estimate(nan)
    largest = problem.largest_difference
    bound = float(largest.max())
    if largest.ndim == 2:  # of all labels together, whether each is present or not
        bound = float(largest.max(axis=-1).sum())
    mean = float(saved.mean())
    se = 0.0
    if n > 1:
        se = float(saved.std(ddof=1)) / sqrt(n)
    low, high = t_interval_with_extremes(mean, se, n - 1, confidence, (-bound, bound), n)
    return Estimate(mean, float(low), float(high), confidence, "paired t with extremes")
