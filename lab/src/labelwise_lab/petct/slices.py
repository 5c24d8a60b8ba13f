"""Coronal slices: choice of planes, resampling to pixels, channels."""

from __future__ import annotations

import numpy as np
from PIL import Image

from .volumes import Volume

AIR = -1000.0  # Hounsfield units around the patient
TISSUE = -300.0  # above: the patient (or the table), not air or lung


def choose_planes(ct: Volume, lesion: np.ndarray, step: float) -> np.ndarray:
    """Indices along the axis from back to front, about ``step`` millimeters apart, with at least
    1 % of voxels above −300 HU. For a lesion between planes, the plane with most of its voxels is
    added.
    """
    n = ct.values.shape[1]
    stride = max(1, round(step / ct.spacing[1]))
    chosen = np.zeros(n, dtype=bool)
    chosen[(n % stride) // 2 :: stride] = True
    chosen &= np.mean(ct.values > TISSUE, axis=(0, 2)) >= 0.01
    if not chosen.any():
        raise ValueError("no coronal plane of it intersects a body")
    marked = np.count_nonzero(lesion, axis=(0, 2))
    edges = np.flatnonzero(np.diff(marked > 0, prepend=False, append=False))
    for first, end in edges.reshape(-1, 2):
        if not chosen[first:end].any():
            chosen[first + np.argmax(marked[first:end])] = True
    return np.flatnonzero(chosen)


def cut(volume: Volume, planes: np.ndarray, size: int, outside: float) -> np.ndarray:
    """Coronal slices (planes, size, size), float32: head up, the patient's right on the left
    (radiological convention).

    Linear interpolation if pixels are smaller than voxels, otherwise a triangle filter two pixels
    wide, against aliasing. Proportions are kept: the longer side fills the image, the shorter is
    padded with ``outside``.
    """
    extent = (volume.spacing * volume.values.shape)[[0, 2]]
    width, height = np.maximum(1, np.rint(size * extent / extent.max())).astype(int).tolist()
    left, top = (size - width) // 2, (size - height) // 2
    images = np.full((len(planes), size, size), outside, np.float32)
    for image, plane in zip(images, planes, strict=True):
        voxels = volume.values[::-1, plane, ::-1].T.astype(np.float32)
        resized = Image.fromarray(voxels).resize((width, height), Image.Resampling.BILINEAR)
        image[top : top + height, left : left + width] = resized
    return images


def to_bytes(images: np.ndarray, low: float, high: float) -> np.ndarray:
    """Map values from ``low`` to ``high`` to 0 … 255, clipped."""
    scaled = (images - low) * (255 / (high - low))
    return np.asarray(np.rint(scaled.clip(0, 255)), np.uint8)
