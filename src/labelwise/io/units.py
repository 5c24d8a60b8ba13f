"""What the numbers are: probabilities, rounded ones, or logits."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from .._arrays import SUM_TOLERANCE
from .._errors import InputError
from .._validation.probabilities import MOST_ROWS, rows_that_sum_to_one
from .on_disk import viewed

__all__ = ["check_logits", "normalized", "unrounded"]

_SAMPLE = 1000  # instances that show what the numbers are, and how they were rounded
_TOLERANCE = 0.02
_MOST_ROUNDING = 0.2  # rows further from 1 are not rounded, whatever the number of classes
_AT_ONCE = 1 << 22  # numbers


def normalized(values: Any, kind: str) -> Any:
    """``values`` (M, N, K) divided by their sums over the classes; warns how far off those were."""
    if kind != "probs":
        raise ValueError(f"`normalize` is for probabilities; these are `{kind}`")
    members, instances, classes = values.shape
    low, high = np.inf, -np.inf
    step = max(1, _AT_ONCE // max(members * classes, 1))
    for start in range(0, instances, step):
        block = np.asarray(values[:, start : start + step])
        if block.dtype.kind not in "fiu" or not np.isfinite(block).all() or (block < 0).any():
            raise ValueError("`probs` must be finite and not negative to be normalized")
        sums = block.sum(axis=-1, dtype=float)
        low = min(low, float(sums.min(initial=np.inf)))
        high = max(high, float(sums.max(initial=-np.inf)))
    if low <= 0:
        raise ValueError(
            "`probs` cannot be normalized: they are 0 for all classes of some instance"
        )
    tolerance = SUM_TOLERANCE.get(values.dtype.name, 0)
    if max(high - 1, 1 - low) > tolerance:  # else nothing was off
        warnings.warn(
            f"`probs` summed to between {low:.6g} and {high:.6g}; each row was divided by its sum",
            stacklevel=3,
        )
    dtype = np.dtype(np.float64 if values.dtype == np.float64 else np.float32)

    def change(block: np.ndarray) -> np.ndarray:
        wide = block.astype(dtype)
        return np.asarray(wide / wide.sum(axis=-1, keepdims=True))

    view = viewed(values, tuple(values.shape), dtype, (0, 1, 2), change)
    return view[:, :] if type(values) is np.ndarray else view


def check_logits(values: Any, multilabel: bool | None) -> None:
    """Refuse logits (M, N, K) that are probabilities already: a softmax of them would hide nearly
    all differences.
    """
    sample = np.asarray(values[:, :_SAMPLE])
    if not _lie_between_0_and_1(sample, rounding=1e-6):
        return
    if multilabel or sample.shape[-1] == 1:
        if len(np.unique(sample)) > 2:
            warnings.warn(
                "`logits` lie between 0 and 1, like probabilities; if they are, do not read them "
                "as logits",
                stacklevel=4,
            )
        return
    # Logits hardly ever lie all between 0 and 1 and sum to nearly 1, so that rounding, and a few
    # damaged rows, may be allowed for.
    n_right = rows_that_sum_to_one(sample, max(_TOLERANCE, _rounding(sample)))
    if n_right >= MOST_ROWS * prod(sample.shape[:-1]):
        raise InputError(
            "`logits` must be unnormalized scores; these lie between 0 and 1 and sum to 1, "
            "like probabilities",
            fix="file_not_logits",
        )


def unrounded(values: Any, notes: list[str]) -> Any:
    """Probabilities (M, N, K) that were rounded to a few decimals, divided by their sums; others as
    they are.

    Rounding K numbers to d decimals changes their sum by at most K · ½ · 10⁻ᵈ. Rows that are off by
    more are not rounded but wrong.
    """
    in_memory = type(values) is np.ndarray
    sample = np.asarray(values[:, : None if in_memory else _SAMPLE])
    if not _lie_between_0_and_1(sample):
        return values
    sums = sample.sum(axis=-1, dtype=float)
    off = np.abs(sums - 1).max()
    most = _rounding(sample)
    if off <= SUM_TOLERANCE[sample.dtype.name] or off > most:
        return values
    decimals = _decimals(sample)
    count = f"{decimals} decimal{'' if decimals == 1 else 's'}"
    low, high = (f"{x:.{decimals}f}" for x in (sums.min(), sums.max()))
    notes.append(
        f"probabilities rounded to {count}: rows summed to between {low} and {high}, and were "
        "divided by their sums"
    )

    def change(block: np.ndarray) -> np.ndarray:
        wide = block.astype(np.float64)
        totals = wide.sum(axis=-1, keepdims=True)
        wrong = totals[np.abs(totals - 1) > most]
        if wrong.size:
            raise ValueError(
                f"`probs` must sum to 1 over the classes; a row sums to {wrong[0]:.4g}, more than "
                f"rounding to {count} explains"
            )
        return np.asarray(wide / totals)

    view = viewed(values, tuple(values.shape), np.dtype(np.float64), (0, 1, 2), change)
    return view[:, :] if in_memory else view


def _lie_between_0_and_1(values: np.ndarray, rounding: float = 0.0) -> bool:
    if values.dtype.kind != "f" or not values.size:
        return False
    return bool(values.min() >= -rounding and values.max() <= 1 + rounding)  # not NaN either


def _rounding(values: np.ndarray) -> float:
    """By how much rounding may have changed the sums of probabilities; 0: they are not rounded."""
    decimals = _decimals(values)
    if decimals is None:
        return 0.0
    most: float = values.shape[-1] * 0.5 * 10.0**-decimals
    return min(most, _MOST_ROUNDING) + 1e-9


def _decimals(values: np.ndarray) -> int | None:
    """To how many decimals all values are rounded; ``None``: to more than can be told."""
    resolution = float(np.finfo(values.dtype).eps)
    for decimals in range(1, 9):
        if 10**decimals * resolution > 0.01:  # any number looks rounded
            return None
        scaled = values.astype(np.float64) * 10**decimals
        if np.abs(scaled - np.round(scaled)).max() < max(1e-6, 2 * 10**decimals * resolution):
            return decimals
    return None
