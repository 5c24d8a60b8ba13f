"""Volumes in files: where their voxels are in the world, and their values, mapped.

Arrays are (z, y, x), or (classes, z, y, x) as nnU-Net stores them: NIfTI files have that order,
too, when they are read from first to last byte. Volumes are compared, never reoriented.
"""

from __future__ import annotations

import gzip
import shutil
import zipfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from .._arrays import Array
from .._errors import InputError
from .._lazy import imported
from ..io.files import check_regular, reading

SUFFIXES = (".nii.gz", ".nii", ".npz", ".npy")  # the last of several is read
TOLERANCE = 0.01  # voxels: headers hold rounded numbers


@dataclass(frozen=True, eq=False)
class Volume:
    """A file and its grid; the values have not been read."""

    file: Path
    shape: tuple[int, ...]
    """(z, y, x)."""
    affine: Array
    """From voxels (x, y, z) to millimeters, as in NIfTI."""
    placed: bool
    """Whether there is an affine; otherwise voxels are taken to be 1 mm apart."""

    @property
    def spacing(self) -> Array:
        """Millimeters between voxels along z, y and x."""
        return np.linalg.norm(self.affine[:3, :3], axis=0)[::-1]

    def ml(self, mask: Array) -> float:
        """Milliliters of a mask."""
        return float(abs(np.linalg.det(self.affine)) / 1000 * np.count_nonzero(mask))

    @property
    def place(self) -> str:
        """Where the grid lies, in words."""
        axes = "".join(nibabel().aff2axcodes(self.affine))
        return f"axes {axes} from {self.affine[:3, 3].round(2).tolist()} mm"

    def error(self, sentence: str) -> InputError:
        """An error that names the file."""
        return InputError(sentence, where=str(self.file))

    def read(self) -> Array:
        """The values, as a map of the file or of a temporary file that it is unpacked to."""
        with reading(self.file):
            values = _read_values(self.file)
        if values.ndim not in (3, 4) or values.shape[-3:] != self.shape:
            raise self.error(
                f"shape: must be (z, y, x) = {self.shape}, or with the classes before it; got "
                f"{values.shape}"
            )
        return values


def nibabel() -> Any:
    """The library."""
    return imported("nibabel", "NIfTI files need nibabel", "medical")


def open_volume(path: Path) -> Volume:
    """Read the grid of a volume; that of an array is in the NIfTI file beside it."""
    with reading(path):
        check_regular(path)
        placed_by = path
        if path.suffix in (".npz", ".npy"):
            beside = map(path.with_suffix, SUFFIXES[:2])
            placed_by = next(filter(Path.is_file, beside), path)
        if placed_by.suffix == ".npz":
            raise InputError("affine: there is no NIfTI file of the same name beside it")
        placed = placed_by.suffix != ".npy"
        if placed:
            image = nibabel().load(placed_by)
            shape, affine = image.shape[2::-1], np.asarray(image.affine, dtype=float)
        else:
            shape, affine = np.load(path, mmap_mode="r").shape[-3:], np.eye(4)
        if len(shape) < 3 or 0 in shape:
            raise InputError(f"shape: must have three axes, none empty; got {shape}")
        if not np.isfinite(affine).all() or abs(np.linalg.det(affine)) < 1e-9:
            raise InputError(f"affine: must be finite and invertible; got {affine.tolist()}")
        return Volume(path, shape, affine, placed)


def _read_values(path: Path) -> Array:
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive, archive.open("probabilities.npy") as packed:
            return _unpack(packed, ".npy")
    if path.suffix == ".gz":
        with gzip.open(path) as packed:
            return _unpack(packed, ".nii")
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r")
    values = np.asanyarray(nibabel().load(path).dataobj).T
    return values[:, 0] if values.ndim == 5 else values  # how NIfTI stores vectors


def _unpack(packed: Any, suffix: str) -> Array:
    """Values of a compressed file. A map of a temporary file takes no memory, and its slabs can be
    read in any order; the file vanishes with the map.
    """
    with NamedTemporaryFile(suffix=suffix) as file:
        shutil.copyfileobj(packed, file, 1 << 20)
        file.flush()
        return _read_values(Path(file.name))


def check_same_grid(volume: Volume, reference: Volume) -> None:
    """Refuse a volume whose voxels lie elsewhere; types and codes of headers may differ."""
    end = f"of {reference.file}; volumes are not reoriented or resampled"
    if volume.shape != reference.shape:
        raise volume.error(f"shape: (z, y, x) = {volume.shape} against {reference.shape} {end}")
    ends = [(0, n - 1) for n in volume.shape[::-1]]
    corners = np.array(list(product(*ends, [1])))
    moved = corners @ (np.linalg.inv(reference.affine) @ volume.affine).T
    distance = np.abs(moved - corners).max()
    if volume.placed and distance > TOLERANCE:
        raise volume.error(
            f"affine: voxels up to {distance:.3g} voxels apart; {volume.place} against "
            f"{reference.place} {end}"
        )
