"""The idx format of MNIST and its relatives: http://yann.lecun.com/exdb/mnist."""

from __future__ import annotations

import gzip
import struct
import zlib
from math import prod
from pathlib import Path

import numpy as np

from ..files import refuse

GZIP = b"\x1f\x8b"


def read_idx(path: str | Path) -> np.ndarray:
    """Read an idx file of unsigned bytes, plain or gzip-compressed.

    Whether it is compressed is seen from its content. The header is the magic number (0, 0, 8,
    number of axes) and one big-endian 32-bit size per axis; the values follow. Returns uint8 of the
    shape that the header gives.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels-idx1-ubyte")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1]) + bytes([0, 0, 0, 3]) + bytes([7, 2, 1]))
    ...     labelwise_lab.datasets.read_idx(path)
    array([7, 2, 1], dtype=uint8)
    """
    content = Path(path).read_bytes()
    if content.startswith(GZIP):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise refuse(
                path, f"the compressed data are damaged ({error}); get the file again"
            ) from error
    if content[:3] != b"\0\0\x08" or len(content) < 8:
        start = content[:4].hex(" ") or "nothing"
        raise refuse(
            path, f"not an idx file of unsigned bytes: it begins with {start} instead of 00 00 08"
        )
    axes = content[3]
    if len(content) < 4 + 4 * axes:
        raise refuse(path, "the file ends inside its header; it is truncated")
    shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    if len(values) != prod(shape):
        raise refuse(
            path,
            f"its header promises {prod(shape):,} bytes (shape {shape}), but {len(values):,} "
            "are there",
        )
    return values.reshape(shape)
