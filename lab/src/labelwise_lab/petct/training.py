"""Train a deep ensemble on prepared slices and predict the test patients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.io import save_predictions

from ..datasets import Dataset, Examples
from .combining import aggregate
from .manifest import FILE_PREFIXES, NEGATIVE, Part, Prepared, open_prepared
from .slices import thumbnails

IN_MEMORY = 2**30  # bytes of slices; more are read from disk batch by batch


def train(
    folder: str | Path,
    out: str | Path,
    *,
    recipe: str = "paper",
    network: str | None = None,
    augment: bool = False,
    k: int | None = 5,
    in_memory: int = IN_MEMORY,
    **options: Any,
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
    network : str, optional
        Defaults to the recipe's.
    k : int, optional
        Number of slices that are combined into a study, as for `aggregate`.
    in_memory : int
        Maximum bytes of a part's slices to hold in memory.
    **options
        For `labelwise_lab.training.fit_ensemble`: ``n_members``, ``epochs``, ``rng``, ``resume``,
        ``n_jobs``.

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
    network = network or chosen.network
    fitted = fit_ensemble(network, data, recipe=chosen, out_dir=out / "training", **options)
    written: dict[str, Path] = {}
    for name, prefix in FILE_PREFIXES.items():
        part = prepared.part(name)
        if len(part.y):
            probs = np.asarray(predict_ensemble(fitted, part.images).probs)
            for unit, arrays in _arrays(part, probs, prepared.class_names, k).items():
                path = out / f"{prefix}{unit}.npz"
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


def _arrays(
    part: Part, probs: np.ndarray, class_names: tuple[str, ...], k: int | None
) -> dict[str, dict[str, Any]]:
    """What is stored about slices and about studies."""
    starts = range(0, len(part.y), 256)  # more images need not fit in memory
    pictures = np.concatenate([thumbnails(part.images[i : i + 256]) for i in starts])
    mean = probs.mean(axis=0)
    negative, suspicion = None, mean.max(axis=1)
    if NEGATIVE in class_names:
        negative = class_names.index(NEGATIVE)
        suspicion = 1 - mean[:, negative]
    names, combined = aggregate(probs, part.studies, k=k, negative=negative)
    own = [np.flatnonzero(part.studies == name) for name in names]
    shown = np.array([slices[np.argmax(suspicion[slices])] for slices in own])
    slices = {"probs": probs, "ids": part.ids, "groups": part.patients, "images": pictures}
    studies = {
        "probs": combined.astype(np.float32),
        "ids": names,
        "groups": part.patients[shown],
        "images": pictures[shown],
    }
    if part.y.min() >= 0:  # held-back diagnoses are none of the classes
        slices["y_true"] = part.y
        studies["y_true"] = np.array([class_names.index(part.diagnoses[name]) for name in names])
    return {"slices": slices, "studies": studies}
