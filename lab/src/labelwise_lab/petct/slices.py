"""Coronal slices: choice of planes, resampling to pixels, channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .volumes import Volume

AIR = -1000.0
"""Hounsfield units around the patient."""
TISSUE = -300.0
"""Hounsfield units above which a voxel is the patient (or the table), not air or lung."""
RULES = ("all", "body", "lesion")


def choose_planes(ct: Volume, lesion: np.ndarray, *, rule: str, step: float) -> np.ndarray:
    """Indices along the axis from back to front, about ``step`` millimeters apart.

    ``rule`` "all" takes every such plane, "body" those with at least 1 % of voxels above −300 HU,
    "lesion" those that intersect a lesion. For a lesion between planes, the plane with most of its
    voxels is added.
    """
    n = ct.values.shape[1]
    stride = max(1, round(step / ct.spacing[1])) if step > 0 else 1
    regular = np.zeros(n, dtype=bool)
    regular[(n % stride) // 2 :: stride] = True
    marked = np.count_nonzero(lesion, axis=(0, 2))
    if rule == "body":
        area = ct.values.shape[0] * ct.values.shape[2]
        regular &= np.array(
            [np.count_nonzero(ct.values[:, j] > TISSUE) >= 0.01 * area for j in range(n)]
        )
        if not regular.any():
            return np.flatnonzero(regular)  # a lesion in air is not a body
    elif rule == "lesion":
        regular &= marked > 0
    edges = np.flatnonzero(np.diff(np.r_[0, marked > 0, 0]))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if not regular[first:end].any():
            regular[first + int(np.argmax(marked[first:end]))] = True
    return np.flatnonzero(regular)


def interpolation(n_in: int, spacing: float, n_out: int, pixel: float) -> Any:
    """Sparse matrix (n_out, n_in) that resamples voxels ``spacing`` apart to pixels ``pixel``
    apart, with a common center.

    Linear interpolation if pixels are smaller than voxels, otherwise a triangle filter two pixels
    wide, against aliasing. Rows sum to 1 inside the volume and fall to 0 beyond its edge.
    """
    from scipy.sparse import csr_array

    reach = max(1.0, pixel / spacing)
    center = (np.arange(n_out) - (n_out - 1) / 2) * (pixel / spacing) + (n_in - 1) / 2
    offsets = np.arange(-int(np.ceil(reach)), int(np.ceil(reach)) + 2)
    column = np.floor(center).astype(int)[:, None] + offsets
    weight = np.clip(1 - np.abs(column - center[:, None]) / reach, 0, None)
    weight /= weight.sum(axis=1, keepdims=True)
    inside = (column >= 0) & (column < n_in) & (weight > 0)
    rows = np.broadcast_to(np.arange(n_out)[:, None], column.shape)
    return csr_array(
        (weight[inside].astype(np.float32), (rows[inside], column[inside])), shape=(n_out, n_in)
    )


def cut(
    volume: Volume, planes: np.ndarray, size: int, *, outside: float, stretch: bool = False
) -> np.ndarray:
    """Coronal slices (planes, size, size), float32: head up, the patient's right on the left
    (radiological convention).

    Proportions are kept: the longer side fills the image, the shorter is padded with ``outside``.
    With ``stretch`` both sides fill it.
    """
    nx, _, nz = volume.values.shape
    width, height = nx * volume.spacing[0], nz * volume.spacing[2]
    across, along = (width / size, height / size) if stretch else (max(width, height) / size,) * 2
    to_columns = interpolation(nx, volume.spacing[0], size, across)
    to_rows = interpolation(nz, volume.spacing[2], size, along)
    images = np.empty((len(planes), size, size), np.float32)
    for image, plane in zip(images, planes, strict=True):
        part = np.ascontiguousarray(
            volume.values[::-1, plane, ::-1], dtype=np.float32
        ) - np.float32(outside)
        image[:] = (to_rows @ (to_columns @ part).T) + np.float32(outside)
    return images


def to_bytes(images: np.ndarray, low: float, high: float) -> np.ndarray:
    """Map values from ``low`` to ``high`` to 0 … 255, clipped."""
    scaled = (images - np.float32(low)) * np.float32(255 / (high - low))
    return np.asarray(np.rint(np.clip(scaled, 0, 255)).astype(np.uint8))


def fuse(pet: np.ndarray, ct: np.ndarray) -> np.ndarray:
    """PET over CT at half opacity: the rounded mean of the two channels."""
    return np.asarray(((pet.astype(np.uint16) + ct + 1) // 2).astype(np.uint8))


def thumbnails(images: np.ndarray, size: int = 128) -> np.ndarray:
    """Small pictures for people, (N, s, s, 3) of red, green and blue with s ≤ ``size``: CT in gray,
    uptake in red.
    """
    step = -(-images.shape[1] // size)
    pet, ct = images[:, ::step, ::step, 0], images[:, ::step, ::step, 1]
    gray = np.minimum(ct, 255 - pet)
    return np.stack([np.maximum(ct, pet), gray, gray], axis=-1)
