"""Volumes in files: where their voxels are in the world, and their values, mapped.

Formats: NIfTI (.nii, .nii.gz), nnU-Net's .npz with the NIfTI file of its segmentation beside it,
and .npy. Volumes are compared, never reoriented or resampled.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._errors import InputError
from .._lazy import imported
from ..io.files import check_regular, reading

SUFFIXES = (".nii.gz", ".nii", ".npz", ".npy")
TOLERANCE = 0.01  # voxels: headers hold rounded numbers
NNUNET_KEY = "probabilities"
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Grid:
    """The voxels of a volume and their place in the world, in millimeters."""

    shape: tuple[int, ...]
    affine: np.ndarray
    file: Path
    placed: bool = True
    """Whether the file has an affine; otherwise the voxels are 1 mm apart."""

    @property
    def spacing(self) -> np.ndarray:
        """Millimeters between voxels along each axis."""
        return np.asarray(np.sqrt((self.affine[:3, :3] ** 2).sum(axis=0)))

    @property
    def voxel_ml(self) -> float:
        """Milliliters of a voxel."""
        return float(abs(np.linalg.det(self.affine[:3, :3])) / 1000)

    def world(self, voxel: Any) -> np.ndarray:
        """World coordinates of a voxel, in millimeters."""
        return np.asarray(self.affine[:3, :3] @ np.asarray(voxel) + self.affine[:3, 3])


@dataclass(frozen=True, eq=False)
class Volume:
    """A file whose header has been read."""

    file: Path
    grid: Grid
    channels: int | None
    """``None`` for a volume of three axes."""
    read: Callable[[], np.ndarray]
    """Its values, (x, y, z) or (channels, x, y, z), as a map of the file or of a temporary file."""


def stem_of(path: Path) -> str | None:
    """The name of a case; ``None`` for other files."""
    for suffix in SUFFIXES:
        if path.name.endswith(suffix) and not path.name.startswith("."):
            return path.name.removesuffix(suffix)
    return None


def open_volume(path: Path) -> Volume:
    """Read the header of a volume."""
    with reading(path):
        check_regular(path)
        if path.suffix == ".npz":
            return _open_npz(path)
        if path.suffix == ".npy":
            return _open_npy(path)
        return _open_nifti(path)


def _open_nifti(path: Path) -> Volume:
    nibabel = imported("nibabel", "NIfTI files need nibabel", "medical")
    image = nibabel.load(path)
    shape, proxy = tuple(image.shape), image.dataobj
    if len(shape) == 5 and shape[3] == 1:  # how NIfTI stores vectors
        shape = (*shape[:3], shape[4])
    if len(shape) not in (3, 4) or 0 in shape:
        raise InputError(f"shape: must have 3 axes, or 4 with the classes last; got {shape}")
    affine = np.asarray(image.affine, dtype=float)
    if not np.all(np.isfinite(affine)) or abs(np.linalg.det(affine)) < 1e-12:
        raise InputError(f"affine: must be finite and invertible; got {affine.tolist()}")
    slope, inter = float(proxy.slope), float(proxy.inter)

    def read() -> np.ndarray:
        source: Any = path
        if path.suffix == ".gz":
            with gzip.open(path) as packed:
                source = _unpack(packed)
        values: np.ndarray = np.memmap(source, proxy.dtype, "r", proxy.offset, shape, "F")
        if (slope, inter) != (1, 0):
            values = _scale(values, slope, inter)
        return np.moveaxis(values, -1, 0) if len(shape) == 4 else values

    channels = shape[3] if len(shape) == 4 else None
    return Volume(path, Grid(shape[:3], affine, path), channels, read)


def _open_npz(path: Path) -> Volume:
    """nnU-Net's probabilities, (classes, z, y, x)."""
    beside = _nifti_beside(path)
    if beside is None:
        raise InputError(
            "affine: there is no NIfTI file of the same name beside it, which nnU-Net writes "
            "with the probabilities"
        )
    with zipfile.ZipFile(path) as archive:
        if f"{NNUNET_KEY}.npy" not in archive.namelist():
            raise InputError(
                f"{NNUNET_KEY}: there is no such array; got {', '.join(archive.namelist())}"
            )
        with archive.open(f"{NNUNET_KEY}.npy") as entry:
            shape, fortran, dtype = _npy_header(entry)
    grid = open_volume(beside).grid
    if len(shape) != 4 or shape[:0:-1] != grid.shape or fortran:
        raise InputError(
            f"shape: must be (classes, z, y, x) with the voxels of {beside.name}, "
            f"(classes, {', '.join(map(str, grid.shape[::-1]))}); got {shape}"
        )

    def read() -> np.ndarray:
        with zipfile.ZipFile(path) as archive, archive.open(f"{NNUNET_KEY}.npy") as entry:
            _npy_header(entry)
            values = np.memmap(_unpack(entry), dtype, "r", 0, shape)
        return values.transpose(0, 3, 2, 1)

    return Volume(path, grid, shape[0], read)


