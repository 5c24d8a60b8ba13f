"""Intervals behind the verdicts: of a mean over runs, and of its difference from a mean that the
paper prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, fmean, variance

from ..statistics import mean_over_runs
from .records import Record

__all__ = ["excludes_zero", "paired_difference", "simultaneous", "welch", "wider"]


def simultaneous(cell: Record, family: int) -> Record:
    """``mean``, ``low`` and ``high``: the mean over runs with a 95 % interval for all of a family
    of comparisons together (Bonferroni); one run has no interval.
    """
    if len(cell["runs"]) < 2:
        return {"mean": cell["mean"], "low": None, "high": None}
    found = mean_over_runs(cell["runs"], confidence=1 - 0.05 / family)
    return {"mean": cell["mean"], "low": float(found.low), "high": float(found.high)}


def wider(cell: Record, family: int) -> Record:
    """A stored estimate whose 95 % interval is of the normal kind, with one for a family of
    comparisons together (Bonferroni).
    """
    normal = NormalDist()
    factor = normal.inv_cdf(1 - 0.025 / family) / normal.inv_cdf(0.975)
    value = cell["value"]
    return {
        "mean": value,
        "low": value + factor * (cell["low"] - value),
        "high": value + factor * (cell["high"] - value),
    }


def welch(
    runs: Sequence[float],
    theirs: tuple[float, float | None],
    *,
    family: int = 1,
    count: int = 5,
    rounding: float = 0.0,
) -> Record:
    """The mean of our runs less that of theirs with Welch's interval, Bonferroni over ``family``.

    ``theirs`` are mean and deviation of ``count`` runs, with n in the denominator, as the published
    code computes it for both tables. One run of ours is taken to vary like theirs; where they print
    no deviation (``None``), they are taken to vary like ours. ``rounding`` is the variance that
    rounding adds to their mean.
    """
    from scipy.stats import t

    mean, sd = theirs
    n, own = len(runs), fmean(runs)
    if sd is None:
        a, b, df = variance(runs) / n, variance(runs) / count, float(n - 1)
    elif n == 1:
        a, b, df = sd**2 * count / (count - 1), sd**2 / (count - 1), float(count - 1)
    else:
        a, b = variance(runs) / n, sd**2 / (count - 1)
        df = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (count - 1))
    reach = float(t.ppf(1 - 0.025 / family, df)) * sqrt(a + b + rounding)
    return {"mean": own - mean, "low": own - mean - reach, "high": own - mean + reach}


def paired_difference(a: Record, b: Record) -> Record:
    """The difference of two means over the same runs."""
    return {
        "runs": [x - y for x, y in zip(a["runs"], b["runs"], strict=True)],
        "mean": a["mean"] - b["mean"],
    }


def excludes_zero(cell: Record) -> bool:
    """Whether there is an interval, and 0 is outside of it."""
    return cell["low"] is not None and (cell["low"] > 0 or cell["high"] < 0)
