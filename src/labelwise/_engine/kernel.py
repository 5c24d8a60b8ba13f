"""The native kernel: label-wise TU, AU and EU of ensembles in main memory, where it could be built.

Their sums over the labels and, for log loss, the joint measures come from the same pass over the
predictions, in tiles, so that no temporary has the size of the input. The formulas are those of
`labelwise.losses`, to a few units in the last place; results below the smallest normal number may
become 0.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np


def _load() -> tuple[Any, str | None]:
    """The compiled kernel, or ``None`` where it could not be built or loaded, and why."""
    try:
        return importlib.import_module("labelwise._engine._fused"), None
    except ModuleNotFoundError:
        return None, (
            "it was not compiled with this installation; `LABELWISE_BUILD=strict pip install "
            "--force-reinstall --no-deps .` in the folder of its source shows why"
        )
    except ImportError as error:
        return None, f"it could not be loaded: {error}"


def _choose(available: tuple[str, ...], wanted: str | None) -> str:
    """The kernel that LABELWISE_KERNEL asks for, else the fastest, which is the last."""
    if wanted and wanted not in available:
        raise ValueError(
            f"LABELWISE_KERNEL must be one of {', '.join(available)} on this machine; got "
            f"{wanted!r}. Unset it for the fastest"
        )
    return wanted or available[-1]


native, _missing = _load()
"""The compiled kernel; ``None``: everything is computed by the general path."""
AVAILABLE: tuple[str, ...] = ("numpy",) if native is None else ("numpy", *native.levels())
"""The kernels of this machine, from slow to fast: none but NumPy, then the native kernel for each
level of instructions.
"""
_level = _choose(AVAILABLE, os.environ.get("LABELWISE_KERNEL"))
if _level == "numpy":
    native = None

# Predictions (members x instances x classes) from which on two threads pay; each further one needs
# half as many.
SEVERAL = {
    "log": 1 << 16,
    "squared": 1 << 18,
    "spherical": 1 << 16,
    "cost": 1 << 17,
    "beta": 1 << 13,
    "check": 1 << 18,
}
PIECE = 1 << 16  # predictions that are checked at once without the kernel
_LOSSES = {"log": 0, "squared": 1, "spherical": 2, "cost": 3, "beta": 4}
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_KINDS: dict[str, tuple[int, np.dtype[Any]]] = {
    "d": (0, _DOUBLE),
    "f": (0, _SINGLE),
    "e": (1, _SINGLE),
}
_NONE: Any = (None, None, None)
Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def level() -> str:
    """The level of instructions that is used."""
    return _level


def kernel_info() -> dict[str, Any]:
    """Which kernel computes ensembles of NumPy arrays, and with how many threads.

    ``"kernel"`` is ``"numpy"`` (no compiled code) or the instruction set of the compiled kernel:
    ``"baseline"``, or on x86-64 ``"v3"`` (AVX2) or ``"v4"`` (AVX-512). The environment variable
    LABELWISE_KERNEL, read at import, chooses another than the fastest. ``"missing"`` says why there
    is no compiled kernel, if there is none: results are the same, but computed more slowly.

    >>> sorted(kernel_info())[:2]
    ['kernel', 'threads']
    """
    if native is not None:
        return {"kernel": _level, "threads": thread_count() if native.threads() else 1}
    info: dict[str, Any] = {"kernel": "numpy", "threads": thread_count()}
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
    if threads is None:
        asked = os.environ.get("LABELWISE_THREADS")
        if asked is None:
            return usable_cores()
        threads = int(asked) if asked.isdigit() else -1
        if threads < 1:
            raise ValueError(f"LABELWISE_THREADS must be a whole number, at least 1; got {asked!r}")
    if not isinstance(threads, int | np.integer) or threads < 1:
        raise ValueError(f"`n_jobs` must be a whole number, at least 1; got {threads!r}")
    return int(threads)


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


class Result(NamedTuple):
    """Results for N instances of K classes: label-wise (N, K), sums (N,) and, for log and squared
    loss, joint (N,).
    """

    labelwise: Three | None
    sums: Three
    joint: Three | None


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
) -> Result:
    """Uncertainty of ``probs`` (M, N, K) under "log" (in bits times ``unit``), "squared",
    "spherical", "cost" or "beta" loss.

    ``weights`` are (M,) or (M, N) and sum to 1 over the members. ``costs`` (4, K) are those of
    false positives and negatives, and the edges of the decision; of a beta loss, its `series`. With
    ``events`` the results are (N, E).
    """
    _, n, k = probs.shape
    kind, dtype, class_major, count, pieces = _plan(probs, SEVERAL[loss], threads)
    labels, by_label = k, class_major
    if events is not None:
        labels, by_label = len(events.offsets) // 2, True
    parts: Three | None = None
    if labelwise:
        shape = (labels, n) if by_label else (n, labels)
        parts = np.empty(shape, dtype), np.empty(shape, dtype), np.empty(shape, dtype)
    sums = np.empty(n, dtype), np.empty(n, dtype), np.empty(n, dtype)
    joint: Three | None = None
    if loss == "log":
        joint = np.empty(n, dtype), np.empty(n, dtype), np.empty(n, dtype)
    heaviest = 0
    if weights is not None:
        weights, heaviest = _prepared(weights, dtype)
    if costs is not None:
        costs = np.ascontiguousarray(costs, _DOUBLE if loss == "beta" else dtype)
    native.split(
        _level,
        _LOSSES[loss],
        dtype is _DOUBLE,
        kind,
        probs,
        weights,
        heaviest,
        unit,
        class_major,
        -1.0,  # no check of the values in this pass
        False,
        (parts or _NONE) + sums + (joint or _NONE),
        pieces,
        count - 1,
        costs,
        *(events or (None, None, False)),
    )
    if parts is not None and by_label:
        parts = (parts[0].T, parts[1].T, parts[2].T)
    if loss == "squared":
        joint = sums
    if events is not None:
        joint = None
    return Result(parts, sums, joint)


def _prepared(weights: np.ndarray, dtype: np.dtype[Any]) -> tuple[np.ndarray, int]:
    """Weights (M,) or (M, N) as the kernel reads them, and the member with the largest, where it is
    the same for all instances.
    """
    if weights.ndim == 2:
        return weights.astype(dtype, copy=False), 0
    weights = np.require(weights, dtype, ["C", "A"])
    return weights, int(np.argmax(weights))


def slopes(
    loss: str,
    probs: np.ndarray,
    weights: np.ndarray | None,
    given: Three,
    *,
    unit: float = 1.0,
    costs: np.ndarray | None = None,
) -> np.ndarray:
    """Derivatives by ``probs`` (M, N, K), from those ``given`` by total, aleatoric and epistemic
    uncertainty (N, K).
    """
    _, dtype, _, count, pieces = _plan(probs, SEVERAL["log"], None)
    heaviest = 0
    if weights is not None:
        weights, heaviest = _prepared(weights, dtype)
    if costs is not None:
        costs = np.ascontiguousarray(costs, dtype)
    above = tuple([np.ascontiguousarray(x, dtype) for x in given])
    result = np.empty(probs.shape, dtype)
    native.slopes(
        _level,
        _LOSSES[loss],
        dtype is _DOUBLE,
        probs,
        weights,
        heaviest,
        unit,
        costs,
        above,
        result,
        pieces,
        count - 1,
    )
    return result


def join(
    loss: str,
    shares: np.ndarray | None,
    state: Sequence[np.ndarray],
    given: Sequence[np.ndarray],
    *,
    unit: float,
    costs: np.ndarray | None,
    sums: Sequence[np.ndarray] = (),
    fresh: bool = False,
) -> None:
    """A state of the Accumulator (eight arrays (..., K), the last only for costs, changed in place)
    takes in another, or a member.

    ``shares`` (2, N), or (2, 1) if they are the same for all instances, are those of the weight.
    Without them ``state`` are TU, AU and EU, which are computed from the state ``given``, and
    ``sums`` (N,) those over the classes. Of a ``fresh`` state the arrays may hold anything.
    """
    first = given[0]
    k = first.shape[-1]
    n = first.size // k
    _, dtype, _, count, pieces = _plan(first.reshape(1, n, k), SEVERAL["log"], None)
    if costs is not None:
        costs = np.ascontiguousarray(costs, dtype)
    arrays = (*given, *(None,) * (8 - len(given)))
    own: tuple[Any, ...] = tuple(state)
    if shares is not None:
        own += (None,) * (8 - len(state))
    native.join(
        _level,
        _LOSSES[loss],
        dtype is _DOUBLE,
        n,
        k,
        unit,
        costs,
        shares,
        fresh,
        own,
        tuple(sums),
        arrays,
        pieces,
        count - 1,
    )


def flat(x: np.ndarray) -> np.ndarray | None:
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


def holds_probabilities(x: np.ndarray, tolerance: float, sum_to_one: bool) -> bool:
    """Whether all values (M, ..., K) are known to be probabilities, from one pass. Only yes or no;
    `_validation.check_range` explains failures.
    """
    if native is None:
        if x.dtype.kind != "f":  # the bits of bfloat16
            return False
        return all(_in_unit_interval(part, tolerance, sum_to_one) for part in _pieces(x))
    view = flat(x)
    if view is None:
        return all(holds_probabilities(x[:, i], tolerance, sum_to_one) for i in range(x.shape[1]))
    return check(view, tolerance, sum_to_one=sum_to_one)


def _pieces(x: np.ndarray) -> Iterator[np.ndarray]:
    """The values in single or double precision, about `PIECE` at a time."""
    wide = np.result_type(x, np.float32)
    if x.ndim == 2 or x.size <= PIECE:
        yield x.astype(wide, copy=False)
        return
    step = max(1, PIECE * x.shape[1] // x[0].size)
    for member in x:
        for i in range(0, len(member), step):
            yield member[i : i + step].astype(wide, copy=False)


def _in_unit_interval(x: np.ndarray, tolerance: float, sum_to_one: bool) -> bool:
    """Whether ``x`` (..., K) holds probabilities, in NumPy."""
    if not (x.min() >= 0 and x.max() <= 1 + tolerance):  # also for NaN
        return False
    return not sum_to_one or bool(np.all(np.abs(x.sum(axis=-1) - 1) <= tolerance))


def check(
    probs: np.ndarray, tolerance: float, *, sum_to_one: bool = True, threads: int | None = None
) -> bool:
    """Whether ``probs`` (M, N, K) holds probabilities: values in [0, 1], none of them NaN, and sums
    of 1 over K.
    """
    kind, dtype, class_major, count, pieces = _plan(probs, SEVERAL["check"], threads)
    is_double = dtype is _DOUBLE
    faults = native.check(
        _level, is_double, kind, probs, class_major, sum_to_one, tolerance, pieces, count - 1
    )
    return bool(faults == 0)


def _plan(
    probs: np.ndarray, several: int, threads: int | None
) -> tuple[int, np.dtype[Any], bool, int, int]:
    """How predictions (M, N, K) are worked on.

    How they are stored (0: as they are computed, 1: half, 2: bfloat16); the type to compute in;
    whether instances lie side by side and classes apart (members x classes x pixels); how many
    threads; and into how many pieces the work is cut, so that no thread waits long for another.
    """
    kind, dtype = _KINDS.get(probs.dtype.char, (2, _SINGLE))
    class_major = (
        probs.strides[1] == probs.itemsize
        and probs.strides[2] != probs.itemsize
        and probs.shape[1] > 1
    )
    size = probs.size
    count = pieces = 1
    if size >= several:
        count = min(thread_count(threads), 2 * size // several)
    if count > 1:
        pieces = min(probs.shape[1], max(2 * count, min(8 * count, size >> 18)))
    return kind, dtype, class_major, count, pieces


def _after_fork() -> None:
    """Threads do not survive a fork."""
    if native is not None:
        native.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
