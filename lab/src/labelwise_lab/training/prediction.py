"""Predictions of a trained ensemble, in memory or beside a prediction file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from labelwise import Ensemble
from labelwise.io import check_format, save_predictions

from ..datasets import Examples
from ..validation import check_positive
from ._member import VALUES_AT_ONCE, prepared
from .fitting import FittedEnsemble, check_members
from .inputs import LazyImages


def predict_ensemble(
    fitted: FittedEnsemble,
    x: Any,
    *,
    batch_size: int = 1024,
    out: str | os.PathLike[str] | None = None,
    members: Sequence[int] | None = None,
) -> Ensemble:
    """Class probabilities of every member for every instance.

    Parameters
    ----------
    fitted : FittedEnsemble
        From :func:`fit_ensemble` or :func:`load_ensemble`. For models of your own, see
        `labelwise.from_models`.
    x : Examples or array
        Like the training set. It may be a memory map or `LazyImages`: one batch at a time is read.
    batch_size : int
        Instances at a time; fewer of large images.
    out : path, optional
        Write a prediction file (.npz with the labels and images of `Examples`, or .npy for the
        probabilities alone). The probabilities that are returned are then in a temporary file
        beside it, which vanishes with them: memory holds one model and one batch.
    members : sequence of int, optional
        Only these members, in this order; defaults to all.

    Returns
    -------
    Ensemble
        ``probs`` of shape (M, N, K), float32.

    Examples
    --------
    >>> import tempfile
    >>> data = labelwise_lab.datasets.load("digits")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted = labelwise_lab.training.fit_ensemble("mlp", data, n_members=2, epochs=1, out_dir=folder, n_jobs=1)
    ...     predict_ensemble(fitted, data.test).probs.shape
    (2, 539, 10)
    """  # noqa: E501
    if not isinstance(fitted, FittedEnsemble):
        raise TypeError(
            "`fitted` must be an ensemble from fit_ensemble or load_ensemble; got "
            f"{type(fitted).__name__}. "
            "For models of your own use lw.from_models(models, X_or_loader)"
        )
    y_true = None
    if isinstance(x, Examples):
        x, y_true = x.x, x.y
    x = fitted.inputs.check(x, "x")
    batch_size = min(
        check_positive(batch_size, "batch_size"),
        max(1, VALUES_AT_ONCE // int(np.prod(fitted.inputs.shape))),
    )
    wanted = check_members(members, fitted.n_members)
    shape = (len(wanted), len(x), fitted.n_classes)
    kind = None if out is None else check_format(Path(out))
    probs = np.empty(shape, np.float32) if out is None else _beside(Path(out), shape)
    _fill(probs, fitted, wanted, x, batch_size)
    if out is not None and kind == ".npy":
        save_predictions(out, probs=probs)
    elif out is not None:
        images = (
            x
            if fitted.inputs.images and y_true is not None and not isinstance(x, LazyImages)
            else None
        )
        labels = None if y_true is None else _named_labels(y_true, fitted.class_names)
        save_predictions(
            out, probs=probs, y_true=labels, class_names=fitted.class_names, images=images
        )
    return Ensemble(probs, member_axis=0, class_names=fitted.class_names)


def _named_labels(y: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """Positions of classes as labels: where all classes are named by integers, those."""
    try:
        values = np.array([int(name) for name in names or ()])
    except ValueError:
        return y
    return values[y] if len(values) else y


def _beside(out: Path, shape: tuple[int, ...]) -> np.memmap:
    """A mapped array in a file without a name, in the folder of ``out``; a disk that is too small
    is an error now, not a crash later.
    """
    with tempfile.TemporaryFile(dir=out.parent) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, 4 * int(np.prod(shape)))
        return np.memmap(file, np.float32, "w+", shape=shape)  # the map keeps the file


def _fill(
    probs: np.ndarray, fitted: FittedEnsemble, members: list[int], x: Any, batch_size: int
) -> None:
    """Write the probabilities of each member, one model in memory at a time."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for i, member in enumerate(members):
        model = prepared(fitted.model(member), fitted.inputs, device)
        with torch.inference_mode():
            for start in range(0, len(x), batch_size):
                batch = torch.from_numpy(np.array(x[start : start + batch_size]))
                scores = model(fitted.inputs(batch).to(device)).float()
                if not bool(torch.isfinite(scores).all()):
                    raise ValueError(
                        f"`x` gives scores that are not finite, in rows {start} to "
                        f"{start + len(batch) - 1} (member {member}): "
                        "it has missing, infinite or very large values"
                    )
                probs[i, start : start + batch_size] = torch.softmax(scores, -1).cpu().numpy()
