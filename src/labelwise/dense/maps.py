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
from .images import Volume, nibabel
from .predictions import Events
from .structures import Details, examine


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
    paths: list[Path] = []

    def write(details: Details) -> None:
        paths.extend(write_maps(details, Path(folder), loss, as_float=as_float, compress=compress))

    examine(case, loss=loss, events=events, parts=parts, use_details=write)
    return paths


def write_maps(
    details: Details, folder: Path, loss: LossName | Loss, *, as_float: bool, compress: bool
) -> list[Path]:
    """Write the maps of a structure and its components, and the segmentation if it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    case = details.case
    start = f"{case.name}_{file_name(details.structure.name)}"
    volumes = {f"{start}_{part}": values for part, values in details.parts.items()}
    volumes[f"{start}_components"] = details.components
    if details.segmentation is not None:
        volumes[f"{case.name}_segmentation"] = details.segmentation
    paths = []
    for name, values in volumes.items():
        scale = None
        if values.dtype == np.float32 and not as_float:
            # No structure can be more uncertain than a coin.
            scale = float(as_loss(loss).entropy(np.array(0.5))) / np.iinfo(np.uint16).max
        paths.append(folder / f"{name}.nii{'.gz' if compress else ''}")
        write_nifti(paths[-1], values, case.grid, scale)
    return paths


def write_nifti(path: Path, values: np.ndarray, grid: Volume, scale: float | None = None) -> None:
    """Write an array (z, y, x), whole or not at all; with ``scale`` as multiples of it."""
    if scale is not None:
        values = np.rint(values / scale).astype(np.uint16)
    elif values.dtype.kind == "i":
        values = values.astype(np.result_type(np.uint8, np.min_scalar_type(values.max())))
    image = nibabel().Nifti1Image(values.T, grid.affine, dtype=values.dtype)
    image.header.set_xyzt_units("mm")
    if scale is not None:
        image.header.set_slope_inter(scale, 0)
    with replacing(path) as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", 1, file, mtime=0) as packed:
                image.to_stream(packed)
        else:
            image.to_stream(file)


def file_name(structure: str) -> str:
    """A structure's name as a part of file names."""
    return re.sub(r"[^\w.-]+", "_", structure)
