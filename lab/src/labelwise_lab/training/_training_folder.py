"""The folder of a training: one process at a time, and one set of settings from the first epoch to
the last.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..files import FOLDER_LOCK, locked, read_json, write_file
from ._member import Job
from .inputs import LazyImages
from .recipes import Recipe

_SETTINGS = "ensemble.json"
_STORED = {"network", "n_classes", "class_names", "inputs", "recipe", "threads"}
# What may differ when a training is resumed: the threads of the first run are used again.
_MAY_DIFFER = ("threads", "torch")


def reserved(folder: Path) -> AbstractContextManager[None]:
    """No other process trains in this folder."""
    return locked(folder / FOLDER_LOCK, f"training in {str(folder)!r}", "choose another folder")


def agree(
    job: Job, class_names: tuple[str, ...] | None, *, threads: int, resume: bool
) -> dict[str, Any]:
    """The settings of the training in the folder of ``job``: the job's, if it is new; otherwise the
    stored ones, if the job fits them.
    """
    path = job.folder / _SETTINGS
    settings = _settings(job, class_names, threads)
    if not path.exists():
        write_file(path, json.dumps(settings, indent=2))
        return settings
    if not resume:
        raise ValueError(
            f"{str(job.folder)!r} already holds a training; resume it with resume=True (--resume), "
            "or choose another folder"
        )
    stored = read_settings(job.folder)
    stored["recipe"] = asdict(
        stored_recipe(job.folder, stored)
    )  # what an earlier version did not know has its default
    for key in settings:
        if key not in _MAY_DIFFER and settings[key] != stored.get(key):
            what = "the training data" if key == "data" else f"`{key}`"
            change = "" if key == "data" else f": it was {stored.get(key)}, now {settings[key]}"
            raise ValueError(
                f"cannot resume the training in {str(job.folder)!r}: {what} changed{change}. "
                "Choose another folder"
            )
    return stored


def read_settings(folder: Path) -> dict[str, Any]:
    """The settings of a training; sequences are tuples again."""
    path = folder / _SETTINGS
    if not path.is_file():
        raise FileNotFoundError(f"there is no ensemble in {str(folder)!r}: {path.name} is missing")
    settings = read_json(path)
    if not isinstance(settings, dict) or not settings.keys() >= _STORED:
        raise ValueError(
            f"{str(path)!r} cannot be read: it has no "
            f"{', no '.join(sorted(_STORED - set(settings)) or ['settings'])}"
        )
    return dict(_tuples(settings))


def stored_recipe(folder: Path, settings: dict[str, Any]) -> Recipe:
    """The recipe among the settings that were read from a folder."""
    try:
        return Recipe(**settings["recipe"])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{str(folder / _SETTINGS)!r} cannot be read: its recipe is damaged ({error})"
        ) from error


def _settings(job: Job, class_names: tuple[str, ...] | None, threads: int) -> dict[str, Any]:
    """Everything that the weights depend on, and the class names, as JSON would give it back."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (*job.train, *(job.val or () if job.recipe.keep_best else ())):
        if isinstance(array, LazyImages):
            digest.update(array.fingerprint.encode())
            continue
        for start in range(0, len(array), 4096):
            digest.update(np.ascontiguousarray(array[start : start + 4096]).data)
    settings = {
        "network": job.make_model if isinstance(job.make_model, str) else None,
        "n_classes": job.n_classes,
        "class_names": class_names,
        "inputs": asdict(job.inputs),
        "recipe": asdict(job.recipe),
        "seed": job.seed,
        "subset": None if job.subset is None else repr(job.subset),
        "data": digest.hexdigest(),
        "threads": threads,
        "torch": torch.__version__,
    }
    return dict(_tuples(json.loads(json.dumps(settings))))


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(part) for key, part in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
