"""The native kernel: label-wise TU, AU and EU of ensembles in main memory, where it could be built.

Their sums over the labels and, for log loss, the joint measures come from the same pass over the
predictions, in tiles, so that no temporary has the size of the input. The formulas are those of
`labelwise.losses`, to a few units in the last place; results below the smallest normal number may
become 0.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .blocks import row_blocks
from .compute import Computed


def _load_kernel() -> tuple[Any, str | None]:
    """The compiled kernel, or ``None`` where it could not be built or loaded, and why."""
    try:
        return importlib.import_module("labelwise._engine._kernel"), None
    except ModuleNotFoundError:
        return None, (
            "it was not compiled with this installation; `LABELWISE_BUILD=strict pip install "
            "--force-reinstall --no-deps .` in the folder of its source shows why"
        )
    except ImportError as error:
        return None, f"it could not be loaded: {error}"


native, _missing = _load_kernel()
"""The compiled kernel; ``None``: everything is computed by the general path."""
AVAILABLE: tuple[str, ...] = ("numpy",) if native is None else ("numpy", *native.levels())
"""The kernels of this machine, from slow to fast: none but NumPy, then the native kernel for each
level of instructions.
"""
level = os.environ.get("LABELWISE_KERNEL") or AVAILABLE[-1]
"""The one that is used: the fastest, which is the last, unless another is asked for."""
if level not in AVAILABLE:
    raise ValueError(
        f"LABELWISE_KERNEL must be one of {', '.join(AVAILABLE)} on this machine; got {level!r}. "
        "Unset it for the fastest"
    )
if level == "numpy":
    native = None

# Predictions (members x instances x classes) from which on two threads pay; each further one needs
# half as many.
SEVERAL = {
    "log": 1 << 16,
    "squared": 1 << 18,
    "spherical": 1 << 16,
    "cost": 1 << 17,
    "check": 1 << 18,
}
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def kernel_info() -> dict[str, Any]:
    """Which kernel computes ensembles of NumPy arrays, and with how many threads.

    ``"kernel"`` is ``"numpy"`` (no compiled code) or the instruction set of the compiled kernel:
    ``"baseline"``, or on x86-64 ``"v3"`` (AVX2) or ``"v4"`` (AVX-512). The environment variable
    LABELWISE_KERNEL, read at import, chooses another than the fastest. ``"missing"`` says why there
    is no compiled kernel, if there is none: results are the same, but computed more slowly.

    >>> sorted(kernel_info())[:2]
    ['kernel', 'threads']
    """
    info: dict[str, Any] = {"kernel": level, "threads": thread_count()}
    if native is not None and not native.threads():
        info["threads"] = 1
    if _missing is not None:
        info["missing"] = _missing
    return info


def usable_cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None = None) -> int:
    """How many threads to use: the argument, else LABELWISE_THREADS, else one per available
    core.
    """
    name = "`n_jobs`"
    wanted: Any = threads
    if threads is None:
        asked = os.environ.get("LABELWISE_THREADS")
        if asked is None:
            return usable_cores()
        name, wanted = "LABELWISE_THREADS", int(asked) if asked.isdigit() else asked
    if not isinstance(wanted, int | np.integer) or wanted < 1:
        raise ValueError(f"{name} must be a whole number, at least 1; got {wanted!r}")
    return int(wanted)


class EventLists(NamedTuple):
    """Events as sums of classes: ``positions`` of the classes of the first event, of its
    complement, of the second event, and so on.
    """

    offsets: np.ndarray
    """Where each of these lists begins, and the end, (2 E + 1,)."""
    positions: np.ndarray
    given: bool
    """Whether the classes of an event and its complement are not all: then their shares are
    taken.
    """


def split(
    loss: str,
    probs: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    unit: float = 1.0,
    labelwise: bool = True,
    threads: int | None = None,
    costs: np.ndarray | None = None,
    events: EventLists | None = None,
) -> Computed:
    """Uncertainty of ``probs`` (M, N, K) under "log" (in bits times ``unit``), "squared",
    "spherical" or "cost" loss.

    ``weights`` are (M,) or (M, N) and sum to 1 over the members. ``costs`` (4, K) are those of
    false positives and negatives, and the edges of the decision. With ``events`` the results are
    (N, E).

    Sums are (N,), as are the joint measures, which log and squared loss have.
    """
    _, n, k = probs.shape
    class_major, pieces, workers = _plan_of_job(probs, SEVERAL[loss], threads)
    dtype = _type_of_results(probs)
    offsets, positions, conditional = events or (None, None, False)
    labels, by_label = k, class_major  # results have the labels apart, too
    if events is not None:
        labels, by_label = len(events.offsets) // 2, True
    parts: tuple[np.ndarray, ...] | None = None
    if labelwise:
        shape = (labels, n) if by_label else (n, labels)
        parts = np.empty(shape, dtype), np.empty(shape, dtype), np.empty(shape, dtype)
    sums = np.empty(n, dtype), np.empty(n, dtype), np.empty(n, dtype)
    joint: tuple[np.ndarray, ...] | None = None
    if loss == "log":
        joint = np.empty(n, dtype), np.empty(n, dtype), np.empty(n, dtype)
    if weights is not None:
        weights = _weights_for_kernel(weights, probs, dtype)
    if costs is not None:
        costs = np.ascontiguousarray(costs, dtype)
    native.split(
        level=level,
        loss=loss,
        dtype=probs.dtype.char,
        probs=probs,
        weights=weights,
        unit=unit,
        costs=costs,
        offsets=offsets,
        positions=positions,
        conditional=conditional,
        class_major=class_major,
        labelwise=parts,
        sums=sums,
        joint=joint,
        pieces=pieces,
        workers=workers,
    )
    if parts is None:
        parts = ()
    elif by_label:
        parts = (parts[0].T, parts[1].T, parts[2].T)
    if loss == "squared":
        joint = sums
    if events is not None:
        joint = None
    return Computed(parts, None, sums, joint)


def _weights_for_kernel(weights: np.ndarray, probs: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Weights (M,) or (M, ...) of ``probs`` (M, N, K) as the kernel reads them."""
    if weights.ndim > 1:
        return weights.reshape(probs.shape[:2]).astype(dtype, copy=False)
    return np.require(weights, dtype, ["C", "A"])


