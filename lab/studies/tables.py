"""Intervals over random splits, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t

from labelwise_lab.pages import table


def interval(values: np.ndarray, test_share: float, family: int = 1) -> tuple[float, float]:
    """Mean over the splits and half width of its 95 % t-interval, for a ``family`` of so many
    comparisons together (Bonferroni).

    Random splits share cases, so the plain interval is too narrow; the variance is multiplied by 1
    + n · test / train (Nadeau & Bengio 2003).
    """
    n = len(values)
    spread = values.std(ddof=1) * np.sqrt(1 / n + test_share / (1 - test_share))
    return float(values.mean()), float(t.ppf(1 - 0.025 / family, n - 1) * spread)


def signed(values: np.ndarray, test_share: float, family: int) -> str:
    mean, half = interval(values, test_share, family)
    return f"{mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]"


def in_short(
    name: str, kind: str, differences: Sequence[np.ndarray], test_share: float
) -> list[str]:
    """A row of the first screen: how many differences there are, and how many are clearly above and
    below 0 in intervals for all together.
    """
    intervals = [interval(values, test_share, len(differences)) for values in differences]
    above, below = (
        sum(mean > half for mean, half in intervals),
        sum(mean < -half for mean, half in intervals),
    )
    return [name, kind, str(len(differences)), str(above), str(below)]


def first_screen(claim: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """What was found, before the details: rows of `in_short`."""
    return [
        f"In short: {claim}, by intervals for all of a row together.",
        "",
        table(["data", "of", "differences", "above 0", "below 0"], rows),
    ]
