"""The idx format of MNIST and its relatives: http://yann.lecun.com/exdb/mnist."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from ._limits import Readable, check_memory, human, read_array, refuse


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
    path = Path(path)
    with path.open("rb") as raw:
        compressed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            return _read(gzip.GzipFile(fileobj=raw) if compressed else raw, path, compressed)
        except EOFError as error:
            raise refuse(
                path, "the compressed data end too early; the file is truncated, get it again"
            ) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise refuse(
                path, f"the compressed data are corrupted ({error}); get the file again"
            ) from error


def _read(stream: Readable, path: Path, compressed: bool) -> np.ndarray:
    head = stream.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or not 1 <= head[3] <= 4:
        raise refuse(
            path,
            (
                f"not an idx file: it begins with {head.hex(' ') or 'nothing'} instead of 00 00 08 "
                "and the number of axes"
            ),
        )
    if head[2] != 8:
        raise refuse(
            path, f"an idx file of type {head[2]:#04x}; only unsigned bytes (0x08) are read"
        )
    sizes = stream.read(4 * head[3])
    if len(sizes) < 4 * head[3]:
        raise refuse(path, "the file ends inside its header; it is truncated")
    shape = struct.unpack(f">{head[3]}I", sizes)
    nbytes = check_memory(path, shape, 1)
    if not compressed and path.stat().st_size != 4 + len(sizes) + nbytes:
        raise refuse(
            path,
            (
                f"its header promises {human(nbytes)} (shape {shape}), but "
                f"{human(path.stat().st_size - 4 - len(sizes))} follow"
            ),
        )
    array = read_array(stream, shape, np.uint8, path)
    # Reading on to the end also makes gzip compare its checksum.
    if stream.read(1):
        raise refuse(
            path,
            f"there are more data than its header promises (shape {shape}); the header is wrong",
        )
    return array
