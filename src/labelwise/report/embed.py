r"""Compact encoding of predictions for the page.

A probability is stored as the nearest of 65,535 angles, :math:`p = \sin^2(\pi i / 131068)`: 0, ½
and 1 are exact, and near 0 and 1, where entropies are most sensitive to rounding, the steps are
smallest. The page renormalizes mutually exclusive classes.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from .._arrays import channels_first

STEPS = 65534
LARGEST_THUMBNAIL, SMALLEST_THUMBNAIL = 64, 32
IMAGE_BYTES = 6_000_000


def quantize(probs: np.ndarray) -> np.ndarray:
    """Probabilities as uint16."""
    angle = np.arcsin(np.sqrt(np.clip(np.asarray(probs, np.float64), 0, 1)))
    return np.rint(angle * (2 * STEPS / np.pi)).astype(np.uint16)


def restore_quantized(codes: np.ndarray, *, normalize: bool) -> np.ndarray:
    """Decode as the page does, in float64."""
    table = np.sin(np.arange(STEPS + 1) * (np.pi / (2 * STEPS))) ** 2
    table[[STEPS // 2, STEPS]] = 0.5, 1.0
    probs: np.ndarray = table[codes]
    if normalize:
        probs = probs / probs.sum(axis=-1, keepdims=True)
    return probs


def pack_for_page(values: np.ndarray, dtype: str) -> str:
    """Little-endian numbers as base64 text."""
    little_endian = np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(little_endian.tobytes()).decode("ascii")


def thumbnails(images: Any, wanted: np.ndarray) -> list[str]:
    """PNG files in base64 of the ``wanted`` images (N, H, W), (N, H, W, C) or (N, C, H, W), as many
    as fit the size limit.

    If there are many, they are reduced, but not below 32 pixels.
    """
    probe = wanted[np.unique(np.linspace(0, len(wanted) - 1, 16).astype(int))]
    bounds = _range(images, probe)
    first = channels_first(images.shape)
    side = max(images.shape[1:3])
    if first:
        side = max(images.shape[2:4])

    def thumbnail(i: int, factor: int) -> bytes:
        image = np.asarray(images[i])
        if first:
            image = np.moveaxis(image, 0, -1)
        return _thumbnail(image, factor, bounds)

    factor = max(1, -(-side // LARGEST_THUMBNAIL))
    while side >= (factor + 1) * SMALLEST_THUMBNAIL:
        expected = len(wanted) * np.mean([len(thumbnail(i, factor)) for i in probe])
        if expected <= IMAGE_BYTES:
            break
        factor += 1
    found: list[str] = []
    spent = 0
    for i in wanted:
        data = thumbnail(i, factor)
        spent += len(data)
        if spent > IMAGE_BYTES:
            break
        found.append(base64.b64encode(data).decode("ascii"))
    return found


def _range(images: Any, probe: np.ndarray) -> tuple[float, float]:
    """The values of black and white: 0 to 255 for bytes, 0 to 1 if that fits, else the range of the
    data.
    """
    if images.dtype == np.uint8:
        return 0.0, 255.0
    values = np.stack([np.asarray(images[i], float) for i in probe])
    values = values[np.isfinite(values)]
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    if low >= 0 and high <= 1:  # also without any value
        return 0.0, 1.0
    if low == high:
        return low, low + 1
    return low, high


def _thumbnail(image: Any, factor: int, bounds: tuple[float, float]) -> bytes:
    """One image, reduced by averaging ``factor`` × ``factor`` pixels."""
    pixels = np.nan_to_num(np.asarray(image, np.float64))
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    channels = 3 if pixels.shape[-1] >= 3 else 1
    pixels = pixels[..., :channels]
    if factor > 1:
        h, w = (max(1, size // factor) for size in pixels.shape[:2])
        pixels = pixels[: h * factor, : w * factor]
        blocks = pixels.reshape(h, pixels.shape[0] // h, w, pixels.shape[1] // w, -1)
        pixels = blocks.mean(axis=(1, 3))
    low, high = bounds
    return png(np.rint(np.clip((pixels - low) / (high - low), 0, 1) * 255).astype(np.uint8))


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of (H, W, 1) or (H, W, 3) bytes."""
    h, w, channels = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", w, h, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )
