"""Reliability curves for the top label and for each class.

Forecasts are binned. The gap of a bin is its number of occurrences minus the sum of its forecasts,
divided by the number of all instances; the calibration error is the sum of the absolute gaps. Gaps
are linear in the instances, so a (cluster) bootstrap is one matrix product for each class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array
from .._frames import same_rows
from .._resampling import check_confidence, group_codes, share_estimate
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


class BinnedForecasts:
    """Forecasts (N,) of a binary outcome in bins: of equal width on [0, 1], or (``adaptive``) of
    equal mass, possibly fewer, because ties stay together.

    With several numbers of bins at once, the edges of all of them cut the forecasts into cells:
    every bin is a row of cells, so that sums over the cells serve all ``binnings``.
    """

    def __init__(
        self, forecast: np.ndarray, outcome: np.ndarray, binnings: Sequence[int], adaptive: bool
    ) -> None:
        self.forecast, self.outcome = forecast, outcome
        self.edges = []
        """The inner edges of each number of bins."""
        for n_bins in binnings:
            inner = np.arange(1, n_bins) / n_bins
            if adaptive:
                inner = np.unique(np.quantile(forecast, inner, method="inverted_cdf"))
                inner = inner[inner < forecast.max()]
            self.edges.append(inner)
        cuts = np.unique(np.concatenate(self.edges))
        self.n_cells = sum(binnings) - len(binnings) + 1
        self.cell = np.searchsorted(cuts, forecast)
        """(N,): the cell of each forecast; the upper edge belongs to it."""
        self._starts = [np.append(0, 1 + np.searchsorted(cuts, edges)) for edges in self.edges]

    def sums(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` (N,) over the instances of each cell, (cells,)."""
        return np.bincount(self.cell, x, self.n_cells)

    def sums_by_unit(self, unit: np.ndarray, n_units: int) -> np.ndarray:
        """Outcomes minus forecasts, summed over the instances of each unit in each cell, (units,
        cells).
        """
        place = self.n_cells * unit + self.cell
        sums = np.bincount(place, self.outcome - self.forecast, self.n_cells * n_units)
        return sums.reshape(n_units, self.n_cells)

    @cached_property
    def gaps(self) -> np.ndarray:
        """(cells,)."""
        return self.sums(self.outcome - self.forecast) / len(self.cell)

    def errors(self, gaps: np.ndarray) -> np.ndarray:
        """Sums of the bins' absolute gaps, (..., binnings), from gaps of the cells, (...,
        cells).
        """
        bins = (np.add.reduceat(gaps, starts, axis=-1) for starts in self._starts)
        return np.stack([np.abs(gaps_of_bins).sum(axis=-1) for gaps_of_bins in bins], axis=-1)


def forecasts_to_bin(
    p: np.ndarray, outcomes: np.ndarray, exclusive: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Forecast and outcome (N,) of the top label, if the classes exclude each other, and of each
    class.
    """
    if exclusive:
        top = np.arange(len(p)), p.argmax(axis=1)
        yield p[top], outcomes[top]
    yield from zip(p.T, outcomes.T, strict=True)


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
    check_confidence(confidence)
    y_true, groups = same_rows(q, y_true=y_true, groups=groups)
    p, outcomes, class_names, exclusive = forecasts(q, y_true)
    labels = ("top label", *class_names) if exclusive else class_names
    code, _ = group_codes(groups, len(p))
    curves = {}
    for label, (forecast, outcome) in zip(
        labels, forecasts_to_bin(p, outcomes, exclusive), strict=True
    ):
        binned = BinnedForecasts(forecast, outcome, [n_bins], adaptive=False)
        bins = []
        for b in np.unique(binned.cell):
            here = binned.cell == b
            share = share_estimate(outcome[here], code[here], confidence)
            bins.append((forecast[here].mean(), share.value, share.low, share.high, here.sum()))
        mean, frequency, low, high, count = map(np.array, zip(*bins, strict=True))
        edges = np.concatenate([[0.0], *binned.edges, [1.0]])
        error = float(binned.errors(binned.gaps)[0])
        curves[label] = ReliabilityCurve(mean, frequency, low, high, count, edges, error)
    return curves
