"""Predictions of a trained ensemble, in memory or block by block into a prediction file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .._labels import named_labels
from ..datasets import Split
from ..distributions import Ensemble
from ..io import check_format, load_predictions, save_predictions
from ..io.atomic import new_array
from ._forward import check_count
from ._member import VALUES_AT_ONCE, prepared
from .inputs import Source
from .training import FittedEnsemble


def predict_ensemble(fitted: FittedEnsemble, x: Any, *, batch_size: int = 1024, out: str | os.PathLike[str] | None = None) -> Ensemble:
    """Class probabilities of every member for every instance.

    Parameters
    ----------
    fitted : FittedEnsemble
        From :func:`fit_ensemble` or :func:`load_ensemble`.
    x : Split or array
        Like the training set. It may be a memory map or a source: one batch at a time is read. Of a Split, the labels and images go into the
        file.
    batch_size : int
        Instances at a time; fewer of large images.
    out : path, optional
        Write a prediction file (.npz, or .npy for the probabilities alone). They go block by block into a temporary file beside it, and what
        is returned is mapped from the file if it is large: memory holds one model and one batch.

    Returns
    -------
    Ensemble
        ``probs`` of shape (M, N, K), float32.

    Examples
    --------
    >>> import tempfile
    >>> data = lw.datasets.load("digits")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted = lw.predictors.fit_ensemble("mlp", data, n_members=2, epochs=1, out_dir=folder, jobs=1)
    ...     predict_ensemble(fitted, data.test).probs.shape
    (2, 539, 10)
    """
    y_true = None
    if isinstance(x, Split):
        x, y_true = x.x, x.y
    x = fitted.inputs.check(x, "x")
    batch_size = min(check_count(batch_size, "batch_size"), max(1, VALUES_AT_ONCE // int(np.prod(fitted.inputs.shape))))
    shape = (fitted.n_members, len(x), fitted.n_classes)
    if out is None:
        probs = np.empty(shape, np.float32)
        _fill(probs, fitted, x, batch_size)
        return Ensemble(probs, member_axis=0, class_names=fitted.classes)
    out = Path(out)
    if check_format(out) == ".npy":
        with new_array(out, shape) as mapped:
            _fill(mapped, fitted, x, batch_size)
    else:
        blocks = out.with_name(f".{out.name}.blocks.npy")
        try:
            with new_array(blocks, shape) as mapped:
                _fill(mapped, fitted, x, batch_size)
            probs = np.load(blocks, mmap_mode="r", allow_pickle=False)
            images = x if fitted.inputs.images and y_true is not None and not isinstance(x, Source) else None
            labels = None if y_true is None else named_labels(y_true, fitted.classes)
            save_predictions(out, probs=probs, y_true=labels, class_names=fitted.classes, images=images)
        finally:
            blocks.unlink(missing_ok=True)
    stored = load_predictions(out)
    return Ensemble(stored.probs, member_axis=0, class_names=fitted.classes)


def _fill(probs: np.ndarray, fitted: FittedEnsemble, x: Any, batch_size: int) -> None:
    """Write the probabilities of each member, one model in memory at a time."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for member in range(fitted.n_members):
        model = prepared(fitted.model(member), fitted.inputs, device)
        with torch.inference_mode():
            for start in range(0, len(x), batch_size):
                batch = torch.from_numpy(np.array(x[start : start + batch_size]))
                scores = model(fitted.inputs(batch).to(device)).float()
                if not bool(torch.isfinite(scores).all()):
                    raise ValueError(
                        f"`x` gives scores that are not finite, in rows {start} to {start + len(batch) - 1} (member {member}): "
                        "it has missing, infinite or very large values"
                    )
                probs[member, start : start + batch_size] = torch.softmax(scores, -1).cpu().numpy()
