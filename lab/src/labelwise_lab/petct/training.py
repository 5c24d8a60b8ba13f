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
from .slices import thumbnails

IN_MEMORY = 2**30  # bytes of slices; more are read from disk batch by batch


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
        ``held-back-studies.npz`` if a diagnosis was held back. Each has the patients as ``groups``
        and small ``images``: of a study, of its most suspicious slice.
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
    data = _dataset(prepared, in_memory)
    chosen = find_recipe("petct", recipe)
    if chosen.normalize is not None:
        chosen = replace(chosen, normalize=prepared.statistics)
    chosen = replace(
        chosen,
        augment=augment or chosen.augment,
        padding=round(prepared.size / 100),
        keep_best=data.val is not None,
    )
    fitted = fit_ensemble(
        network or chosen.network,
        data,
        recipe=chosen,
        out_dir=out / "training",
        n_members=n_members,
        rng=rng,
        resume=resume,
        epochs=epochs,
        n_jobs=n_jobs,
    )
    negative = None
    if NEGATIVE in prepared.class_names:
        negative = prepared.class_names.index(NEGATIVE)
    written: dict[str, Path] = {}
    for name, prefix in (("test", ""), (HELD_BACK, "held-back-")):
        part = prepared.part(name)
        if len(part.y):
            probs = np.asarray(predict_ensemble(fitted, part.images).probs)
            names, combined = aggregate(probs, part.studies, how=how, k=k, negative=negative)
            files = {
                "slices": _slice_arrays(part, probs),
                "studies": _study_arrays(part, probs, names, combined, prepared, negative),
            }
            for unit, arrays in files.items():
                path = out / f"{prefix}{unit}.npz"
                if name == HELD_BACK:
                    del arrays["y_true"]  # none of the classes
                save_predictions(path, class_names=prepared.class_names, **arrays)
                written[prefix + unit] = path
    return written


def _dataset(prepared: Prepared, in_memory: int) -> Dataset:
    """The slices of the training, validation and test patients, in memory where they are few."""
    examples = {}
    for name in ("train", "val", "test"):
        part = prepared.part(name)
        images: Any = part.images
        if np.prod(images.shape) <= in_memory:
            images = images[:]
        examples[name] = Examples(images, part.y)
    if not len(examples["test"]):
        raise ValueError(
            f"there is no test patient in {str(prepared.folder)!r}; prepare it with a larger "
            "--test-size"
        )
    val = examples["val"] if len(examples["val"]) else None
    return Dataset("petct", examples["train"], examples["test"], prepared.class_names, val)


def _slice_arrays(part: Part, probs: np.ndarray) -> dict[str, Any]:
    """What is stored about slices; their images are read a few at a time."""
    starts = range(0, len(part.y), 256)
    images = [thumbnails(part.images[start : start + 256]) for start in starts]
    return {
        "probs": probs,
        "y_true": part.y,
        "ids": part.ids,
        "groups": part.patients,
        "images": np.concatenate(images),
    }


def _study_arrays(
    part: Part,
    probs: np.ndarray,
    names: np.ndarray,
    combined: np.ndarray,
    prepared: Prepared,
    negative: int | None,
) -> dict[str, Any]:
    """What is stored about studies; the image is that of the most suspicious slice."""
    mean = probs.mean(axis=0)
    suspicion = mean.max(axis=1) if negative is None else 1 - mean[:, negative]
    patients, slices, truth = [], [], []
    for name in names.tolist():
        own = np.flatnonzero(part.studies == name)
        slices.append(own[np.argmax(suspicion[own])])
        patients.append(part.patients[own[0]])
        diagnosis = part.diagnoses[name]
        truth.append(list(prepared.class_names).index(diagnosis) if part.y[own[0]] >= 0 else -1)
    return {
        "probs": combined.astype(np.float32),
        "y_true": np.array(truth),
        "ids": names,
        "groups": np.array(patients),
        "images": thumbnails(part.images[np.array(slices)]),
    }
