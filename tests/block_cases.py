"""How much memory a call takes, and whether its result depends on how the work is cut into
blocks.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise import _resampling
from labelwise._engine import blocks as tables
from labelwise.evaluation import ensemble_health, intervals
from labelwise.io import blocks

SMALL = 1 << 13


def use_blocks(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks have about ``size`` numbers."""
    monkeypatch.setattr(tables, "TABLE_BLOCK", size)
    monkeypatch.setattr(intervals, "INSTANCE_BLOCK", size)
    monkeypatch.setattr(blocks, "BLOCK", size)


def peak_with_small_blocks(f: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """The most that ``f`` allocates at once, its result included, with blocks that are as small
    beside the predictions of a test as the usual ones are beside a gigabyte.
    """
    use_blocks(SMALL, monkeypatch)
    monkeypatch.setattr(_resampling, "COUNTS_PER_BLOCK", SMALL)
    monkeypatch.setattr(ensemble_health, "MAX_INSTANCES", 50)
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def labeled_ensemble(
    n: int = 20_000, k: int = 20, dtype: str = "float32"
) -> tuple[lw.Ensemble, np.ndarray]:
    """Five members and the true classes; sums of many numbers in double precision are rounded."""
    rng = np.random.default_rng(0)
    probs = rng.gamma(0.5, size=(5, n, k)).astype(dtype) + 0.01
    probs += 3 * probs[:1]
    probs /= probs.sum(axis=-1, keepdims=True)
    y = rng.integers(0, k, n)
    right = rng.random(n) < 0.5
    y[right] = probs.mean(axis=0).argmax(axis=-1)[right]
    return lw.Ensemble(probs), y


def check_same_bits(f: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """``f()`` is bit-identical for blocks of any size and any number of threads."""
    wanted = list(_numbers(f()))
    assert wanted
    for size, threads in ((64, "1"), (1000, "2"), (1 << 15, "3")):
        use_blocks(size, monkeypatch)
        monkeypatch.setenv("LABELWISE_THREADS", threads)
        for expected, found in zip(wanted, _numbers(f()), strict=True):
            np.testing.assert_array_equal(found, expected)


def _numbers(result: Any) -> Iterator[np.ndarray]:
    """All numbers of a result."""
    if is_dataclass(result):
        result = [getattr(result, field.name) for field in fields(result)]
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, list | tuple):
        for part in result:
            yield from _numbers(part)
    elif isinstance(result, float | int | np.ndarray | np.generic):
        yield np.asarray(result)
