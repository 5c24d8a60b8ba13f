"""What the numbers are: probabilities, rounded ones, or logits."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from .._arrays import SUM_TOLERANCE
from .._errors import InputError
from .._validation import MOST_ROWS, rows_that_sum_to_one
from .on_disk import changed

__all__ = ["check_logits", "normalized", "unrounded"]

_SAMPLE = 1000  # instances that show what the numbers are
_MOST_ROUNDING = 0.05  # sums that are further from 1 are not those of rounded probabilities


def normalized(values: Any, kind: str) -> Any:
    """``values`` (M, N, K) divided by their sums over the classes; warns what the first were."""
    if kind != "probs":
        raise ValueError(f"`normalize` is for probabilities; these are `{kind}`")
    dtype = np.dtype(np.float64 if values.dtype == np.float64 else np.float32)

    def divide(block: np.ndarray) -> np.ndarray:
        if not np.isfinite(block).all() or (block < 0).any():
            raise ValueError("`probs` must be finite and not negative to be normalized")
        wide = block.astype(dtype)
        sums = wide.sum(axis=-1, keepdims=True)
        if not sums.all():
            raise ValueError(
                "`probs` cannot be normalized: they are 0 for all classes of some instance"
            )
        return np.asarray(wide / sums)

    sample = np.asarray(values[:, :_SAMPLE])
    divide(sample)
    sums = sample.sum(axis=-1, dtype=float)
    if np.abs(sums - 1).max(initial=0) > SUM_TOLERANCE.get(values.dtype.name, 0):
        warnings.warn(
            f"`probs` summed to between {sums.min():.6g} and {sums.max():.6g} in the first "
            f"{sums.shape[1]:,} instances; each row was divided by its sum",
            stacklevel=3,
        )
    return changed(values, divide, dtype)


def check_logits(values: Any, multilabel: bool | None) -> None:
    """Refuse logits (M, N, K) that are probabilities already: a softmax of them would hide nearly
    all differences.
    """
    sample = np.asarray(values[:, :_SAMPLE])
    if not _lie_between_0_and_1(sample, rounding=1e-6):
        return
    if multilabel or sample.shape[-1] == 1:
        warnings.warn(
            "`logits` lie between 0 and 1, like probabilities; if they are, do not read them "
            "as logits",
            stacklevel=4,
        )
        return
    # Logits hardly ever lie all between 0 and 1 and sum to nearly 1, so that rounding, and a few
    # damaged rows, may be allowed for.
    n_right = rows_that_sum_to_one(sample, _MOST_ROUNDING)
    if n_right >= MOST_ROWS * prod(sample.shape[:-1]):
        raise InputError(
            "`logits` must be unnormalized scores; these lie between 0 and 1 and sum to 1, "
            "like probabilities",
            fix="file_not_logits",
        )


def unrounded(values: Any, notes: list[str]) -> Any:
    """Probabilities (M, N, K) that were rounded, divided by their sums; others as they are."""
    sample = np.asarray(values[:, :_SAMPLE])
    if not _lie_between_0_and_1(sample):
        return values
    off = np.abs(sample.sum(axis=-1, dtype=float) - 1).max()
    if not SUM_TOLERANCE[sample.dtype.name] < off <= _MOST_ROUNDING:
        return values
    notes.append(
        f"probabilities are rounded: rows sum to 1 ± {off:.2g}, and were divided by their sums"
    )

    def divide(block: np.ndarray) -> np.ndarray:
        wide = block.astype(np.float64)
        sums = wide.sum(axis=-1, keepdims=True)
        wrong = sums[np.abs(sums - 1) > _MOST_ROUNDING]
        if wrong.size:
            raise ValueError(
                f"`probs` must sum to 1 over the classes; a row sums to {wrong[0]:.4g}, more than "
                "rounding explains"
            )
        return np.asarray(wide / sums)

    return changed(values, divide, np.dtype(np.float64))


def _lie_between_0_and_1(values: np.ndarray, rounding: float = 0.0) -> bool:
    if values.dtype.kind != "f" or not values.size:
        return False
    return bool(values.min() >= -rounding and values.max() <= 1 + rounding)  # not NaN either
