"""Thumbnails of the cases, spread over the same strata as the members."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import channels_first, to_numpy
from .strata import Chosen

LARGEST_SIDE = 48  # pixels
IMAGE_BYTES = 6_000_000  # of base64
PROBES = 16


def thumbnails(
    images: Any, source: np.ndarray, choose: Callable[[int], Chosen]
) -> tuple[np.ndarray, list[str]]:
    """Which of the images at ``source`` (n,) are embedded, as positions in it, and their PNG files
    in base64. ``choose`` picks at most so many of the n.
    """
    probe = source[:: max(1, len(source) // PROBES)]
    low, high = 0.0, 255.0
    if images.dtype != np.uint8:  # black is 0 and white 1, unless the data need more
        values = np.stack([np.asarray(images[i], float) for i in probe])
        values = values[np.isfinite(values)]
        low, high = values.min(initial=0.0), values.max(initial=1.0)
    first = channels_first(images.shape)

    def thumbnail(i: int) -> str:
        image = np.nan_to_num(np.asarray(images[i], np.float64))
        if first:
            image = np.moveaxis(image, 0, -1)
        return base64.b64encode(_reduced((image - low) / (high - low))).decode("ascii")

    size = np.mean([len(thumbnail(i)) for i in probe])
    chosen = choose(int(IMAGE_BYTES / size)).rows
    return chosen, [thumbnail(i) for i in source[chosen]]


def positions_of_images(images: Any, image_index: Any, n: int) -> np.ndarray:
    """The case that each image belongs to."""
    if len(images.shape) not in (3, 4):
        raise ValueError(
            f"`images` must have shape (n, H, W), (n, H, W, C) or (n, C, H, W); got {images.shape}"
        )
    count = images.shape[0]
    if image_index is None:
        if count != n:
            raise ValueError(
                f"there are {count} `images` for {n} instances; say which they belong to with "
                "`image_index`"
            )
        return np.arange(count)
    where = to_numpy(image_index)
    whole = where.shape == (count,) and where.dtype.kind in "iu"
    if not whole or not np.all((where >= 0) & (where < n)):
        raise ValueError(
            f"`image_index` must be a position from 0 to {n - 1} for each of the {count} images"
        )
    return where


def _reduced(image: np.ndarray) -> bytes:
    """One image (H, W) or (H, W, C) from 0 to 1 as PNG, reduced by averaging blocks of pixels."""
    height, width = image.shape[:2]
    factor = -(-max(height, width) // LARGEST_SIDE)
    y, x = min(factor, height), min(factor, width)
    whole = image[: height // y * y, : width // x * x]
    pixels = whole.reshape(height // y, y, width // x, x, -1).mean(axis=(1, 3))
    channels = 3 if pixels.shape[-1] >= 3 else 1
    shades = np.rint(255 * np.clip(pixels[..., :channels], 0, 1))
    return png(shades.astype(np.uint8))


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
