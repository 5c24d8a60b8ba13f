"""Maps of uncertainty, segmentations and components as NIfTI files in the grid of the input."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._validation.arguments import check_choice
from ..decomposition import PARTS
from ..io.atomic import replacing
from ..losses import Loss, LossName, as_loss
from .cases import Case
from .images import nibabel
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
    place, paths = Path(folder), []
    predicted = Predicted(case)
    for details in examine(predicted, loss=loss, events=events, parts=parts):
        paths += write_maps(details, parts, place, loss=loss, as_float=as_float, compress=compress)
    return paths + write_segmentation(predicted, place, compress=compress)


def write_maps(
    details: Details,
    parts: Sequence[str],
    folder: Path,
    *,
    loss: LossName | Loss,
    as_float: bool,
    compress: bool,
) -> list[Path]:
    """Write maps of a structure, and its components."""
    scale = None
    if not as_float:
        scale = float(np.max(as_loss(loss).maximum)) / LEVELS
    start = f"{details.case.name}_{file_name(details.name)}"
    paths = []
    for part in parts:
        name = f"{start}_{part}"
        paths.append(write_nifti(folder, name, details.parts[part], details.case, compress, scale))
    name = f"{start}_components"
    return [*paths, write_nifti(folder, name, details.numbers, details.case, compress)]


def write_segmentation(predicted: Predicted, folder: Path, *, compress: bool) -> list[Path]:
    """Write the mean prediction; regions may overlap and have none."""
    if predicted.kind == "regions":
        return []
    name = f"{predicted.case.name}_segmentation"
    return [write_nifti(folder, name, predicted.mean, predicted.case, compress)]


def write_nifti(
    folder: Path,
    name: str,
    values: np.ndarray,
    case: Case,
    compress: bool,
    scale: float | None = None,
) -> Path:
    """Write an array (z, y, x), whole or not at all; with ``scale`` as multiples of it."""
    if scale is not None:
        values = np.rint(values / scale).astype(np.uint16)
    elif values.dtype.kind in "iu":
        values = values.astype(smallest_type(values))
    image = nibabel().Nifti1Image(values.T, case.grid.affine, dtype=values.dtype)
    image.header.set_xyzt_units("mm")
    if scale is not None:
        image.header.set_slope_inter(scale, 0)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.nii{'.gz' if compress else ''}"
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
