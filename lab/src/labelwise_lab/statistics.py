"""Small statistics of the experiments."""

from __future__ import annotations

from collections.abc import Sequence
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


def sign_flip_p(values: Any) -> float:
    """Two-sided p-value of "the units' values are symmetric about 0", from all 2^n signs of their
    mean: exact, whatever their distribution. The smallest is 2 / 2^n.

    >>> sign_flip_p([1.0, 2.0, 3.0, 4.0, 5.0])
    0.0625
    """
    units = np.asarray(values, dtype=float)
    if not 1 <= len(units) <= 16:
        raise ValueError(f"`values` must be 1 to 16 units; got {len(units)}")
    bits = np.arange(2 ** len(units))[:, None] >> np.arange(len(units)) & 1
    signs = 1.0 - 2.0 * bits
    means = np.abs(signs @ units)
    # The observed signs are the first row; sums in another order may differ in the last digit.
    return float(np.mean(means >= means[0] * (1 - 1e-12)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for all of them together, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    found: list[float] = adjusted.tolist()
    return found