def slopes(
    loss: str,
    probs: np.ndarray,
    weights: np.ndarray | None,
    given: Sequence[np.ndarray],
    *,
    unit: float = 1.0,
) -> np.ndarray:
    """Derivatives by ``probs`` (M, N, K), from those ``given`` by total, aleatoric and epistemic
    uncertainty (N, K), or by epistemic uncertainty alone, under "log" or "squared" loss.
    """
    _, pieces, workers = _plan_of_job(probs, SEVERAL["log"], None)
    dtype = _type_of_results(probs)
    if weights is not None:
        weights = _weights_for_kernel(weights, probs, dtype)
    result = np.empty(probs.shape, dtype)
    native.slopes(
        level=level,
        loss=loss,
        dtype=probs.dtype.char,
        probs=probs,
        weights=weights,
        unit=unit,
        given=tuple([np.ascontiguousarray(x, dtype) for x in given]),
        result=result,
        pieces=pieces,
        workers=workers,
    )
    return result


def flatten_instances(x: np.ndarray) -> np.ndarray | None:
    """(M, ..., K) as (M, N, K) on the same memory, or ``None`` where no such view exists; the bits
    of bfloat16, which has no buffer format.
    """
    if x.ndim != 3:
        n = prod(x.shape[1:-1])
        try:
            x = x.reshape(x.shape[0], n, x.shape[-1], copy=False)
        except ValueError:
            return None
    if x.dtype.char not in "dfe":
        x = x.view(np.uint16)
    return x


def holds_probabilities(x: np.ndarray, tolerance: float, sum_to_one: bool = True) -> bool:
    """Whether all values (M, ..., K) are known to be probabilities, in [0, 1], none of them NaN,
    with sums of 1 over K: from one pass. Only yes or no; `_validation.check_range` explains
    failures.
    """
    if native is None:
        return _holds_probabilities_in_numpy(x, tolerance, sum_to_one)
    view = flatten_instances(x)
    if view is None:
        return all(holds_probabilities(x[:, i], tolerance, sum_to_one) for i in range(x.shape[1]))
    class_major, pieces, workers = _plan_of_job(view, SEVERAL["check"], None)
    return native.check(
        level=level,
        dtype=view.dtype.char,
        probs=view,
        class_major=class_major,
        sum_to_one=sum_to_one,
        tolerance=tolerance,
        pieces=pieces,
        workers=workers,
    )


def _holds_probabilities_in_numpy(x: np.ndarray, tolerance: float, sum_to_one: bool) -> bool:
    if x.dtype.kind != "f":  # the bits of bfloat16
        return False
    wide = np.result_type(x, np.float32)
    for member in x:
        for rows in row_blocks(len(member), member[0].size):
            part = member[rows].astype(wide, copy=False)
            if not (part.min() >= 0 and part.max() <= 1 + tolerance):  # also for NaN
                return False
            if sum_to_one and np.any(np.abs(part.sum(axis=-1) - 1) > tolerance):
                return False
    return True


def _type_of_results(probs: np.ndarray) -> np.dtype[Any]:
    """Of float64, and of float32 for all others; "H" among the kernel's types are the bits of
    bfloat16.
    """
    return _DOUBLE if probs.dtype.char == "d" else _SINGLE


def _plan_of_job(probs: np.ndarray, several: int, threads: int | None) -> tuple[bool, int, int]:
    """How predictions (M, N, K) are worked on: whether instances lie side by side and classes apart
    (members x classes x pixels), into how many pieces the work is cut, so that no thread waits long
    for another, and how many threads help.
    """
    class_major = (
        probs.strides[1] == probs.itemsize
        and probs.strides[2] != probs.itemsize
        and probs.shape[1] > 1
    )
    if probs.size < several:  # small calls save the call
        return class_major, 1, 0
    count, pieces = share_among_threads(probs.size, probs.shape[1], several, threads)
    return class_major, pieces, count - 1


def share_among_threads(
    size: int, instances: int, several: int, threads: int | None
) -> tuple[int, int]:
    """How many threads share work on ``size`` numbers, of which ``several`` make two of them pay,
    and into how many pieces it is cut.
    """
    if size < several:
        return 1, 1
    count = min(thread_count(threads), 2 * size // several)
    if count == 1:
        return 1, 1
    return count, min(instances, max(2 * count, min(8 * count, size >> 18)))
