"""Maps of uncertainty, segmentations and components as NIfTI files in the grid of the input."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._arrays import Array
from .._validation.arguments import check_choice
from ..decomposition import PARTS
from ..io.atomic import replacing
from ..losses import Loss, LossName, as_loss
from .cases import Case
from .images import Volume, nibabel
from .predictions import Events, Predicted, smallest_type
from .structures import Details, examine

LEVELS = np.iinfo(np.uint16).max


def maps(
    case: Case,
    folder: str | os.PathLike[str],
    *,
    parts: Sequence[str] = ("epistemic",),
    loss: LossName | Loss = "log",
    events: Events | None = None,
    as_float: bool = False,
    compress: bool = True,
) -> list[Path]:
    """Write NIfTI maps of each structure in the grid of the case.

    Parameters
    ----------
    case : Case
        From `cases`.
    folder : path
        Where to write; it is made if it is not there.
    parts : sequence of {"total", "aleatoric", "epistemic"}
        What to write for each structure.
    loss, events
        As for `structures`.
    as_float : bool
        float32 instead of 16-bit integers with a scale factor, whose steps are 1/65535 of the
        largest possible value.
    compress : bool
        .nii.gz, or .nii.

    Returns
    -------
    list of Path
        ``case_structure_epistemic.nii.gz`` and so on, ``case_structure_components.nii.gz`` with
        the numbers of `components`, and ``case_segmentation.nii.gz``, the mean prediction (not of
        regions, which overlap).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for member, label in (("a", 0), ("b", 1)):
    ...     np.save(folder / f"{member}.npy", np.full((2, 2, 2), label, np.uint8))
    >>> (case,) = lw.dense.cases(folder / "a.npy", folder / "b.npy", class_names=["none", "liver"])
    >>> paths = lw.dense.maps(case, folder / "maps", parts=["epistemic"])
    >>> [path.name.removeprefix(case.name) for path in paths]
    ['_liver_epistemic.nii.gz', '_liver_components.nii.gz', '_segmentation.nii.gz']
    """
    for part in parts:
        check_choice(part, "parts", PARTS)
    predicted = Predicted(case)
    paths = []
    for details in examine(predicted, loss, events, parts):
        paths += write_maps(details, parts, Path(folder), loss, as_float, compress)
    return paths + write_segmentation(predicted, Path(folder), compress)


def write_maps(
    details: Details,
    parts: Sequence[str],
    folder: Path,
    loss: LossName | Loss,
    as_float: bool,
    compress: bool,
) -> list[Path]:
    """Write maps of a structure, and its components."""
    start = f"{details.case.name}_{file_name(details.name)}"
    volumes = {f"{start}_{part}": details.uncertainty[part] for part in parts}
    volumes[f"{start}_components"] = details.numbers
    scale = None if as_float else float(np.max(as_loss(loss).maximum)) / LEVELS
    return [
        write_nifti(folder / name, values, details.case.grid, compress, scale)
        for name, values in volumes.items()
    ]


def write_segmentation(predicted: Predicted, folder: Path, compress: bool) -> list[Path]:
    """Write the mean prediction; regions may overlap and have none."""
    if predicted.kind == "regions":
        return []
    path = folder / f"{predicted.case.name}_segmentation"
    return [write_nifti(path, predicted.mean, predicted.case.grid, compress)]


def write_nifti(
    stem: Path, values: Array, grid: Volume, compress: bool, scale: float | None = None
) -> Path:
    """Write an array (z, y, x), whole or not at all; uncertainty with ``scale`` as multiples of
    it.
    """
    whole = values.dtype.kind != "f"
    if whole:
        values = values.astype(smallest_type(values))
    elif scale is not None:
        steps = np.empty(values.shape, np.uint16)
        for z, plane in enumerate(values):  # a copy of all would take much memory
            steps[z] = np.rint(plane / scale)
        values = steps
    image = nibabel().Nifti1Image(values.T, grid.affine, dtype=values.dtype)
    image.header.set_xyzt_units("mm")
    if scale is not None and not whole:
        image.header.set_slope_inter(scale, 0)
    stem.parent.mkdir(parents=True, exist_ok=True)
    path = stem.with_name(f"{stem.name}.nii{'.gz' if compress else ''}")
    with replacing(path) as file:
        if compress:
            with gzip.GzipFile("", "wb", 1, file, mtime=0) as packed:
                image.to_stream(packed)
        else:
            image.to_stream(file)
    return path


def file_name(structure: str) -> str:
    """A structure's name as a part of file names."""
    return re.sub(r"[^\w.-]+", "_", structure)
