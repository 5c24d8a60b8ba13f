"""Reliability curves for the top label and for each class.

Forecasts are binned. The gap of a bin is its number of occurrences minus the sum of its forecasts,
divided by the number of all instances; the calibration error is the sum of the absolute gaps. Gaps
are linear in the instances, so a (cluster) bootstrap is one sparse matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array
from .._engine.blocks import row_blocks
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
    """Forecasts (N, columns) of binary outcomes, in bins of each column's own.

    With several numbers of bins at once, the edges of all of them cut a column into cells: every
    bin is a row of cells, so that one pass over the instances serves all ``binnings``. Beside the
    tables it is made of, it holds a byte for each of their numbers.
    """

    def __init__(
        self, forecast: np.ndarray, outcomes: np.ndarray, binnings: Sequence[int], adaptive: bool
    ) -> None:
        self.forecast, self.outcomes = forecast, outcomes
        self.n, self.columns = forecast.shape
        self.n_cells = sum(binnings) - len(binnings) + 1
        self.n_places = self.columns * self.n_cells
        self.cell = np.empty(forecast.shape, np.min_scalar_type(self.n_cells))
        """(N, columns): the cell of each forecast, from 0 in each column."""
        same = [_inner_edges(forecast[:, 0], binnings, adaptive)] * self.columns
        self.edges = same
        """For each column the inner edges of each number of bins."""
        if adaptive:
            self.edges = [_inner_edges(column, binnings, adaptive) for column in forecast.T]
            for column, edges in enumerate(self.edges):
                self.cell[:, column] = np.searchsorted(_united(edges), forecast[:, column])
        else:
            for rows in row_blocks(*forecast.shape):
                self.cell[rows] = np.searchsorted(_united(same[0]), forecast[rows])
        # Where in (columns · cells) the bins begin, and which of the bins begin a column.
        self._starts = []
        for i in range(len(binnings)):
            first = np.zeros((self.columns, self.n_cells), bool)
            first[:, 0] = True
            for column, edges in enumerate(self.edges):
                first[column, 1 + np.searchsorted(_united(edges), edges[i])] = True
            bins = np.flatnonzero(first)
            self._starts.append((bins, np.flatnonzero(bins % self.n_cells == 0)))

    def places(self, rows: Any) -> np.ndarray:
        """The places in (columns · cells) of some instances' forecasts, (n, columns)."""
        return np.asarray(self.cell[rows] + self.n_cells * np.arange(self.columns))

    def sums(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` (N, columns) over the instances of each cell, (columns, cells)."""
        sums = np.zeros(self.columns * self.n_cells)
        carried = np.arange(len(sums))  # so that blocks of any size give the same bits
        for rows in row_blocks(self.n, self.columns):
            places = np.append(carried, self.places(rows))
            sums = np.bincount(places, np.append(sums, x[rows]))
        return sums.reshape(self.columns, self.n_cells)

    @cached_property
    def gaps(self) -> np.ndarray:
        """(columns, cells)."""
        return np.asarray((self.sums(self.outcomes) - self.sums(self.forecast)) / self.n)

    def errors(self, gaps: np.ndarray) -> np.ndarray:
        """Sums of the bins' absolute gaps, (..., binnings, columns), from gaps of the cells, (...,
        columns, cells).
        """
        gaps = gaps.reshape(*gaps.shape[:-2], -1)
        errors = []
        for bins, columns in self._starts:
            of_bins = np.abs(np.add.reduceat(gaps, bins, axis=-1))
            errors.append(np.add.reduceat(of_bins, columns, axis=-1))
        return np.stack(errors, axis=-2)

    def bootstrap_gaps(self, resampling: Resampling) -> Iterator[np.ndarray]:
        """`gaps` in some replicates after others, (replicates, columns, cells)."""
        from scipy.sparse import csr_array, eye_array, vstack

        carried = eye_array(self.n_places, format="csr")  # blocks of any size give the same bits
        for counts in resampling.counts(max(self.n, self.n_places)):
            sums = np.zeros((self.n_places, len(counts)))
            for rows in row_blocks(self.n, self.columns):
                differences = self.outcomes[rows] - self.forecast[rows]
                ends = np.arange(len(differences) + 1) * self.columns
                parts = differences.ravel(), self.places(rows).ravel(), ends
                of_rows = csr_array(parts, shape=(len(differences), self.n_places))
                sums = vstack([carried, of_rows], "csr").T @ np.vstack([sums, counts[:, rows].T])
            yield (sums.T / counts.sum(axis=1)[:, None]).reshape(-1, self.columns, self.n_cells)

    def sums_of_groups(
        self, order: np.ndarray, ends: np.ndarray, outcomes: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Sums of outcomes minus forecasts over groups of instances, (groups, columns · cells).

        A group is what stands in ``order`` between two of the ``ends``; ``outcomes`` gives those of
        some instances.
        """
        sums = np.empty((len(ends) - 1, self.n_places))
        for groups in row_blocks(len(sums), self.columns * (self.n // len(sums) + 1)):
            sizes = np.diff(ends[groups.start : groups.stop + 1])
            rows = order[ends[groups.start] : ends[groups.stop]]
            first = np.repeat(self.n_places * np.arange(len(sizes)), sizes)
            differences = outcomes(rows) - self.forecast[rows]
            places = self.places(rows) + first[:, None]
            of_block = np.bincount(places.ravel(), differences.ravel(), minlength=sums[groups].size)
            sums[groups] = of_block.reshape(len(sizes), self.n_places)
        return sums

    def resampled_gaps(
        self, sums: np.ndarray, sizes: np.ndarray, resampling: Resampling
    ) -> np.ndarray:
        """`gaps` of all replicates, (replicates, columns, cells), from sums of groups."""
        drawn = np.concatenate(
            [counts @ sums / (counts @ sizes)[:, None] for counts in resampling.group_counts()]
        )
        return drawn.reshape(-1, self.columns, self.n_cells)


def _inner_edges(p: np.ndarray, binnings: Sequence[int], adaptive: bool) -> list[np.ndarray]:
    """The edges between bins, for each number of them: of equal width on [0, 1], or of equal mass
    (possibly fewer, because ties stay together).
    """
    if not adaptive:
        return [np.linspace(0, 1, n + 1)[1:-1] for n in binnings]
    shares = np.concatenate([np.arange(1, n) / n for n in binnings])
    quantiles = np.quantile(p, shares, method="inverted_cdf")
    ends = np.cumsum(np.asarray(binnings) - 1)[:-1]
    highest = p.max()
    edges = []
    for of_binning in np.split(quantiles, ends):
        inner = np.unique(of_binning)
        edges.append(inner[inner < highest])
    return edges


def _united(edges: list[np.ndarray]) -> np.ndarray:
    """The edges of all numbers of bins."""
    return np.unique(np.concatenate(edges))


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
    binned = Binned(p, outcomes, [n_bins], adaptive=False)
    count = binned.sums(np.broadcast_to(1.0, p.shape))
    hits, total = binned.sums(outcomes), binned.sums(p)
    check_confidence(confidence)
    code, _ = group_codes(groups, len(p))
    if code is None:
        low, high = binomial_interval(hits, count, confidence)
    else:
        low, high = _bin_intervals_over_groups(binned, code, confidence)
    there = count > 0
    edges = np.concatenate([[0.0], *binned.edges[0], [1.0]])
    errors = binned.errors(binned.gaps)[0]
    means = [np.where(there, x / np.where(there, count, 1), 0) for x in (total, hits)]
    return {
        label: ReliabilityCurve(
            means[0][c, there[c]],
            means[1][c, there[c]],
            low[c, there[c]],
            high[c, there[c]],
            count[c, there[c]].astype(np.int64),
            edges,
            float(errors[c]),
        )
        for c, label in enumerate(labels)
    }


def _bin_intervals_over_groups(
    binned: Binned, code: np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of the frequency in each bin, (columns, n_bins); from 0 to 1 without cases."""
    low = np.zeros((binned.columns, binned.n_cells))
    high = np.ones_like(low)
    for column in range(binned.columns):
        cell = binned.cell[:, column]
        for b in np.unique(cell):
            here = cell == b
            share = share_estimate(binned.outcomes[here, column], code[here], confidence)
            low[column, b], high[column, b] = share.low, share.high
    return low, high
