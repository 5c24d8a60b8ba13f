"""The finite-sample arithmetic of conformal prediction: ranks, thresholds, and how many cases a
guarantee needs.

Scores are nonconformity scores: high is strange. A class belongs to the set if its score is at most
the threshold.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from typing import Any

import numpy as np


def as_guarantee_level(value: Any, name: str = "coverage") -> Fraction:
    """A probability strictly between 0 and 1, as the decimal number that was written: 0.9 is 9/10,
    so that ranks are exact.
    """
    if not (isinstance(value, float | np.floating) and 0 < value < 1):
        raise ValueError(f"`{name}` must lie strictly between 0 and 1, such as 0.9; got {value!r}")
    return Fraction(repr(float(value)))


def fewest_cases(level: Fraction) -> int:
    """The fewest calibration cases with a finite threshold: ⌈1 / (1 − coverage)⌉ − 1.

    >>> fewest_cases(as_guarantee_level(0.9)), fewest_cases(as_guarantee_level(0.95))
    (9, 19)
    """
    return ceil(1 / (1 - level)) - 1


def conformal_threshold(
    scores: np.ndarray, level: Fraction, groups: np.ndarray | None = None
) -> float:
    r"""The smallest t with :math:`\sum_{i: s_i \le t} w_i \ge \text{coverage} \cdot (\sum_i w_i +
    1)`, or ∞.

    Without ``groups`` (0, 1, … for each score) it is the score of rank ⌈(n + 1) · coverage⌉,
    computed in integers. With them, each group has the weight 1, shared by its scores; sums that
    are equal up to rounding count as equal.
    """
    order = np.argsort(scores, kind="stable")
    if groups is None:
        place = ceil((len(scores) + 1) * level) - 1
    else:
        sums = np.cumsum(1.0 / np.bincount(groups)[groups[order]])
        total = sums[-1:].sum() + 1.0
        rounding = len(sums) * np.finfo(float).eps * total
        place = int(np.searchsorted(sums, float(level) * total - rounding))
    if place >= len(scores):
        return inf
    return float(scores[order[place]])


def threshold_over_groups(
    scores: np.ndarray, level: Fraction, code: np.ndarray
) -> tuple[float, int]:
    """`conformal_threshold` of scores that belong to the groups ``code``, and the number of
    groups.
    """
    found, groups = np.unique(code, return_inverse=True)
    each_alone = len(found) == len(scores)
    return conformal_threshold(scores, level, None if each_alone else groups), len(found)
