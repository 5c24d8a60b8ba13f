"""Small statistics of the experiments."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelwise.typing import Estimate


def t_quantile(df: Any, confidence: float) -> Any:
    """Half the width of Student's t-interval in standard errors."""
    from scipy.special import stdtrit

    return stdtrit(df, (1 + confidence) / 2)


def mean_over_runs(values: Any, confidence: float = 0.95) -> Estimate:
    """Mean over independent runs (first axis, at least two) with Student's t-interval."""
    runs = np.asarray(values, dtype=float)
    n = len(runs)
    mean = runs.mean(axis=0)
    half = t_quantile(n - 1, confidence) * runs.std(axis=0, ddof=1) / np.sqrt(n)
    return Estimate(mean, mean - half, mean + half, confidence, f"t-interval over {n} runs")


def bootstrap_error(replicates: np.ndarray, units: int) -> np.ndarray:
    """Standard error from replicates (on the first axis; NaN where undefined), without the bias of
    a bootstrap of few ``units``.
    """
    error: np.ndarray = np.nanstd(replicates, axis=0, ddof=1) * np.sqrt(units / (units - 1))
    return error


def group_codes(groups: Any, n: int) -> tuple[np.ndarray, int]:
    """Groups as codes 0, 1, … (``None``: one group per instance) and their number."""
    if groups is None:
        return np.arange(n), n
    names, code = np.unique(np.asarray(groups), return_inverse=True)
    return code, len(names)
