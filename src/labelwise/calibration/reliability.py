"""Reliability curves for the top label and for each class.

Forecasts are binned. The gap of a bin is its number of occurrences minus the sum of its forecasts,
divided by the number of all instances; the calibration error is the sum of the absolute gaps. Gaps
are linear in the instances, so a (cluster) bootstrap is one sparse matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array
from .._frames import same_rows
from .._resampling import (
    Resampling,
    binomial_interval,
    check_confidence,
    group_codes,
    share_estimate,
)
from .._tables import Tabular
from .._validation.arguments import check_positive
from ..evaluation._forecasts import forecasts


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityCurve(Tabular):
    """Observed frequency against mean forecast, in the non-empty bins."""

    forecast: Array
    """Mean forecast in each bin."""
    frequency: Array
    """Observed frequency in each bin."""
    low: Array
    high: Array
    count: Array
    edges: Array
    """Edges of all bins; the upper edge belongs to its bin."""
    error: float
    """Calibration error: mean absolute difference between frequency and forecast, weighted by
    count.
    """

    def _title(self) -> str:
        return f"Reliability: calibration error {self.error:.4f}"

    def _columns(self) -> dict[str, Any]:
        names = ("forecast", "frequency", "low", "high", "count")
        return {name: getattr(self, name) for name in names}


class Binned:
    """Forecasts (N, columns) of binary outcomes; each column has its own bins."""

    def __init__(
        self, forecast: np.ndarray, outcomes: np.ndarray, n_bins: Sequence[int], adaptive: bool
    ) -> None:
        """``n_bins`` is the number of bins of each column."""
        self.forecast, self.outcomes, self.n_bins = forecast, outcomes.astype(float), max(n_bins)
        self.n, self.columns = forecast.shape
        self.edges = [
            _bin_edges(column, n, adaptive) for column, n in zip(forecast.T, n_bins, strict=True)
        ]
        self.bin = np.stack(
            [np.searchsorted(e[1:-1], p) for e, p in zip(self.edges, forecast.T, strict=True)],
            axis=-1,
        )
        self.cell = self.bin + self.n_bins * np.arange(self.columns)

    def sums(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` (N, columns) over the instances of each bin, (columns, n_bins)."""
        sums = np.bincount(self.cell.ravel(), x.ravel(), minlength=self.columns * self.n_bins)
        return np.asarray(sums.reshape(self.columns, self.n_bins))

    @property
    def gaps(self) -> np.ndarray:
        """(columns, n_bins)."""
        return np.asarray(self.sums(self.outcomes - self.forecast) / self.n)

    def bootstrap_gaps(self, resampling: Resampling) -> np.ndarray:
        """`gaps` in every replicate, (replicates, columns, n_bins)."""
        from scipy.sparse import csr_array

        rows = np.arange(self.n) if resampling.code is None else resampling.code
        place = np.repeat(rows, self.columns), self.cell.ravel()
        shape = resampling.n_groups, self.columns * self.n_bins
        difference = self.outcomes - self.forecast
        of_groups = csr_array((difference.ravel(), place), shape=shape).T
        size = np.bincount(rows, minlength=resampling.n_groups)
        parts = [
            (of_groups @ counts.T).T / (counts @ size)[:, None]
            for counts in resampling.group_counts()
        ]
        return np.concatenate(parts).reshape(-1, self.columns, self.n_bins)


def _bin_edges(p: np.ndarray, n_bins: int, adaptive: bool) -> np.ndarray:
    """Bins of equal width on [0, 1], or of equal mass (possibly fewer, because ties stay
    together).
    """
    if not adaptive:
        return np.linspace(0, 1, n_bins + 1)
    inner = np.unique(np.quantile(p, np.arange(1, n_bins) / n_bins, method="inverted_cdf"))
    return np.concatenate([[0.0], inner[inner < p.max()], [1.0]])


def with_top_label(p: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prepend the top label's probability and outcome to those of all classes."""
    top = p.argmax(axis=1)[:, None]
    first = [np.take_along_axis(x, top, axis=1) for x in (p, outcomes)]
    return np.concatenate([first[0], p], axis=1), np.concatenate([first[1], outcomes], axis=1)


def reliability_curves(
    q: Any,
    y_true: Any,
    *,
    n_bins: int = 15,
    groups: Any = None,
    confidence: float = 0.95,
) -> dict[str, ReliabilityCurve]:
    """Reliability curve of each class's probability by class name and, for multiclass data, of the
    ``"top label"``.

    Parameters
    ----------
    q, y_true, n_bins, groups
        As for `calibration_errors`.
    confidence : float
        Of the intervals of the frequency in each bin: Clopper–Pearson, or with ``groups``
        t-intervals over the groups of the bin.

    Returns
    -------
    dict of ReliabilityCurve

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    >>> curves = reliability_curves(p, [0, 1, 1, 1], n_bins=2)
    >>> curves["1"].forecast, curves["1"].frequency
    (array([0.1, 0.7]), array([0.5, 1. ]))
    """
    check_positive(n_bins, "n_bins")
    y_true, groups = same_rows(q, y_true=y_true, groups=groups)
    p, outcomes, class_names, exclusive = forecasts(q, y_true)
    if exclusive:
        p, outcomes = with_top_label(p, outcomes)
    labels = ("top label", *class_names) if exclusive else class_names
    binned = Binned(p, outcomes, [n_bins] * p.shape[1], adaptive=False)
    count, hits, total = binned.sums(np.ones_like(p)), binned.sums(binned.outcomes), binned.sums(p)
    check_confidence(confidence)
    code, _ = group_codes(groups, len(p))
    if code is None:
        low, high = binomial_interval(hits, count, confidence)
    else:
        low, high = _bin_intervals_over_groups(binned, code, confidence)
    there = count > 0
    means = [np.where(there, x / np.where(there, count, 1), 0) for x in (total, hits)]
    return {
        label: ReliabilityCurve(
            means[0][c, there[c]],
            means[1][c, there[c]],
            low[c, there[c]],
            high[c, there[c]],
            count[c, there[c]].astype(np.int64),
            binned.edges[c],
            float(np.abs(binned.gaps[c]).sum()),
        )
        for c, label in enumerate(labels)
    }


def _bin_intervals_over_groups(
    binned: Binned, code: np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of the frequency in each bin, (columns, n_bins); from 0 to 1 without cases."""
    low, high = np.zeros((binned.columns, binned.n_bins)), np.ones((binned.columns, binned.n_bins))
    for column in range(binned.columns):
        for b in np.unique(binned.bin[:, column]):
            here = binned.bin[:, column] == b
            share = share_estimate(binned.outcomes[here, column], code[here], confidence)
            low[column, b], high[column, b] = share.low, share.high
    return low, high
