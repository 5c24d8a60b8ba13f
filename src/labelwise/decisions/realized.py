"""What decisions cost once the truth is known, and the interval of what they save."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._frames import same_rows
from .._resampling import t_interval_with_extremes
from .._validation.labels import as_labels, outcomes_by_class
from .policy import Decisions
from .problem import Problem


def beliefs(decisions: Decisions) -> np.ndarray:
    """Mean probabilities of the classes (N, K), or of each label being absent and present (N, K,
    2).
    """
    p = to_numpy(decisions.mean).astype(float)
    if p.ndim != 2:
        raise ValueError(f"`decisions` must be about cases on one axis; got shape {p.shape[:-1]}")
    return p if decisions.task == "multiclass" else np.stack([1 - p, p], axis=-1)


def true_outcomes(decisions: Decisions, y_true: Any) -> np.ndarray:
    """True classes as integers (N,), or true labels as 0 and 1 (N, K)."""
    shape = (len(decisions.mean),)
    (y_true,) = same_rows(decisions.distribution, y_true=y_true)
    if decisions.task == "multiclass":
        return as_labels(y_true, "y_true", decisions.class_names, shape)
    return outcomes_by_class(y_true, decisions.class_names, shape).astype(np.int64)


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
    se = float(saved.std(ddof=1)) / sqrt(n) if n > 1 else 0.0
    low, high = t_interval_with_extremes(mean, se, n - 1, confidence, (-largest, largest), n)
    return mean, float(low), float(high)
