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


def conformal_threshold(scores: np.ndarray, level: Fraction, code: np.ndarray) -> tuple[float, int]:
    r"""The smallest t with :math:`\sum_{i: s_i \le t} w_i \ge \text{coverage} \cdot (G + 1)`, or ∞,
    and the number G of groups.

    Each group has the weight 1, shared by its scores; sums that are equal up to rounding count as
    equal. If each score is a group of its own, t is the score of rank ⌈(n + 1) · coverage⌉.
    """
    _, groups, sizes = np.unique(code, return_inverse=True, return_counts=True)
    order = np.argsort(scores, kind="stable")
    sums = np.cumsum(1 / sizes[groups[order]])
    wanted = float(level) * (len(sizes) + 1)
    place = np.searchsorted(sums, wanted - len(sums) * np.finfo(float).eps * wanted)
    threshold = inf if place >= len(scores) else float(scores[order[place]])
    return threshold, len(sizes)
