"""Evaluate equations for all instances of a distribution, by the fastest road there is.

A distribution that has a kernel for the loss uses it (`Distribution.fast`). Everything else of
NumPy goes in blocks of instances, so that no temporary has the size of the predictions; Dask arrays
become one task for each block.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, TypeAlias

from .._arrays import Array, Arrays
from .blocks import in_blocks, in_tasks, library_of

BLOCK = 1 << 17  # numbers of a block that are held at once; some dozen arrays of that size are made


class Computed(NamedTuple):
    """Total, aleatoric and epistemic uncertainty; where they came along, their error bounds, the
    sums and the joint measures.
    """

    parts: Arrays
    error: Arrays | None = None
    sums: Arrays | None = None
    joint: Arrays | None = None


Distribution: TypeAlias = Any
"""A `labelwise.distributions.Distribution`, which stands above this module."""


def compute(
    equations: Callable[[Distribution], Computed],
    q: Distribution,
    fast: Callable[[Distribution], Computed | None] | None = None,
) -> Computed:
    """``fast(q)`` where there is a kernel, else ``equations(q)`` in blocks or tasks."""
    if fast is not None:
        computed = fast(q)
        if computed is not None:
            return computed

    def of_block(block: Distribution) -> Computed:
        return compute(equations, block, fast)

    library = library_of(q)
    if library == "dask":
        return Computed(*in_tasks(of_block, q))
    if library == "numpy" and q.n_numbers > BLOCK and prod(q.batch_shape) > 1:
        return Computed(*in_blocks(of_block, q, BLOCK))
    return equations(q)


def evaluate_law(f: Callable[[Any], Array], q: Distribution, events: Any = None) -> Array:
    """``f`` of the law of the ``events`` under ``q``, an array, for all instances."""

    def equations(q: Distribution) -> Computed:
        return Computed((f(q.marginal(events)),))

    (values,) = compute(equations, q).parts
    return values
