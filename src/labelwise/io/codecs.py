"""The compressions of chunks, decoded within bounds: what comes out is known beforehand, or the
chunk is refused.

Each function takes the compressed bytes and the most bytes that may come out, and raises
``ValueError`` on damage.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .._lazy import imported

_HEADER = struct.Struct("<4B3I")
_COPIED = 0b10
_ZSTD = b"\x28\xb5\x2f\xfd"


def _numcodecs() -> Any:
    return imported("numcodecs", "this compression needs numcodecs", "dask")


def blosc(data: bytes, most: int) -> bytes:
    """Blosc 1. Its decoder believes the header, and reads beyond a chunk that is shorter than that
    says; so the header is checked.
    """
    if len(data) < _HEADER.size:
        raise ValueError("a blosc chunk is cut short")
    version, _, flags, typesize, nbytes, blocksize, cbytes = _HEADER.unpack_from(data)
    if cbytes != len(data):
        raise ValueError(f"a blosc chunk has {len(data):,} bytes, but its header says {cbytes:,}")
    _check_size(nbytes, most)
    if version not in (1, 2) or flags & 0b1000 or flags >> 5 > 4 or typesize == 0:
        raise ValueError("a blosc chunk has an impossible header")
    if nbytes == 0:
        return b""
    if flags & _COPIED:
        if cbytes != nbytes + _HEADER.size:
            raise ValueError("a blosc chunk has an impossible header")
    elif not 0 < blocksize <= nbytes or _HEADER.size + 4 * -(-nbytes // blocksize) > cbytes:
        raise ValueError("a blosc chunk has an impossible header")
    else:
        blocks = -(-nbytes // blocksize)
        starts = np.frombuffer(data, "<u4", blocks, _HEADER.size)
        if int(starts.min()) < _HEADER.size + 4 * blocks or int(starts.max()) > cbytes - 4:
            raise ValueError("a blosc chunk has blocks that lie outside of it")
    try:
        return bytes(_numcodecs().blosc.decompress(data))
    except RuntimeError as error:
        raise ValueError(f"a blosc chunk is damaged ({error})") from error


def zstd(data: bytes, most: int) -> bytes | bytearray:
    """Zstandard. A frame that does not say how long its content is gets a buffer of ``most`` bytes,
    and no more.
    """
    size = _zstd_size(data)
    buffer = bytearray(most) if size is None else None
    _check_size(size or 0, most)
    try:
        done = _numcodecs().zstd.decompress(data, buffer)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"a zstd chunk is damaged ({error})") from error
    return bytes(done) if buffer is None else buffer


def _zstd_size(data: bytes) -> int | None:
    """The length of the content as the header of a frame gives it (RFC 8878, section 3.1.1)."""
    if len(data) < 6 or data[:4] != _ZSTD:
        raise ValueError("a zstd chunk does not begin as one")
    single, dictionary = data[4] >> 5 & 1, (0, 1, 2, 4)[data[4] & 3]
    width = (single, 2, 4, 8)[data[4] >> 6]
    at = 6 - single + dictionary
    if len(data) < at + width:
        raise ValueError("a zstd chunk is cut short")
    return (
        int.from_bytes(data[at : at + width], "little") + (256 if width == 2 else 0)
        if width
        else None
    )


def lz4(data: bytes, most: int) -> bytes:
    """LZ4 as numcodecs stores it: four bytes for the size, then one block."""
    if len(data) < 5:
        raise ValueError("an lz4 chunk is cut short")
    _check_size(int.from_bytes(data[:4], "little"), most)
    try:
        return bytes(_numcodecs().lz4.decompress(data))
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"an lz4 chunk is damaged ({error})") from error


def deflate(data: bytes, most: int) -> bytes:
    """Both gzip and zlib."""
    return _streamed(zlib.decompressobj(wbits=47), data, most)


def bzip2(data: bytes, most: int) -> bytes:
    """What ``bz2.compress`` writes."""
    return _streamed(bz2.BZ2Decompressor(), data, most)


def xz(data: bytes, most: int) -> bytes:
    """What ``lzma.compress`` writes; other forms of LZMA are not read."""
    return _streamed(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28), data, most)


def crc32c(data: bytes | bytearray) -> bytes:
    """What comes before the checksum of four bytes, if that is right."""
    google_crc32c = imported("google_crc32c", "checksums of chunks need google-crc32c", "dask")
    content = bytes(data[:-4])
    if len(data) < 4 or google_crc32c.value(content) != int.from_bytes(data[-4:], "little"):
        raise ValueError("the checksum of a chunk is wrong")
    return content


COMPRESSIONS: dict[str, Callable[[bytes, int], bytes | bytearray]] = {
    "blosc": blosc,
    "zstd": zstd,
    "lz4": lz4,
    "gzip": deflate,
    "zlib": deflate,
    "bz2": bzip2,
    "lzma": xz,
}
"""By the names that Zarr gives them. What is not here is not decoded: some codecs unpickle."""


def _streamed(decoder: Any, data: bytes, most: int) -> bytes:
    try:
        out = decoder.decompress(data, most + 1)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        raise ValueError(f"a compressed chunk is damaged ({error})") from error
    if len(out) > most:
        raise ValueError(
            f"a compressed chunk unpacks to more than the {most:,} bytes that belong there"
        )
    if not decoder.eof or decoder.unused_data:
        raise ValueError("a compressed chunk is cut short, or something follows it")
    return bytes(out)


def _check_size(nbytes: int, most: int) -> None:
    if nbytes > most:
        raise ValueError(
            f"a compressed chunk unpacks to {nbytes:,} bytes, but only {most:,} belong there"
        )
