"""Which cases are embedded with their members, or with an image: some of every stratum, and weights
that make sums over them unbiased.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some rows, increasing, each with 1 / its probability to be among them."""

    rows: np.ndarray
    weight: np.ndarray


def number_strata(keys: Sequence[np.ndarray], most: int) -> np.ndarray:
    """The stratum of each row, 0, 1, …: its combination of keys, which are at least -1. Keys are
    left out from the front until there are at most ``most`` strata.
    """
    for first in range(len(keys)):
        code = np.zeros(len(keys[0]), np.int64)
        for key in keys[first:]:
            code = code * (int(key.max()) + 2) + key + 1
        _, code = np.unique(code, return_inverse=True)
        if code.max() < most:
            return code
    return np.zeros(len(keys[0]), np.int64)


def choose_rows(
    stratum: np.ndarray, scores: Sequence[np.ndarray], most: int, luck: np.ndarray
) -> Chosen:
    """At most ``most`` rows, the same number of each stratum as far as it has them.

    The first half of a stratum's rows are its highest by one score after another (-inf: never
    first); the others are those of the rest with the smallest ``luck``, random numbers.
    """
    size = np.bincount(stratum)
    quota = np.minimum(size, _rows_of_each_stratum(size, most))
    n_first = quota // 2
    ranks = []
    for i, score in enumerate(scores):
        rank = _place_in_stratum(stratum, -score) * len(scores) + i
        ranks.append(np.where(score > -np.inf, rank, np.inf))
    priority = np.min(ranks, axis=0)
    first = _place_in_stratum(stratum, priority) < n_first[stratum]
    place = _place_in_stratum(stratum, np.where(first, -1.0, luck))
    chosen = place < quota[stratum]
    rest = np.maximum(quota - n_first, 1)
    weight = np.where(first, 1.0, ((size - n_first) / rest)[stratum])
    rows = np.flatnonzero(chosen)
    return Chosen(rows, weight[rows])


def _rows_of_each_stratum(size: np.ndarray, most: int) -> int:
    """The largest share s with Σ min(size, s) ≤ ``most``; at least 1."""
    shares = range(1, int(size.max(initial=0)) + 1)
    return max(bisect_right(shares, most, key=lambda share: np.minimum(size, share).sum()), 1)


def _place_in_stratum(stratum: np.ndarray, key: np.ndarray) -> np.ndarray:
    """The place 0, 1, … of each row in its stratum, by increasing key."""
    order = np.lexsort((key, stratum))
    size = np.bincount(stratum)
    start = np.cumsum(size) - size
    place = np.empty(len(stratum), np.int64)
    place[order] = np.arange(len(stratum)) - start[stratum[order]]
    return place
