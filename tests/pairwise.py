"""Few combinations in which every two values meet: most faults need no more than two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any


def pairwise(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations of one value of each axis, in which any two values of two axes meet.

    Greedy and deterministic: always the combination with the most pairs that are still missing.
    """
    left = set(_pairs_of_axes(axes))
    everything = list(product(*(range(len(axis)) for axis in axes)))
    chosen = []
    while left:
        best = max(everything, key=lambda row: len(left.intersection(_pairs(row))))
        left.difference_update(_pairs(best))
        chosen.append(tuple(axis[i] for axis, i in zip(axes, best, strict=True)))
    return chosen


def _pairs(row: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    return combinations(enumerate(row), 2)


def _pairs_of_axes(axes: Sequence[Sequence[Any]]) -> Iterator[tuple[tuple[int, int], ...]]:
    for (a, first), (b, second) in combinations(enumerate(axes), 2):
        for i, j in product(range(len(first)), range(len(second))):
            yield (a, i), (b, j)
