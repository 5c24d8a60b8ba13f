"""Prediction files of the results folder: logarithms of probabilities as float16, labels and class
names in a small .npz file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labelwise.io import Predictions

from ..files import read_npz, replacing, write_compressed_npz
from ..text import counted

if TYPE_CHECKING:
    from .results_folder import Options
    from .settings import Setting, TestImages

__all__ = ["effect_of_rounding", "read_predictions", "write_predictions"]

# Logarithms below the first number are stored in multiples of the second: of probabilities under
# 0.0003 and 1e-7, whose further digits move no AUROC by more than 2e-5 but fill a quarter of the
# file.
STEPS = ((-8.0, 1 / 16), (-16.0, 1 / 2))


def unpacked(log_probs: np.ndarray) -> np.ndarray:
    """Probabilities, float32, that sum to 1."""
    scores = np.exp(log_probs.astype(np.float32)).astype(np.float64)
    return np.asarray(scores / scores.sum(axis=-1, keepdims=True), np.float32)


ROUNDING = 0.02
"""How far stored probabilities may be from a sum of 1: the logarithms of the large ones are exact
to 0.4 %.
"""


def packed(probs: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities as float16, small ones in `STEPS`; that of 0 is −∞."""
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.asarray(probs, np.float64)).astype(np.float16)
    for below, step in STEPS:
        coarse = np.round(log_probs / np.float16(step)) * np.float16(step)
        log_probs = np.where(log_probs < below, coarse, log_probs)
    return log_probs


def write_predictions(
    path: Path, probs: np.ndarray, y_true: np.ndarray | None, class_names: Sequence[str]
) -> None:
    """Store logarithms of probabilities (`STEPS`), labels and class names; the same give the same
    bytes.
    """
    # In Fortran's order, the members of an instance lie side by side: a tenth smaller.
    arrays = {
        "log_probs": np.asfortranarray(packed(probs)),
        "class_names": np.array(class_names),
    }
    if y_true is not None:
        arrays["y_true"] = np.asarray(y_true, np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        write_compressed_npz(file, arrays)


def _fault(stored: Mapping[str, np.ndarray], members: int | None, labeled: bool) -> str:
    """What is wrong with the arrays of a prediction file: the rule and what came; nothing, if all
    is right.
    """
    needed = ["log_probs", "class_names", *["y_true"] * labeled]
    if any(key not in stored for key in needed):
        there = ", ".join(f"`{key}`" for key in stored) or "none of them"
        return f"must hold {', '.join(f'`{key}`' for key in needed)}; it holds {there}"
    log_probs, y = stored["log_probs"], stored.get("y_true")
    _, n, k = log_probs.shape
    if members is not None and len(log_probs) < members:
        return (
            f"must hold the predictions of {counted(members, 'member')}; it holds {len(log_probs)}"
        )
    if y is not None and y.shape != (n,):
        return (
            f"must hold one label for each of the {n:,} instances of `log_probs`; got `y_true` of "
            f"shape {y.shape}"
        )
    if y is not None and (y.min() < 0 or y.max() >= k):
        return f"must hold labels from 0 to {k - 1}; got `y_true` from {y.min()} to {y.max()}"
    with np.errstate(over="ignore"):
        sums = np.exp(log_probs.astype(np.float32)).sum(axis=-1)
    if not np.all(np.abs(sums - 1) <= ROUNDING):  # also NaN
        return (
            "must hold logarithms of probabilities that sum to 1; `log_probs` gives sums from "
            f"{sums.min():.3g} to {sums.max():.3g}"
        )
    return ""


def read_predictions(
    path: Path, members: int | None = None, *, labeled: bool = False, redraw: int | None = None
) -> Predictions:
    """Stored predictions of the first ``members``, as probabilities in float32 that sum to 1; if
    ``labeled``, they must have labels.

    With the seed ``redraw``, each logarithm is drawn uniformly from those that are rounded to it:
    what this changes, rounding may have changed.
    """
    stored = read_npz(path, ["log_probs", "class_names", "y_true"])
    wrong = _fault(stored, members, labeled)
    if wrong:
        raise ValueError(
            f"{str(path)!r} {wrong}. Delete it and run the command again: what is missing is "
            "trained and predicted"
        )
    y_true = stored["y_true"].astype(np.int64) if "y_true" in stored else None
    log_probs = stored["log_probs"][:members]
    if redraw is not None:
        step = np.spacing(np.abs(np.where(np.isfinite(log_probs), log_probs, 1))).astype(np.float32)
        for below, width in STEPS:
            step = np.where(log_probs < below, np.float32(width), step)
        shift = np.random.default_rng(redraw).uniform(-0.5, 0.5, log_probs.shape)
        log_probs = np.minimum(log_probs.astype(np.float32) + shift.astype(np.float32) * step, 0)
    probs = np.exp(log_probs.astype(np.float32)).astype(np.float64)
    probs /= probs.sum(axis=-1, keepdims=True)
    names = tuple(map(str, stored["class_names"]))
    return Predictions(probs=probs.astype(np.float32), y_true=y_true, class_names=names)


def effect_of_rounding(
    setting: Setting,
    wanted: Sequence[TestImages],
    options: Options,
    compute: Callable[..., Sequence[float]],
) -> float:
    """The largest change of the numbers of run 0 when the stored logarithms are redrawn within
    their rounding; ``compute`` takes predictions.
    """
    paths = [options.path(setting, 0, images) for images in wanted]

    def numbers(redraw: int | None) -> np.ndarray:
        each = (read_predictions(path, setting.members, redraw=redraw) for path in paths)
        return np.asarray(compute(*each))

    stored = numbers(None)
    return float(max(np.abs(numbers(seed) - stored).max() for seed in range(3)))
