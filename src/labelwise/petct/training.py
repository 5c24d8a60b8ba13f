"""Train a deep ensemble on prepared slices and predict the test patients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import Dataset, Examples
from ..io import save_predictions
from .combining import aggregate
from .manifest import HELD_BACK, NEGATIVE, Part, Prepared, open_prepared

IN_MEMORY = 2**30
"""Bytes of slices held in memory; more are read from disk batch by batch."""


def train(
    folder: str | Path,
    out: str | Path,
    *,
    recipe: str = "paper",
    network: str | None = None,
    augment: bool = False,
    n_members: int = 5,
    epochs: int | None = None,
    rng: int | np.random.Generator | None = 0,
    resume: bool = False,
    n_jobs: int | None = None,
    how: str = "top",
    k: int = 5,
    in_memory: int = IN_MEMORY,
) -> dict[str, Path]:
    """Train on the training patients, choose each member's epoch on the validation patients, predict the test patients.

    Parameters
    ----------
    folder : path
        Written by `prepare`.
    out : path
        Folder for the checkpoints (``training``) and prediction files: ``slices.npz`` and ``studies.npz`` of the test patients, and
        ``held-back-slices.npz`` and ``held-back-studies.npz`` if a diagnosis was held back.
    recipe : {"paper", "code"}
        ResNet-50, Adam 1e-3, 40 epochs, batches of 50. "paper" normalizes each channel by the training patients; "code" does not, and lowers
        the learning rate. Both choose the epoch on the validation patients (the published code: on the test set).
    augment : bool
        Augment by random flips and by shifts of up to 1 % of the image size.
    network, n_members, epochs, rng, resume, n_jobs
        As for `labelwise.predictors.fit_ensemble`.
    how, k
        As for `aggregate`.
    in_memory : int
        Maximum bytes of a part's slices to hold in memory.

    Returns
    -------
    dict
        Paths of the prediction files by name.
    """
    from ..predictors import find_recipe, fit_ensemble, predict_ensemble

    prepared, out = open_prepared(folder), Path(out)
    parts = {name: prepared.part(name) for name in ("train", "val", "test", HELD_BACK)}
    if not len(parts["test"].y):
        raise ValueError(f"there is no test patient in {str(folder)!r}; prepare it with a larger --test-size")
    chosen = find_recipe("petct", recipe)
    if chosen.normalize is not None:
        chosen = replace(chosen, normalize=prepared.statistics)
    chosen = replace(chosen, augment=augment or chosen.augment, padding=round(prepared.size / 100), keep_best=len(parts["val"].y) > 0)
    data = Dataset(
        "petct",
        _split(parts["train"], in_memory),
        _split(parts["test"], in_memory),
        prepared.class_names,
        _split(parts["val"], in_memory) if len(parts["val"].y) else None,
    )
    fitted = fit_ensemble(
        network or chosen.network,
        data,
        n_members=n_members,
        recipe=chosen,
        rng=rng,
        out_dir=out / "training",
        resume=resume,
        epochs=epochs,
        n_jobs=n_jobs,
    )
    written: dict[str, Path] = {}
    for name, prefix in (("test", ""), (HELD_BACK, "held-back-")):
        if len(parts[name].y):
            probs = predict_ensemble(fitted, parts[name].images).probs
            written |= _save(out, prefix, prepared, parts[name], np.asarray(probs), how, k)
    return written


def _split(part: Part, in_memory: int) -> Examples:
    images: Any = part.images if part.images.nbytes > in_memory else part.images[:]
    return Examples(images, part.y)


def _save(out: Path, prefix: str, prepared: Prepared, part: Part, probs: np.ndarray, how: str, k: int) -> dict[str, Path]:
    """Write the predictions of slices and of studies."""
    classes = prepared.class_names
    known = bool((part.y >= 0).all())
    names, studies = aggregate(probs, part.studies, how=how, k=k, negative=classes.index(NEGATIVE) if NEGATIVE in classes else None)
    truth = np.array([classes.index(part.diagnoses[name]) for name in names]) if known else None
    files = {
        "slices": save_predictions(
            out / f"{prefix}slices.npz", probs=probs, y_true=part.y if known else None, class_names=classes, ids=part.ids
        ),
        "studies": save_predictions(
            out / f"{prefix}studies.npz", probs=studies.astype(np.float32), y_true=truth, class_names=classes, ids=names
        ),
    }
    return {prefix + name: path for name, path in files.items()}
