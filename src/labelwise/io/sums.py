"""Probabilities that do not quite sum to 1: divided by their sums where that is asked for, or where
they are rounded.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._arrays import SUM_TOLERANCE
from .on_disk import change_when_read

_SAMPLE = 1000  # instances that show what the numbers are
_MOST_DECIMALS = 7  # numbers with more are hardly rounded
_MOST_ROUNDING = 0.2  # many classes of few decimals would explain any sum


def normalize_probabilities(values: Any, kind: str) -> Any:
    """``values`` (M, N, K) divided by their sums over the classes; warns what the first were."""
    if kind != "probs":
        raise ValueError(f"`normalize` is for probabilities; these are `{kind}`")
    sums = np.asarray(values[:, :_SAMPLE]).sum(axis=-1, dtype=float)
    if np.abs(sums - 1).max(initial=0) > SUM_TOLERANCE.get(values.dtype.name, 0):
        warnings.warn(
            f"`probs` summed to between {sums.min():.6g} and {sums.max():.6g} in the first "
            f"{sums.shape[1]:,} instances; each row was divided by its sum",
            stacklevel=3,
        )
    return _divided_by_sums(values, np.finfo(float).max)


def divide_out_rounding(values: Any, notes: list[str]) -> Any:
    """Probabilities (M, N, K) of a table, divided by their sums if they are rounded.

    Rounding K numbers to d decimals changes their sum by at most K · ½ · 10⁻ᵈ.
    """
    sample = values
    if type(values) is not np.ndarray:
        sample = np.asarray(values[:, :_SAMPLE])
    off = np.abs(sample.sum(axis=-1, dtype=float) - 1).max(initial=0)
    if not SUM_TOLERANCE[sample.dtype.name] < off <= _MOST_ROUNDING:
        return values
    decimals = 1
    while decimals < _MOST_DECIMALS and not np.allclose(sample, sample.round(decimals), 0, 1e-8):
        decimals += 1
    most = values.shape[-1] * 0.5 * 10.0**-decimals + 1e-9
    if off > most:
        return values
    notes.append(
        f"probabilities are rounded: rows sum to 1 ± {off:.2g}, and were divided by their sums"
    )
    return _divided_by_sums(values, most)


def _divided_by_sums(values: Any, most: float) -> Any:
    """``values`` divided by their sums. Rows whose sums are further than ``most`` from 1 are wrong:
    they stay as they are, and are refused where they are used.
    """
    dtype = np.result_type(values.dtype, np.float32)

    def divide_by_sums(block: np.ndarray) -> np.ndarray:
        wide = block.astype(dtype)
        sums = wide.sum(axis=-1, keepdims=True)
        sums[~(np.abs(sums - 1) <= most) | (sums == 0)] = 1
        return wide / sums

    return change_when_read(values, divide_by_sums, dtype)
