"""Numbers as bins of few bytes. The edges are chosen here, and all thresholds of the page are edges,
so that its counts are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Tail = Literal["high", "low"] | None
DIGITS = 6  # of the mean of a bin
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
    edges are at quantiles and on an even grid. Towards the ``tail``, where thresholds are, quantiles
    are finer.

    >>> bin_numbers(np.array([0.0, 0.26, 0.71, 0.26]), 4)
    Binned(codes=array([0, 1, 2, 1]), edges=array([0.  , 0.2 , 0.7 , 0.71]), centers=array([0.  , 0.26, 0.71]))
    """
    known = ~np.isnan(values)
    present = values[known].astype(float)
    if not present.size:
        return Binned(np.full(values.shape, -1), np.array([0.0, 1.0]), np.array([0.0]))
    edges = choose_edges(present, most, tail)
    codes = np.full(values.shape, -1)
    found = np.searchsorted(edges[:-1], present, side="right") - 1
    codes[known] = found
    centers = np.bincount(found, present) / np.bincount(found)
    return Binned(codes, edges, significant(centers))


def choose_edges(present: np.ndarray, most: int, tail: Tail = None) -> np.ndarray:
    """Edges of at most ``most`` bins, as decimals with few digits."""
    distinct, counts = np.unique(present, return_counts=True)
    if len(distinct) <= most:
        starts = np.arange(len(distinct))
    else:
        common = np.flatnonzero(counts > GRID_SHARE * len(present) / most)
        left = most - 2 * len(common) - 1
        grid = np.linspace(distinct[0], distinct[-1], left // GRID_SHARE + 1)[1:-1]
        levels = np.arange(1, left - left // GRID_SHARE + 1) / (left - left // GRID_SHARE + 1)
        if tail == "high":
            levels = 1 - levels[::-1] ** 2
        elif tail == "low":
            levels = levels**2
        ranks = np.searchsorted(np.cumsum(counts), levels * len(present), side="right")
        parts = ([0], common, common + 1, np.searchsorted(distinct, grid), ranks)
        starts = np.unique(np.concatenate(parts).astype(int))
        starts = starts[starts < len(distinct)]
    below = np.append(-np.inf, distinct[starts[1:] - 1])
    edges = short_decimals(below, distinct[starts])
    top = max(distinct[-1], np.nextafter(edges[-1], np.inf))
    return np.append(edges, -short_decimals(np.array([-np.inf]), np.array([-top]))[0])


def short_decimals(below: np.ndarray, at_most: np.ndarray) -> np.ndarray:
    """Numbers with as few decimal places as lie above ``below`` and not above ``at_most``.

    >>> short_decimals(np.array([0.0, 0.123]), np.array([0.04, 0.1239]))
    array([0.04 , 0.1238])
    """
    found = np.array(at_most, float)
    waiting = np.ones(found.shape, bool)
    for places in range(16):
        rounded = np.floor(at_most * 10.0**places) / 10.0**places
        fits = waiting & (rounded > below) & (rounded <= at_most)
        found[fits] = rounded[fits]
        waiting &= ~fits
    return found + 0.0  # no negative zero


def significant(values: np.ndarray) -> np.ndarray:
    """Rounded to a few significant digits."""
    return np.array([float(f"{x:.{DIGITS}g}") for x in values.tolist()])
