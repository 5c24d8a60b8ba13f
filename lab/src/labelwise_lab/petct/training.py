"""Train a deep ensemble on prepared slices and predict the test patients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.io import save_predictions

from ..datasets import Dataset, Examples
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
    """Train on the training patients, choose each member's epoch on the validation patients,
    predict the test patients.

    Parameters
    ----------
    folder : path
        Written by `prepare`.
    out : path
        Folder for the checkpoints (``training``) and prediction files: ``slices.npz`` and
        ``studies.npz`` of the test patients, and ``held-back-slices.npz`` and
        ``held-back-studies.npz`` if a diagnosis was held back.
    recipe : {"paper", "code"}
        ResNet-50, Adam 1e-3, 40 epochs, batches of 50. "paper" normalizes each channel by the
        training patients; "code" does not, and lowers the learning rate. Both choose the epoch on
        the validation patients (the published code: on the test set).
    augment : bool
        Augment by random flips and by shifts of up to 1 % of the image size.
    network, n_members, epochs, rng, resume, n_jobs
        As for `labelwise_lab.training.fit_ensemble`.
    how, k
        As for `aggregate`.
    in_memory : int
        Maximum bytes of a part's slices to hold in memory.

    Returns
    -------
    dict
        Paths of the prediction files by name.
    """
    from ..training import find_recipe, fit_ensemble, predict_ensemble

    prepared, out = open_prepared(folder), Path(out)
    chosen = find_recipe("petct", recipe)
    if chosen.normalize is not None:
        chosen = replace(chosen, normalize=prepared.statistics)
    data = _dataset(prepared, in_memory)
    chosen = replace(
        chosen,
        augment=augment or chosen.augment,
        padding=round(prepared.size / 100),
        keep_best=data.val is not None,
    )
    options: dict[str, Any] = {
        "n_members": n_members,
        "rng": rng,
        "resume": resume,
        "epochs": epochs,
        "n_jobs": n_jobs,
    }
    fitted = fit_ensemble(
        network or chosen.network, data, recipe=chosen, out_dir=out / "training", **options
    )
    written: dict[str, Path] = {}
    for name, prefix in (("test", ""), (HELD_BACK, "held-back-")):
        part = prepared.part(name)
        if len(part.y):
            written |= _save(
                out,
                prefix,
                prepared,
                part,
                np.asarray(predict_ensemble(fitted, part.images).probs),
                how,
                k,
            )
    return written


def _dataset(prepared: Prepared, in_memory: int) -> Dataset:
    """The slices of the training, validation and test patients, in memory where they are few."""
    parts = {name: prepared.part(name) for name in ("train", "val", "test")}
    if not len(parts["test"].y):
        raise ValueError(
            f"there is no test patient in {str(prepared.folder)!r}; prepare it with a larger "
            "--test-size"
        )
    images: list[Any] = [
        part.images if part.images.nbytes > in_memory else part.images[:] for part in parts.values()
    ]
    train, val, test = (Examples(x, part.y) for x, part in zip(images, parts.values(), strict=True))
    return Dataset("petct", train, test, prepared.class_names, val if len(val.y) else None)


def _save(
    out: Path, prefix: str, prepared: Prepared, part: Part, probs: np.ndarray, how: str, k: int
) -> dict[str, Path]:
    """Write the predictions of slices and of studies."""
    classes = prepared.class_names
    known = bool((part.y >= 0).all())
    names, studies = aggregate(
        probs,
        part.studies,
        how=how,
        k=k,
        negative=classes.index(NEGATIVE) if NEGATIVE in classes else None,
    )
    truth = np.array([classes.index(part.diagnoses[name]) for name in names]) if known else None
    files = {
        "slices": save_predictions(
            out / f"{prefix}slices.npz",
            probs=probs,
            y_true=part.y if known else None,
            class_names=classes,
            ids=part.ids,
        ),
        "studies": save_predictions(
            out / f"{prefix}studies.npz",
            probs=studies.astype(np.float32),
            y_true=truth,
            class_names=classes,
            ids=names,
        ),
    }
    return {prefix + name: path for name, path in files.items()}
