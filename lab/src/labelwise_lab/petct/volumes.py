"""Read untrusted NIfTI volumes into one orientation.

nibabel parses the header; sizes are bounded before memory is allocated, voxels are read block by
block, and a compressed file is read to its end to verify its checksum. Nothing is executed or
unpickled.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from labelwise._lazy import imported
from labelwise.io.files import open_regular
from labelwise.io.npz import Readable

MAX_VOXELS = 2**28
"""Larger than any PET/CT volume (published: 400 × 400 × 300); a larger claim is damage or an
attack.
"""
_LONGEST_PREAMBLE = 2**24
_BLOCK = 2**20
_STRAIGHT = np.sin(np.radians(0.5))
"""Axes that deviate by less than half a degree count as straight."""
_MILLIMETERS = {0: 1.0, 1: 1000.0, 2: 1.0, 3: 0.001}
"""Millimeters by the header's unit code: unknown, meter, millimeter, micrometer."""


@dataclass(frozen=True, eq=False)
class Volume:
    """A volume whose axes point toward the patient's right, front and head."""

    values: np.ndarray
    """float32, (x, y, z); a view of the stored order if possible."""
    spacing: tuple[float, float, float]
    """Millimeters between voxels along each axis."""
    origin: tuple[float, float, float]
    """World coordinates of the first voxel."""
    stored: str
    """Orientation in the file, such as "LPS"."""
    sha256: str
    """Checksum of the file on disk."""


def nibabel() -> Any:
    """Import nibabel, or say how to install it."""
    return imported("nibabel", "Reading NIfTI volumes needs nibabel", "medical")


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
    nib = nibabel()
    try:
        values, affine, digest = _read(nib, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} is truncated or damaged: {error}") from error
    orientation = nib.orientations.io_orientation(affine)
    stored = "".join(nib.orientations.ornt2axcodes(orientation))
    straight = nib.orientations.apply_orientation(values, orientation)
    affine = affine @ nib.orientations.inv_ornt_aff(orientation, values.shape)
    return _straightened(straight, affine, stored, digest, outside, order, path.name)


def same_grid(a: Volume, b: Volume) -> bool:
    """Whether two volumes have the same grid, to a tenth of a voxel."""
    if a.values.shape != b.values.shape:
        return False
    tolerance = 0.1 * min(a.spacing)
    far = [o + s * n for o, s, n in zip(a.origin, a.spacing, a.values.shape, strict=True)]
    other = [o + s * n for o, s, n in zip(b.origin, b.spacing, b.values.shape, strict=True)]
    return bool(
        np.allclose(a.origin, b.origin, rtol=0, atol=tolerance)
        and np.allclose(far, other, rtol=0, atol=tolerance)
    )


