"""Instances in blocks: the same bits as in one piece, whatever the shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine.blocks import in_blocks, library_of


@pytest.mark.parametrize("shape", [(7,), (5, 4), (2, 3, 4)])
@pytest.mark.parametrize("size", [1, 40, 10**6])
def test_blocks_are_put_together(shape: tuple[int, ...], size: int) -> None:
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (2, *shape)))
    blocks = []

    def f(part: Any) -> Any:
        blocks.append(part.batch_shape)
        return (part.mean(), part.mean()[..., 0]), None, (part.probs.max(axis=0),)

    (mean, first), nothing, (largest,) = in_blocks(f, q, size)
    np.testing.assert_array_equal(mean, q.mean())
    np.testing.assert_array_equal(first, q.mean()[..., 0])
    np.testing.assert_array_equal(largest, q.probs.max(axis=0))
    assert nothing is None
    assert (len(blocks) == 1) == (size == 10**6)


def test_where_the_values_are(optional: Any) -> None:
    p = np.full((2, 4, 2), 0.5)
    da, torch = optional("dask.array"), optional("torch")
    assert [library_of(lw.Ensemble(x)) for x in (p, da.from_array(p), torch.tensor(p))] == [
        "numpy",
        "dask",
        "other",
    ]
