"""Numbers as bins of few bytes. The edges are chosen here, and all thresholds of the page are
edges, so that its counts are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Tail = Literal["high", "low"] | None
DIGITS = 5  # of the mean of a bin
GRID_SHARE = 4  # one edge in four is on an even grid, the others are at quantiles


@dataclass(frozen=True, eq=False)
class Binned:
    """Numbers as bins: the value of code i is at least ``edges[i]`` and below ``edges[i + 1]``; the
    last bin is closed.
    """

    codes: np.ndarray
    """As ``values``; -1 for NaN."""
    edges: np.ndarray
    centers: np.ndarray
    """The mean of the values in each bin."""


def bin_numbers(values: np.ndarray, most: int, tail: Tail = None) -> Binned:
    """At most ``most`` bins; none of them is empty.

    Each value has its own bin if there are few. Else a value that many share has one, and the other
    edges are at quantiles and on an even grid. Towards the ``tail``, where thresholds are,
    quantiles are finer.

    >>> binned = bin_numbers(np.array([0.0, 0.26, 0.71, 0.26]), 4)
    >>> binned.codes, binned.edges, binned.centers
    (array([0, 1, 2, 1]), array([0. , 0.2, 0.7, 1. ]), array([0.  , 0.26, 0.71]))
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    starts = np.arange(len(distinct))
    if len(distinct) > most:
        starts = _starts_of_bins(distinct, counts, most, tail)
    return _bins_from(values, distinct, starts)


def bin_at(values: np.ndarray, wanted: np.ndarray) -> Binned:
    """Bins whose edges separate the values as ``wanted`` does; none of them is empty."""
    distinct = np.unique(values[~np.isnan(values)])
    return _bins_from(values, distinct, np.append(0, np.searchsorted(distinct, wanted)))


def _starts_of_bins(distinct: np.ndarray, counts: np.ndarray, most: int, tail: Tail) -> np.ndarray:
    """Which of the distinct values begin a bin."""
    n = counts.sum()
    common = np.flatnonzero(counts > GRID_SHARE * n / most)
    left = most - 2 * len(common) - 1
    n_grid = left // GRID_SHARE
    n_levels = left - n_grid
    grid = np.linspace(distinct[0], distinct[-1], n_grid + 1)[1:-1]
    levels = np.arange(1, n_levels + 1) / (n_levels + 1)
    if tail == "high":
        levels = 1 - levels[::-1] ** 2
    elif tail == "low":
        levels = levels**2
    at_levels = np.searchsorted(np.cumsum(counts), levels * n, side="right")
    return np.concatenate([[0], common, common + 1, np.searchsorted(distinct, grid), at_levels])


def _bins_from(values: np.ndarray, distinct: np.ndarray, starts: np.ndarray) -> Binned:
    """The bins that begin at some of the distinct values; their edges have few digits."""
    codes = np.full(values.shape, -1)
    if not distinct.size:
        return Binned(codes, np.array([0.0, 1.0]), np.array([0.0]))
    starts = np.unique(starts[starts < len(distinct)])
    below = np.append(-np.inf, distinct[starts[1:] - 1])
    edges = short_decimals(below, distinct[starts].astype(float))
    top = max(float(distinct[-1]), np.nextafter(edges[-1], np.inf))
    edges = np.append(edges, -short_decimals(np.array([-np.inf]), np.array([-top])))
    known = ~np.isnan(values)
    found = np.searchsorted(edges[:-1], values[known], side="right") - 1
    codes[known] = found
    centers = np.bincount(found, values[known]) / np.bincount(found)
    return Binned(codes, edges, np.array([float(f"{x:.{DIGITS}g}") for x in centers]))


def short_decimals(below: np.ndarray, at_most: np.ndarray) -> np.ndarray:
    """Numbers with as few decimal places as lie above ``below`` and not above ``at_most``.

    >>> short_decimals(np.array([0.0, 0.123]), np.array([0.04, 0.1239]))
    array([0.04  , 0.1239])
    """
    found = np.array(at_most, float)
    for places in reversed(range(16)):  # if few are enough, more are
        rounded = np.floor(at_most * 10.0**places) / 10.0**places
        found = np.where((rounded > below) & (rounded <= at_most), rounded, found)
    return found + 0.0  # no negative zero
