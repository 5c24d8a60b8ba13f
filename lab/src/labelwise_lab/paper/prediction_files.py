"""Prediction files of the results folder: logarithms of probabilities as float16, labels and class
names in a small .npz file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labelwise.demo.fashion import STEPS, packed, unpacked
from labelwise.io import Predictions

from ..files import read_npz, replacing, write_compressed_npz

if TYPE_CHECKING:
    from .results_folder import Options
    from .settings import Setting, TestImages

__all__ = ["effect_of_rounding", "join_predictions", "read_predictions", "write_predictions"]

ROUNDING = 0.02
"""How far stored probabilities may be from a sum of 1: the logarithms of the large ones are exact
to 0.4 %.
"""
FIX = "and run the command again: what is missing is trained and predicted"


def write_predictions(
    path: Path, probs: np.ndarray, y_true: np.ndarray | None, class_names: Sequence[str]
) -> None:
    """Store logarithms of probabilities (`STEPS`), labels and class names; the same give the same
    bytes.
    """
    arrays = {"log_probs": packed(probs), "class_names": np.array(class_names)}
    _write(path, arrays | ({} if y_true is None else {"y_true": np.asarray(y_true, np.uint8)}))


def join_predictions(parts: Sequence[Path], path: Path) -> None:
    """One prediction file out of those of its members."""
    stored = [_read(part, 1) for part in parts]
    for part, each in zip(parts, stored, strict=True):
        if each.keys() != stored[0].keys() or any(
            not np.array_equal(each[key], stored[0][key]) for key in each if key != "log_probs"
        ):
            raise ValueError(
                f"{str(part)!r} must have the labels and class names of {str(parts[0])!r}, of the "
                f"same run. Delete both files {FIX}"
            )
        if each["log_probs"].shape != stored[0]["log_probs"].shape:
            sizes = f"{each['log_probs'].shape[1]:,} and {stored[0]['log_probs'].shape[1]:,}"
            raise ValueError(
                f"{str(part)!r} must have as many instances as {str(parts[0])!r}; got {sizes}. "
                f"Delete both files {FIX}"
            )
    _write(path, {**stored[0], "log_probs": np.concatenate([each["log_probs"] for each in stored])})


def _write(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    with replacing(path) as file:  # the members of an instance side by side: a tenth smaller
        write_compressed_npz(file, {key: np.asfortranarray(array) for key, array in arrays.items()})


def _read(
    path: Path, members: int | None = None, *, labeled: bool = False
) -> dict[str, np.ndarray]:
    """The arrays of a prediction file, if they are what they should be."""
    stored = read_npz(path, ["log_probs", "class_names", "y_true"])
    wrong = _fault(stored, members, labeled)
    if wrong:
        raise ValueError(f"{str(path)!r} {wrong}. Delete it {FIX}")
    return stored


def _fault(stored: Mapping[str, np.ndarray], members: int | None, labeled: bool) -> str:
    """What is wrong with the arrays of a prediction file: the rule and what came; nothing, if all
    is right.
    """
    needed = ["log_probs", "class_names", *["y_true"] * labeled]
    if any(key not in stored for key in needed):
        return (
            f"must hold {', '.join(f'`{key}`' for key in needed)}; it holds "
            f"{', '.join(f'`{key}`' for key in stored) or 'none of them'}"
        )
    log_probs, names, y = stored["log_probs"], stored["class_names"], stored.get("y_true")
    if log_probs.ndim != 3 or log_probs.dtype.kind != "f" or not log_probs.size:
        return (
            "must hold `log_probs` as numbers (members, instances, classes); got shape "
            f"{log_probs.shape} and type {log_probs.dtype}"
        )
    _, n, k = log_probs.shape
    if members is not None and len(log_probs) < members:
        return (
            f"must hold the predictions of {members} member{'s' * (members > 1)}; it holds "
            f"{len(log_probs)}"
        )
    if names.shape != (k,) or names.dtype.kind != "U":
        return (
            f"must hold one name for each of the {k} classes of `log_probs`; got `class_names` of "
            f"shape {names.shape} and type {names.dtype}"
        )
    if y is not None and (y.shape != (n,) or y.dtype.kind not in "iu"):
        return (
            f"must hold one label for each of the {n:,} instances of `log_probs`; got `y_true` of "
            f"shape {y.shape} and type {y.dtype}"
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
    stored = _read(path, members, labeled=labeled)
    y_true = stored["y_true"].astype(np.int64) if "y_true" in stored else None
    log_probs = stored["log_probs"][:members]
    if redraw is not None:
        step = np.spacing(np.abs(np.where(np.isfinite(log_probs), log_probs, 1))).astype(np.float32)
        for below, width in STEPS:
            step = np.where(log_probs < below, np.float32(width), step)
        shift = (
            np.random.default_rng(redraw).uniform(-0.5, 0.5, log_probs.shape).astype(np.float32)
            * step
        )
        log_probs = np.minimum(log_probs.astype(np.float32) + shift, 0)
    return Predictions(
        probs=unpacked(log_probs), y_true=y_true, class_names=tuple(map(str, stored["class_names"]))
    )


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
