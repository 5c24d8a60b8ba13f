"""Distributions and stored predictions, a block of instances at a time: what needs only means and
sums of the members never holds a copy of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from .._arrays import Array
from .._engine.blocks import library_of, row_blocks
from ..distributions import Distribution
from .predictions import Predictions

BLOCK = 1 << 19  # numbers (members × instances × classes); no result depends on it


def blocks_of(q: Distribution | Predictions) -> Iterator[tuple[Any, Distribution]]:
    """All instances in order, in blocks along their first axis, each with its place.

    Predictions are read from their files block by block. Values of other array libraries than NumPy
    are one block: their own tasks or devices divide the work.
    """
    if isinstance(q, Predictions) and q.q is not None:
        q = q.q
    if isinstance(q, Predictions):
        n, n_numbers = len(q), prod(q.shape)
    elif q.batch_shape and library_of(q) == "numpy":
        n, n_numbers = len(q), q.n_numbers
    else:
        n, n_numbers = 0, 0
    if n_numbers <= BLOCK:
        yield ..., q.distribution() if isinstance(q, Predictions) else q
        return
    for rows in row_blocks(n, n_numbers // n, BLOCK):
        if isinstance(q, Predictions):
            with q.naming_rows(rows):
                part = q.read(rows.start, rows.stop).distribution()
            yield rows, part
        else:
            yield rows, q[rows]


def in_blocks_of(
    f: Callable[[Distribution], tuple[Array, ...]], q: Distribution | Predictions
) -> tuple[Array, ...]:
    """``f(q)``, arrays with the instances first, from the blocks of ``q``. Memory: the result."""
    results: list[np.ndarray] = []
    for rows, block in blocks_of(q):
        parts = f(block)
        if rows is ...:
            return parts
        if not results:
            results = [np.empty((len(q), *part.shape[1:]), part.dtype) for part in parts]
        for result, part in zip(results, parts, strict=True):
            result[rows] = part
    return tuple(results)
