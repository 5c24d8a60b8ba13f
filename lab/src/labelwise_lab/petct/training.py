"""Train a deep ensemble on prepared slices and predict the test patients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from labelwise.io import save_predictions

from ..datasets import Dataset, Examples
from .combining import aggregate, suspicion
from .manifest import FILE_PREFIXES, NEGATIVE, Part, open_prepared


def train(
    folder: str | Path,
    out: str | Path,
    *,
    recipe: str = "paper",
    network: str | None = None,
    augment: bool = False,
    k: int | None = 5,
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
    parts = {name: prepared.part(name) for name in ("train", "val", *FILE_PREFIXES)}
    if not len(parts["test"].y):
        raise ValueError(
            f"there is no test patient in {str(folder)!r}; prepare it with a larger --test-size"
        )
    # Slices are read from disk batch by batch.
    examples = {name: Examples(cast(Any, part), part.y) for name, part in parts.items()}
    val = examples["val"] if len(examples["val"]) else None
    data = Dataset("petct", examples["train"], examples["test"], prepared.class_names, val)
    chosen = find_recipe("petct", recipe)
    chosen = replace(
        chosen,
        normalize=prepared.statistics if chosen.normalize else None,
        augment=augment or chosen.augment,
        padding=round(prepared.size / 100),
        keep_best=val is not None,
    )
    network = network or chosen.network
    fitted = fit_ensemble(network, data, recipe=chosen, out_dir=out / "training", **options)
    written: dict[str, Path] = {}
    for name, prefix in FILE_PREFIXES.items():
        part = parts[name]
        if len(part.y):
            probs = np.asarray(predict_ensemble(fitted, part).probs)
            for unit, arrays in _arrays(part, probs, prepared.class_names, k).items():
                path = out / f"{prefix}{unit}.npz"
                save_predictions(path, class_names=prepared.class_names, **arrays)
                written[prefix + unit] = path
    return written


def _arrays(
    part: Part, probs: np.ndarray, class_names: tuple[str, ...], k: int | None
) -> dict[str, dict[str, Any]]:
    """What is stored about slices and about studies."""
    step = -(-part.shape[1] // 128)  # of small pictures, of the fusion of PET and CT
    pictures = np.array([part[i][::step, ::step, 2] for i in range(len(part))])
    negative = class_names.index(NEGATIVE) if NEGATIVE in class_names else None
    names, combined = aggregate(probs, part.studies, k=k, negative=negative)
    # The last of a study in this order is its most suspicious slice.
    order = np.argsort(suspicion(probs.mean(axis=0), negative), kind="stable")
    last = dict(zip(part.studies[order], order, strict=True))
    shown = [last[name] for name in names]
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
