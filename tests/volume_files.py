"""Volumes for tests: arrays are (x, y, z) here, as nibabel and users have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel
import numpy as np

SHAPE = (9, 8, 7)
OBLIQUE = np.array(
    [[0.6, -0.25, 0.8, -20.0], [0.3, 0.64, 0.1, 5.0], [-0.2, 0.1, 3.9, 30.0], [0, 0, 0, 1.0]]
)
ANISOTROPIC = np.diag([0.7, 0.7, 4.0, 1.0])


def nifti(path: Path, values: Any, affine: np.ndarray | None = None, dtype: Any = None) -> Path:
    """Write values (x, y, z), or (x, y, z, classes)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.asarray(values, dtype)
    image = nibabel.Nifti1Image(values, np.eye(4) if affine is None else affine, dtype=values.dtype)
    nibabel.save(image, path)
    return path


def probabilities(seed: int = 0, n_classes: int = 3, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """(x, y, z, classes), float32: the last class is likely in a box."""
    rng = np.random.default_rng(seed)
    evidence = np.ones((*shape, n_classes))
    evidence[2:6, 2:6, 2:5, -1] += 4
    evidence[..., 0] += 2
    return np.asarray(rng.gamma(evidence), np.float32) / 1.0


def normalized(values: np.ndarray) -> np.ndarray:
    return np.asarray(values / values.sum(axis=-1, keepdims=True), np.float32)


def soft_members(
    folder: Path, n: int = 3, cases: tuple[str, ...] = ("case",), **options: Any
) -> list[Path]:
    """Folders of members with probabilities as NIfTI."""
    affine = options.pop("affine", None)
    places = []
    for m in range(n):
        for i, case in enumerate(cases):
            probs = normalized(probabilities(10 * m + i, **options))
            nifti(folder / f"member{m}" / f"{case}.nii.gz", probs, affine)
        places.append(folder / f"member{m}")
    return places


def hard_members(
    folder: Path, maps: list[np.ndarray], affine: np.ndarray | None = None
) -> list[Path]:
    """Files of one case, label maps."""
    return [nifti(folder / f"{m}.nii", labels, affine, np.uint8) for m, labels in enumerate(maps)]
