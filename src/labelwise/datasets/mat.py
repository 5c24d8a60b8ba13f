"""MATLAB 5 files of plain numeric arrays, as SVHN is published; every size is checked before memory is taken.

The format: a header of 128 bytes, then elements of a tag (type, bytes) and data. A variable is a matrix element (type 14), mostly inside a
compressed one (type 15), with four parts: flags, sizes, name, values.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from ..io.files import open_regular
from ..io.npz import Readable
from ._limits import check_memory, human, read_array, refuse

MATRIX, COMPRESSED = 14, 15
DTYPES = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8"}
NUMERIC_CLASSES = range(6, 16)


def read_mat(path: str | Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Read the numeric variables ``names`` of a MATLAB 5 (.mat, up to version 7.2) file; the others are passed over."""
    path = Path(path)
    length = path.stat().st_size
    found: dict[str, np.ndarray] = {}
    with open_regular(path) as file:
        head = file.read(128)
        if head[:4] == b"\x89HDF" or head[:10] == b"MATLAB 7.3":
            raise refuse(path, "a MATLAB 7.3 (HDF5) file; save it again with save(..., '-v7')")
        if len(head) < 128 or head[124:] != b"\x00\x01IM":
            raise refuse(path, "not a MATLAB 5 file (.mat)")
        try:
            while len(found) < len(names) and file.tell() < length:
                kind, nbytes = struct.unpack("<2I", _exactly(file, 8))
                end = file.tell() + nbytes
                if end > length:
                    raise refuse(path, f"it ends after {human(length)}, but its tags promise {human(end)}; it is truncated")
                _variable(file, kind, nbytes, names, path, found)
                file.seek(end)
        except (zlib.error, struct.error, EOFError, UnicodeDecodeError) as error:
            raise refuse(path, "the file is corrupted; get it again") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise refuse(path, f"no numeric variable {missing[0]!r} in the file")
    return found


def _variable(file: IO[bytes], kind: int, nbytes: int, names: Sequence[str], path: Path, found: dict[str, np.ndarray]) -> None:
    stream: Readable = _Part(file, nbytes)
    if kind == COMPRESSED:
        stream = _Inflated(stream)
        kind, _ = struct.unpack("<2I", _exactly(stream, 8))
    if kind != MATRIX:
        return
    flags, sizes, name = (_small_part(stream, path) for _ in range(3))
    if len(flags) != 8:
        raise EOFError
    mx_class, is_complex = flags[0], flags[1] & 8
    variable = name.decode("ascii")
    if variable not in names:
        return
    if mx_class not in NUMERIC_CLASSES or is_complex:
        raise refuse(path, f"variable {variable!r} is not a plain numeric array")
    shape = struct.unpack(f"<{len(sizes) // 4}i", sizes)
    kind, nbytes, small = _tag(stream)
    if kind not in DTYPES:
        raise refuse(path, f"variable {variable!r} has values of an unknown type ({kind})")
    dtype = np.dtype(DTYPES[kind])
    if check_memory(path, shape, dtype.itemsize) != nbytes:
        raise refuse(path, f"variable {variable!r} has shape {shape}, which does not fit its {human(nbytes)} of values")
    # MATLAB counts the first axis fastest: C order of the reversed shape.
    values = np.frombuffer(small[:nbytes], dtype).reshape(shape[::-1]) if small else read_array(stream, shape[::-1], dtype, path)
    if isinstance(stream, _Inflated):
        stream.finish()
    found[variable] = values.T


def _tag(stream: Readable) -> tuple[int, int, bytes]:
    """Type and number of bytes of the next part, and its data if they are packed into the tag."""
    tag = _exactly(stream, 8)
    kind, nbytes = struct.unpack("<2I", tag)
    if kind >> 16:
        return kind & 0xFFFF, kind >> 16, tag[4:]
    return kind, nbytes, b""


def _small_part(stream: Readable, path: Path) -> bytes:
    _, nbytes, small = _tag(stream)
    if small:
        return small[:nbytes]
    if nbytes > 1024:
        raise refuse(path, f"a name or size of {human(nbytes)} is not possible; the file is corrupted")
    return _exactly(stream, nbytes + -nbytes % 8)[:nbytes]


def _exactly(stream: Readable, n: int) -> bytes:
    data = b""
    while len(data) < n:
        more = stream.read(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class _Part:
    """The next ``left`` bytes of a file."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self.file, self.left = file, left

    def read(self, n: int, /) -> bytes:
        data = self.file.read(min(n, self.left))
        self.left -= len(data)
        return data


class _Inflated:
    """A zlib stream, never inflated further than asked."""

    def __init__(self, source: Readable) -> None:
        self.source, self.zlib = source, zlib.decompressobj()

    def read(self, n: int, /) -> bytes:
        while not self.zlib.eof:
            source = self.zlib.unconsumed_tail or self.source.read(2**16)
            data = self.zlib.decompress(source, n)
            if data:
                return data
            if not source:
                raise EOFError
        return b""

    def finish(self) -> None:
        """Read to the end (at most some padding), so that zlib compares its checksum."""
        padding = 0
        while data := self.read(8):
            padding += len(data)
            if padding > 7:
                raise EOFError
