"""MATLAB 5 files of plain numeric arrays, as SVHN is published; every size is checked before memory
is taken.

The format: a header of 128 bytes, then elements of a tag (type, bytes) and data. A variable is a
matrix element (type 14), mostly inside a compressed one (type 15), with four parts: flags, sizes,
name, values. (scipy.io.loadmat takes 4 GB for a damaged file of 6 kB.)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ._limits import check_memory, human, refuse

MATRIX, COMPRESSED = 14, 15
DTYPES = {
    1: "i1",
    2: "u1",
    3: "<i2",
    4: "<u2",
    5: "<i4",
    6: "<u4",
    7: "<f4",
    9: "<f8",
    12: "<i8",
    13: "<u8",
}
NUMERIC_CLASSES = range(6, 16)
_HEAD = 4096  # more than flags, sizes (at most 1 kB), name (at most 1 kB) and tags take


def read_mat(path: str | Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Read the numeric variables ``names`` of a MATLAB 5 (.mat, up to version 7.2) file; the others
    are skipped.
    """
    path = Path(path)
    length = path.stat().st_size
    found: dict[str, np.ndarray] = {}
    with path.open("rb") as file:
        head = file.read(128)
        if head[:4] == b"\x89HDF" or head[:10] == b"MATLAB 7.3":
            raise refuse(path, "a MATLAB 7.3 (HDF5) file; save it again with save(..., '-v7')")
        if len(head) < 128 or head[124:] != b"\x00\x01IM":
            raise refuse(path, "not a MATLAB 5 file (.mat)")
        try:
            while len(found) < len(names) and file.tell() < length:
                kind, nbytes = struct.unpack("<2I", file.read(8))
                if file.tell() + nbytes > length:
                    promised = human(file.tell() + nbytes)
                    raise refuse(
                        path,
                        (
                            f"it ends after {human(length)}, but its tags promise {promised}; it "
                            "is truncated"
                        ),
                    )
                found |= _variable(file.read(nbytes), kind, names, path)
        except (zlib.error, struct.error, EOFError, UnicodeDecodeError) as error:
            raise refuse(path, "the file is corrupted; get it again") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise refuse(path, f"no numeric variable {missing[0]!r} in the file")
    return found


def _variable(data: bytes, kind: int, names: Sequence[str], path: Path) -> dict[str, np.ndarray]:
    """The variable in an element, if it is among ``names``; no more of it is inflated than its
    sizes ask for.
    """
    inflate = zlib.decompressobj() if kind == COMPRESSED else None
    if inflate is not None:
        data = inflate.decompress(data, _HEAD)
        kind, data = struct.unpack("<2I", data[:8])[0], data[8:]
    if kind != MATRIX:
        return {}
    at = 0
    parts = []
    for _ in range(3):
        _, start, nbytes, at = _part(data, at)
        if nbytes > 1024:
            raise refuse(
                path, f"a name or size of {human(nbytes)} is not possible; the file is corrupted"
            )
        if start + nbytes > len(data):
            raise EOFError
        parts.append(data[start : start + nbytes])
    flags, sizes, name = parts
    variable = name.decode("ascii")
    if variable not in names:
        return {}
    if len(flags) != 8:
        raise EOFError
    if flags[0] not in NUMERIC_CLASSES or flags[1] & 8:
        raise refuse(path, f"variable {variable!r} is not a plain numeric array")
    shape = struct.unpack(f"<{len(sizes) // 4}i", sizes)
    kind, start, nbytes, end = _part(data, at)
    if kind not in DTYPES:
        raise refuse(path, f"variable {variable!r} has values of an unknown type ({kind})")
    dtype = np.dtype(DTYPES[kind])
    if check_memory(path, shape, dtype.itemsize) != nbytes:
        raise refuse(
            path,
            (
                f"variable {variable!r} has shape {shape}, which does not fit its {human(nbytes)} "
                "of values"
            ),
        )
    values = data[start : start + nbytes]
    if inflate is not None:
        rest = inflate.decompress(
            inflate.unconsumed_tail, max(1, end - len(data) + 8)
        )  # with its padding, so that zlib compares its checksum
        if not inflate.eof or len(data) + len(rest) > end + 7:
            raise EOFError
        values += rest[: nbytes - len(values)]
    if len(values) < nbytes:
        raise EOFError
    # MATLAB counts the first axis fastest: C order of the reversed shape.
    return {variable: np.frombuffer(values, dtype).reshape(shape[::-1]).T}


def _part(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Type, start and number of bytes of the part at ``at``, and where the next one is; up to four
    bytes are packed into the tag.
    """
    kind, nbytes = struct.unpack("<2I", data[at : at + 8])
    if kind >> 16:
        return kind & 0xFFFF, at + 4, kind >> 16, at + 8
    return kind, at + 8, nbytes, at + 8 + nbytes + -nbytes % 8
