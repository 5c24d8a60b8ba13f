"""The fast path for NumPy ensembles: a native kernel, or its NumPy twin where it could not be built.

Both give label-wise TU, AU and EU, their sums over the labels and, for log loss, the joint measures from one pass over the
predictions, in blocks, so that no temporary has the size of the input. This is the only performance-motivated code in the package;
the formulas are those of `labelwise.losses`, to a few units in the last place.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np


def _native() -> Any:
    """The compiled kernel; ``None`` if it could not be built here, or LABELWISE_KERNEL=numpy asks for the twin."""
    if os.environ.get("LABELWISE_KERNEL") == "numpy":
        return None
    try:
        return importlib.import_module(f"{__name__}._fused")
    except ImportError:
        return None


_fused = _native()

NATIVE_SIZE = 1 << 18
"""Predictions (members x instances x classes) from which on several threads pay; measured by benchmarks/run.py."""
_LOSSES = {"log": 0, "squared": 1}
_pools: dict[int, ThreadPoolExecutor] = {}


def kernel_info() -> dict[str, Any]:
    """Which kernel computes ensembles of NumPy arrays, for which instruction set, with how many threads.

    >>> sorted(kernel_info())
    ['kernel', 'target', 'threads']
    """
    if _fused is None:
        return {"kernel": "numpy", "target": "numpy", "threads": thread_count()}
    return {"kernel": "native", "target": _fused.target(), "threads": thread_count()}


def thread_count(threads: int | None = None) -> int:
    """How many threads to use: the argument, else LABELWISE_THREADS, else one per available core."""
    if threads is None:
        asked = os.environ.get("LABELWISE_THREADS")
        if asked is None:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
        threads = int(asked) if asked.isdigit() else -1
        if threads < 1:
            raise ValueError(f"LABELWISE_THREADS must be a whole number, at least 1; got {asked!r}")
    if not isinstance(threads, int | np.integer) or threads < 1:
        raise ValueError(f"`threads` must be a whole number, at least 1; got {threads!r}")
    return int(threads)


@dataclass(frozen=True, eq=False)
class Split:
    """Results for N instances of K classes: label-wise (N, K), sums (N,) and, for log loss, joint (N,)."""

    labelwise: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    sums: tuple[np.ndarray, np.ndarray, np.ndarray]
    joint: tuple[np.ndarray, np.ndarray, np.ndarray]
    status: int
    """0, or what a check found: 1 a value outside [0, 1], 2 a sum that is not 1."""


def split(
    loss: str,
    probs: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    unit: float = 1.0,
    labelwise: bool = True,
    tolerance: float | None = None,
    threads: int | None = None,
) -> Split:
    """Uncertainty of ``probs`` (M, N, K) under "log" (in bits times ``unit``) or "squared" loss.

    ``weights`` are (M,) or (M, N) and sum to 1 over the members. With ``tolerance`` the values are checked in the same pass.
    """
    m, n, k = probs.shape
    kind, dtype = _kind(probs)
    class_major = _class_major(probs)
    shape = (k, n) if class_major else (n, k)
    parts = [np.empty(shape, dtype) if labelwise else None for _ in range(3)]
    joint = 3 if loss == "log" else 0
    totals: list[np.ndarray | None] = [np.empty(n, dtype) if j < 3 + joint else None for j in range(6)]
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype) if weights.ndim == 1 else weights.astype(dtype, copy=False)
    heaviest = 0 if weights is None or weights.ndim == 2 else int(np.argmax(weights))
    outputs = (*parts, *totals)

    def work(start: int, stop: int) -> int:
        if _fused is None:
            from .numpy_twin import split_range

            return split_range(loss, probs, weights, heaviest, unit, class_major, tolerance, start, stop, outputs)
        return int(
            _fused.split(
                _LOSSES[loss], dtype == np.float64, kind, probs, weights, heaviest, unit, class_major,
                -1.0 if tolerance is None else tolerance, start, stop, outputs,
            )
        )  # fmt: skip

    status = _in_ranges(work, n, m * k, threads)
    if tolerance is not None and status == 0:
        status = check(probs, tolerance, threads=threads)
    arrays = tuple(x.T if class_major else x for x in parts if x is not None)
    sums = tuple(totals[:3])
    return Split(arrays or None, sums, tuple(totals[3:]) if joint else sums, status)  # type: ignore[arg-type]


def check(probs: np.ndarray, tolerance: float, *, sum_to_one: bool = True, threads: int | None = None) -> int:
    """0 if ``probs`` (M, N, K) holds probabilities; 1 if a value is outside [0, 1] or NaN; 2 if a sum over K is not 1."""
    m, n, k = probs.shape
    kind, dtype = _kind(probs)
    class_major = _class_major(probs)

    def work(start: int, stop: int) -> int:
        if _fused is None:
            from .numpy_twin import check_range

            return check_range(probs, tolerance, sum_to_one, start, stop)
        return int(_fused.check(dtype == np.float64, kind, probs, class_major, sum_to_one, tolerance, start, stop))

    return _in_ranges(work, n, m * k, threads)


def _kind(probs: np.ndarray) -> tuple[int, np.dtype[Any]]:
    """How the predictions are stored (0: as they are computed, 1: half, 2: bfloat16) and the type to compute in."""
    if probs.dtype == np.float64:
        return 0, np.dtype(np.float64)
    if probs.dtype == np.float32:
        return 0, np.dtype(np.float32)
    return (1 if probs.dtype == np.float16 else 2), np.dtype(np.float32)


def _class_major(probs: np.ndarray) -> bool:
    """Whether instances lie side by side and classes apart (members x classes x pixels)."""
    return probs.strides[1] == probs.itemsize and probs.strides[2] != probs.itemsize and probs.shape[1] > 1


def _in_ranges(work: Callable[[int, int], int], n: int, per_instance: int, threads: int | None) -> int:
    """Run ``work`` over all instances, on several threads where the input is large enough; the largest status wins."""
    count = thread_count(threads) if n * per_instance >= NATIVE_SIZE else 1
    if count == 1 or n == 1:
        return work(0, n)
    small = n * per_instance < 16 * NATIVE_SIZE  # no more hand-overs than needed; this thread does its share
    pieces = min(n, count if small else 4 * count)
    ends = [n * i // pieces for i in range(pieces + 1)]
    waiting = [_pool(count).submit(work, *piece) for piece in pairwise(ends[small:])]
    own = work(0, ends[1]) if small else 0
    return max([own, *(piece.result() for piece in waiting)])


def _pool(count: int) -> ThreadPoolExecutor:
    if count not in _pools:
        _pools[count] = ThreadPoolExecutor(count, thread_name_prefix="labelwise")
    return _pools[count]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)
