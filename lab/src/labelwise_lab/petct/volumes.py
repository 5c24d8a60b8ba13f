"""Read NIfTI volumes with nibabel, into one orientation."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from nibabel.affines import obliquity, voxel_sizes
from nibabel.processing import resample_to_output

MAX_VOXELS = 2**28  # published: 400 × 400 × 300; a larger claim is damage
_NIFTI_2 = (b"\x1c\x02\0\0", b"\0\0\x02\x1c")  # the size of its header, 540, in either byte order


@dataclass(frozen=True, eq=False)
class Volume:
    """A volume whose axes point toward the patient's right, front and head."""

    values: np.ndarray
    """float32, (x, y, z); a view of the stored order if possible."""
    spacing: np.ndarray
    """Millimeters between voxels along each axis."""
    origin: np.ndarray
    """World coordinates of the first voxel."""

    @property
    def end(self) -> Any:
        """World coordinates behind the last voxel."""
        return self.origin + self.spacing * self.values.shape


def read_volume(path: Path, *, outside: float = 0.0, order: int = 1) -> Volume:
    """Read a .nii or .nii.gz file and reorient it by its affine.

    Axes are permuted and flipped without copying; a volume that is oblique by half a degree or more
    is interpolated onto a straight grid with the same voxel size.

    Parameters
    ----------
    path : path
    outside : float
        Fill value beyond the edges of an oblique volume (air).
    order : {0, 1}
        Interpolation: 0 nearest voxel (for masks), 1 linear.

    Raises
    ------
    ValueError
        If the file is damaged or unsupported; the message begins with its name.
    """
    try:
        values, affine = _read(path)
    except MemoryError:
        raise
    except Exception as error:  # nibabel, gzip and zlib raise many kinds, some of several lines
        reason = " ".join(str(error).split())
        raise ValueError(f"{path.name} cannot be used: {reason}") from error
    image = nib.as_closest_canonical(nib.Nifti1Image(values, affine))
    spacing = voxel_sizes(image.affine)
    # The largest angle between an axis and the world's.
    if np.degrees(obliquity(image.affine)).max() >= 0.5:
        image = resample_to_output(image, spacing, order=order, cval=outside)
    return Volume(np.asanyarray(image.dataobj), spacing, image.affine[:3, 3])


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Voxels as float32 in the stored order, and their affine."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        header_size = file.peek(4)[:4]
        kind = nib.Nifti2Image if header_size in _NIFTI_2 else nib.Nifti1Image
        image = kind.from_stream(file)
        _check_header(image)
        with np.errstate(over="ignore", invalid="ignore"):
            values = image.get_fdata(dtype=np.float32).reshape(image.shape[:3])
        # nibabel stops at the last voxel; gzip compares its checksum at the end of the file.
        while file.read(2**20):
            pass
    bad = int(np.count_nonzero(~np.isfinite(values)))
    if bad:
        raise ValueError(f"it has {bad:,} voxels that are not finite (NaN or infinite)")
    return values, image.affine


def _check_header(image: Any) -> None:
    """Refuse what is not one volume of numbers with a place, before its voxels are read."""
    shape, dtype = image.shape, image.get_data_dtype()
    if len(shape) < 3 or prod(shape[3:]) != 1:
        raise ValueError(f"it has {len(shape)} axes, shape {shape}; expected one volume with 3")
    if not 1 <= prod(shape) <= MAX_VOXELS:
        raise ValueError(f"it has shape {shape}; expected 1 to {MAX_VOXELS:,} voxels")
    if dtype.kind not in "iuf":
        raise ValueError(f"it holds voxels of type {dtype}; expected numbers")
    if image.header["sform_code"] == image.header["qform_code"] == 0:
        raise ValueError(
            "it has no orientation (no sform and no qform), so left and right are unknown"
        )
    sizes = voxel_sizes(image.affine)
    if not np.all((sizes > 0.05) & (sizes < 100)):
        raise ValueError(f"it has voxels of {sizes.round(4).tolist()} mm; expected 0.05 to 100")