class _Hashing:
    """A file whose bytes are hashed as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sha256 = file, hashlib.sha256()

    def read(self, n: int = -1, /) -> bytes:
        block = self.file.read(n)
        self.sha256.update(block)
        return block


def _read(nib: Any, path: Path) -> tuple[np.ndarray, np.ndarray, str]:
    """Voxels as float32 in the stored order, their affine in millimeters, and the checksum of the
    file.
    """
    with ExitStack() as stack:
        hashing = _Hashing(stack.enter_context(open_regular(path)))
        stream: Readable = hashing
        if path.suffix == ".gz":
            unpacked: Any = gzip.GzipFile(fileobj=hashing)  # type: ignore[call-overload]
            stream = stack.enter_context(unpacked)
        header, used = _header(nib, stream, path.name)
        shape, affine, dtype, start, (slope, inter) = _checked(nib, header, path.name)
        _skip(stream, start - used, path.name)
        values = np.empty(prod(shape), np.float32)
        bad = 0
        for at in range(0, len(values), _BLOCK):
            part = values[at : at + _BLOCK]
            raw = np.frombuffer(_exactly(stream, len(part) * dtype.itemsize, path.name), dtype)
            with np.errstate(over="ignore", invalid="ignore"):
                part[:] = raw if slope is None else raw.astype(np.float64) * slope + (inter or 0.0)
            bad += len(part) - int(np.isfinite(part).sum())
        if bad:
            raise ValueError(
                f"{path.name} has {bad:,} voxels that are not finite (NaN or infinite)"
            )
        _skip(stream, _LONGEST_PREAMBLE, path.name, to_the_end=True)
        while hashing.read(_BLOCK):
            pass
    return values.reshape(shape, order="F"), affine, hashing.sha256.hexdigest()


def _header(nib: Any, stream: Readable, name: str) -> tuple[Any, int]:
    """The NIfTI-1 or NIfTI-2 header and its number of bytes."""
    start = _exactly(stream, 4, name)
    sizes = {int.from_bytes(start, "little"), int.from_bytes(start, "big")}
    for kind, size in ((nib.Nifti1Header, 348), (nib.Nifti2Header, 540)):
        if size in sizes:
            block = start + _exactly(stream, size - 4, name)
            try:
                return kind.from_fileobj(io.BytesIO(block), check=False), size
            except Exception as error:  # nibabel raises various errors on garbage
                raise ValueError(f"{name} has a damaged header: {error}") from error
    raise ValueError(f"{name} is not a NIfTI file")


def _checked(
    nib: Any, header: Any, name: str
) -> tuple[tuple[int, ...], np.ndarray, np.dtype, int, tuple[float | None, float | None]]:
    """Validated shape, affine, type, offset and scaling of the voxels."""
    if header["magic"].item() not in (b"n+1", b"n+2"):
        raise ValueError(f"{name} is not a single-file NIfTI (.nii or .nii.gz)")
    try:
        shape = tuple(int(n) for n in header.get_data_shape())
        dtype = np.dtype(header.get_data_dtype())
        affine = np.array(header.get_best_affine(), dtype=float)
        slope, inter = header.get_slope_inter()
        start = int(header["vox_offset"])
        placed = int(header["sform_code"]) > 0 or int(header["qform_code"]) > 0
        unit = _MILLIMETERS.get(int(header["xyzt_units"]) % 8, 0.0)
    except Exception as error:  # unknown types, impossible scalings, invalid quaternions
        raise ValueError(f"{name} has a damaged header: {error}") from error
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) != 3:
        raise ValueError(f"{name} has {len(shape)} axes, shape {shape}; expected one volume with 3")
    if min(shape) < 1 or prod(shape) > MAX_VOXELS:
        raise ValueError(f"{name} has shape {shape}; expected 1 to {MAX_VOXELS:,} voxels")
    if dtype.kind not in "iuf":
        raise ValueError(f"{name} holds voxels of type {dtype}; expected numbers")
    if not placed:
        raise ValueError(
            f"{name} has no orientation (no sform and no qform), so left and right are unknown"
        )
    affine[:3] *= unit
    if not np.isfinite(affine).all():
        raise ValueError(f"{name} has an affine that is not finite")
    sizes = np.linalg.norm(affine[:3, :3], axis=0)
    if not (
        np.all(sizes > 0.05)
        and np.all(sizes < 100)
        and abs(np.linalg.det(affine[:3, :3] / sizes)) > 0.5
    ):
        raise ValueError(
            f"{name} has an impossible affine: voxels of {' × '.join(f'{s:.3g}' for s in sizes)} "
            "mm, or axes that are not at right angles"
        )
    if not 0 <= start <= _LONGEST_PREAMBLE:
        raise ValueError(f"{name} has a damaged header: its voxels begin at byte {start:,}")
    return shape, affine, dtype, start, (slope, inter)


def _exactly(stream: Readable, n: int, name: str) -> bytes:
    block = stream.read(n)
    while len(block) < n:
        more = stream.read(n - len(block))
        if not more:
            raise ValueError(f"{name} is truncated: it ends before its voxels do")
        block += more
    return block


def _skip(stream: Readable, n: int, name: str, *, to_the_end: bool = False) -> None:
    """Read and discard ``n`` bytes; at its end, gzip verifies the checksum of a compressed file."""
    while n > 0:
        block = stream.read(min(n, _BLOCK))
        if not block:
            if to_the_end:
                return
            raise ValueError(f"{name} is truncated: it ends before its voxels begin")
        n -= len(block)
    if to_the_end and stream.read(1):
        raise ValueError(f"{name} continues long after its last voxel; it is damaged")


def _straightened(
    values: np.ndarray,
    affine: np.ndarray,
    stored: str,
    digest: str,
    outside: float,
    order: int,
    name: str,
) -> Volume:
    """The volume on straight axes, interpolated if oblique."""
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    straight = Volume(
        values, tuple(spacing.tolist()), tuple(affine[:3, 3].tolist()), stored, digest
    )
    directions = affine[:3, :3] / spacing
    if np.abs(directions - np.diag(np.diag(directions))).max() < _STRAIGHT:
        return straight
    from scipy.ndimage import affine_transform

    corners = np.array(np.meshgrid(*[(0, n - 1) for n in values.shape])).reshape(3, -1)
    world = affine[:3, :3] @ corners + affine[:3, 3:]
    low = world.min(axis=1)
    shape = tuple(int(n) for n in np.round((world.max(axis=1) - low) / spacing) + 1)
    if prod(shape) > MAX_VOXELS:
        raise ValueError(
            f"{name} is oblique and would need {prod(shape):,} voxels on a straight grid; expected "
            f"at most {MAX_VOXELS:,}"
        )
    inverse = np.linalg.inv(affine[:3, :3])
    turned = affine_transform(
        values,
        inverse * spacing,
        inverse @ (low - affine[:3, 3]),
        shape,
        order=order,
        mode="constant",
        cval=outside,
        output=np.float32,
    )
    return replace(straight, values=turned, origin=tuple(low.tolist()))
