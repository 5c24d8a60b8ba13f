"""Maps of uncertainty, segmentations and components as NIfTI files in the grid of the input."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InputError
from .._lazy import imported
from .._validation.arguments import check_choice
from ..decomposition import PARTS
from ..io.atomic import replacing
from ..losses import Loss, LossName, as_loss
from .cases import Case
from .images import Grid
from .structures import Details, Events, examine


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
    writer = MapWriter(Path(folder), parts, loss, as_float=as_float, compress=compress)
    examine(case, loss=loss, events=events, parts=writer.parts, use_details=writer.write)
    return writer.paths


class MapWriter:
    """Writes what is known of each structure."""

    def __init__(
        self,
        folder: Path,
        parts: Sequence[str],
        loss: LossName | Loss,
        *,
        as_float: bool,
        compress: bool,
    ) -> None:
        imported("nibabel", "NIfTI files need nibabel", "medical")
        for part in parts:
            check_choice(part, "parts", PARTS)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.parts = tuple(parts)
        self.suffix = ".nii.gz" if compress else ".nii"
        self.scale: float | None = None
        if not as_float:
            # No structure can be more uncertain than a coin.
            self.scale = float(as_loss(loss).entropy(np.array(0.5))) / np.iinfo(np.uint16).max
        self.paths: list[Path] = []
        self._names: Mapping[str, str] = {}

    def write(self, details: Details) -> None:
        """Maps and components of a structure, and the segmentation with the first of them."""
        case = details.predicted.case
        start = f"{case.name}_{file_name(details.structure.name)}"
        taken = [path.name for path in self.paths]
        if f"{start}_components{self.suffix}" in taken:
            raise InputError(
                f"two structures would have the file name {start!r}; give them other names"
            )
        for part in self.parts:
            self._save(details.parts[part], f"{start}_{part}", case.grid, self.scale)
        self._save(_smallest(details.components), f"{start}_components", case.grid)
        segmentation = getattr(details.predicted, "mean", None)
        name = f"{case.name}_segmentation"
        if segmentation is not None and f"{name}{self.suffix}" not in taken:
            self._save(_smallest(segmentation), name, case.grid)

    def _save(self, values: np.ndarray, name: str, grid: Grid, scale: float | None = None) -> None:
        path = self.folder / f"{name}{self.suffix}"
        write_nifti(path, values, grid, scale)
        self.paths.append(path)


def write_nifti(path: Path, values: np.ndarray, grid: Grid, scale: float | None = None) -> None:
    """Write a volume, with ``scale`` as multiples of it in 16 bits; whole or not at all."""
    nibabel: Any = imported("nibabel", "NIfTI files need nibabel", "medical")
    if scale is not None:
        values = np.rint(np.minimum(values / scale, np.iinfo(np.uint16).max)).astype(np.uint16)
    image = nibabel.Nifti1Image(values, grid.affine, dtype=values.dtype)
    image.header.set_xyzt_units("mm")
    if scale is not None:
        image.header.set_slope_inter(scale, 0)
    with replacing(path) as file:
        stream: Any = file
        if path.suffix == ".gz":
            import gzip

            stream = gzip.GzipFile("", "wb", 1, file, mtime=0)
        image.to_stream(stream)
        if stream is not file:
            stream.close()


def _smallest(labels: np.ndarray) -> np.ndarray:
    """Labels in the smallest type that holds them and that NIfTI has."""
    low, high = int(labels.min()), int(labels.max())
    for dtype in (np.uint8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return labels.astype(dtype)
    return labels.astype(np.int64)


def file_name(structure: str) -> str:
    """A structure's name as a part of file names."""
    return re.sub(r"[^\w.-]+", "_", structure)
