"""Maps of uncertainty, segmentations and components as NIfTI files in the grid of the input."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Array
from .._validation.arguments import check_choice
from ..decomposition import PARTS
from ..io.atomic import replacing
from ..losses import Loss, LossName, as_loss
from .cases import Case
from .images import nibabel
from .predictions import Events, PredictedVolumes, file_name
from .structures import Details, Settings, examine


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
    folder = Path(folder)
    settings = Settings(loss, events, parts, as_float, compress)
    predicted = PredictedVolumes(case)
    paths = []
    for details in examine(predicted, settings):
        paths += write_maps(details, folder, settings)
    return paths + write_segmentation(predicted, folder, settings)


def write_maps(details: Details, folder: Path, settings: Settings) -> list[Path]:
    """Write maps of a structure, and its components."""
    paths = []
    for name in (*settings.parts, "components"):
        values = details.uncertainty.get(name, details.numbers)
        name = f"{file_name(details.name)}_{name}"
        paths.append(_write_nifti(folder, name, values, details.predicted.case, settings))
    return paths


def write_segmentation(predicted: PredictedVolumes, folder: Path, settings: Settings) -> list[Path]:
    """Write the mean prediction; regions may overlap and have none."""
    if predicted.kind == "regions":
        return []
    return [_write_nifti(folder, "segmentation", predicted.mean, predicted.case, settings)]


def _write_nifti(folder: Path, name: str, values: Array, case: Case, settings: Settings) -> Path:
    """Write an array (z, y, x), whole or not at all, plane by plane; uncertainty as multiples of
    the smallest step of 16 bits, if not as float.
    """
    scale, dtype = 1.0, values.dtype.type
    if values.dtype.kind == "f" and not settings.as_float:
        dtype = np.uint16
        scale = float(np.max(as_loss(settings.loss).maximum)) / np.iinfo(dtype).max
    image = nibabel().Nifti1Image(np.broadcast_to(dtype(0), values.T.shape), case.grid.affine)
    image.header.set_xyzt_units("mm")
    image.header.set_slope_inter(scale, 0)
    path = folder / f"{case.name}_{name}.nii{'.gz' if settings.compress else ''}"
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        packed: Any = nullcontext(file)
        if settings.compress:
            packed = gzip.GzipFile("", "wb", 1, file, mtime=0)
        with packed as opened:
            image.header.write_to(opened)
            for plane in values:
                if scale != 1:
                    plane = np.rint(plane / scale)
                opened.write(plane.astype(dtype).tobytes())
    return path