def _open_npy(path: Path) -> Volume:
    """(x, y, z) or (channels, x, y, z), with the affine of a NIfTI file beside it, if any."""
    with path.open("rb") as file:
        shape, _, _ = _npy_header(file)
    if len(shape) not in (3, 4) or 0 in shape:
        raise InputError(f"shape: must be (x, y, z) or (classes, x, y, z); got {shape}")
    grid = Grid(shape[-3:], np.eye(4), path, placed=False)
    beside = _nifti_beside(path)
    if beside is not None:
        there = open_volume(beside).grid
        check_same_grid(grid, there)
        grid = there

    def read() -> np.ndarray:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))

    channels = shape[0] if len(shape) == 4 else None
    return Volume(path, grid, channels, read)


def _nifti_beside(path: Path) -> Path | None:
    for suffix in (".nii.gz", ".nii"):
        beside = path.with_suffix(suffix)
        if beside.is_file():
            return beside
    return None


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_2_0
    if version == (1, 0):
        read_header = np.lib.format.read_array_header_1_0
    shape, fortran, dtype = read_header(file)
    if dtype.kind not in "iufb":
        raise InputError(f"type: must be numbers; got {dtype}")
    return shape, fortran, dtype


def _unpack(packed: Any) -> IO[bytes]:
    """The rest of a compressed stream in a temporary file that vanishes with its last user: a map
    of it takes no memory, and any slab of it can be read.
    """
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115
    shutil.copyfileobj(packed, file, 1 << 20)
    file.flush()
    return file


def _scale(values: np.ndarray, slope: float, inter: float) -> np.ndarray:
    """Stored integers as the numbers that they stand for, in a temporary file."""
    with tempfile.TemporaryFile() as file:
        scaled = np.memmap(file, np.float32, "w+", 0, values.shape, "F")
    for i in range(values.shape[-1]):
        scaled[..., i] = values[..., i] * slope + inter
    return scaled


def check_same_grid(grid: Grid, reference: Grid) -> None:
    """Refuse a volume whose voxels lie elsewhere; types and codes of headers may differ."""
    where, other = str(grid.file), reference.file
    if grid.shape != reference.shape:
        raise InputError(
            f"shape: must be that of {other}, {reference.shape}; got {grid.shape}. labelwise "
            "does not resample",
            where=where,
        )
    if not (grid.placed and reference.placed):
        return
    # From voxels of one grid to those of the other.
    move = np.linalg.inv(reference.affine) @ grid.affine
    corners = np.array([(*corner, 1) for corner in product(*[(0, n - 1) for n in grid.shape])])
    distance = np.abs(corners @ move.T - corners).max()
    if distance > TOLERANCE:
        raise InputError(
            f"affine: {_difference(move)} against {other}, by up to {distance:.3g} voxels. "
            "labelwise does not reorient or resample",
            where=where,
        )


def _difference(move: np.ndarray) -> str:
    """What distinguishes two grids, in words."""
    turn, shift = move[:3, :3], move[:3, 3]
    if np.abs(turn - np.eye(3)).max() < 1e-4:
        return f"shifted by ({', '.join(f'{x:.3g}' for x in shift)}) voxels"
    whole = np.round(turn)
    if np.abs(turn - whole).max() < 1e-3 and np.array_equal(np.abs(whole).sum(axis=0), [1, 1, 1]):
        axes = np.abs(whole).argmax(axis=0)
        if not np.array_equal(axes, [0, 1, 2]):
            return f"the axes x, y, z are swapped to {', '.join(AXES[i] for i in axes)}"
        flipped = [name for name, sign in zip(AXES, np.diagonal(whole), strict=True) if sign < 0]
        return f"axis {' and '.join(flipped)} flipped"
    return "another voxel size or rotation"
