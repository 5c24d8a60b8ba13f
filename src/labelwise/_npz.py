"""The .npy and .npz formats, read without trust.

Nothing is unpickled, no header is believed before it is compared with the bytes that are there, and large stored arrays are
mapped instead of read.
"""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

_ALIGNMENT = 64
_WORTH_MAPPING = 1 << 24  # smaller entries are read, and their checksums compared
# A deflated array may unpack to 1000 times its size: beyond both limits it is taken for an attack, not for data.
_LARGE, _DENSE = 1 << 30, 100
_LONGEST_HEADER, _MOST_AXES = 10_000, 32


class Readable(Protocol):
    """Anything with ``read``."""

    def read(self, n: int, /) -> bytes: ...


def release(array: Any) -> None:
    """Let go of the pages of a memory map that have been read or written: they are in the file."""
    mapped = getattr(array, "_mmap", None)
    if not isinstance(mapped, mmap.mmap) or getattr(array, "mode", "c") == "c":  # changes of a copy-on-write map are nowhere else
        return
    if hasattr(mapped, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


class _Stream:
    """A file that NumPy does not take for one: it then writes arrays in pieces instead of gathering them first."""

    def __init__(self, file: IO[bytes], array: np.ndarray) -> None:
        self._file, self._array = file, array

    def write(self, piece: bytes) -> int:
        written = self._file.write(piece)
        release(self._array)
        return written


def write_npy(file: IO[bytes], array: np.ndarray) -> None:
    """One array in .npy format; of a memory map only a piece is held at a time."""
    np.lib.format.write_array(_Stream(file, array), array, allow_pickle=False)


def write_npz(file: IO[bytes], arrays: dict[str, np.ndarray]) -> None:
    """An archive of arrays, uncompressed, data on multiples of 64 bytes; the same arrays give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key, array in arrays.items():
            entry = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            # Header: 30 bytes, the name, 20 bytes of zip64 sizes, and a field of zeros that readers skip (as zipalign does it).
            padding = -(file.tell() + 30 + len(entry.filename) + 20 + 4) % _ALIGNMENT
            entry.extra = struct.pack("<HH", 0xD935, padding) + bytes(padding)
            with archive.open(entry, "w", force_zip64=True) as member:
                write_npy(member, array)


def read_npy(path: Path) -> np.ndarray:
    """The array of a .npy file, mapped if it is large."""
    with path.open("rb") as file:
        return _read(file, path.stat().st_size, path.name, mapped=path)


def read_npz(path: Path, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Those arrays of an archive that are named in ``keys``."""
    found = {}
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                key = entry.filename.removesuffix(".npy")
                if key in keys:
                    found[key] = _read_entry(file, archive, entry, path, f"{path.name}: `{key}`")
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, struct.error) as error:
        raise ValueError(f"{path.name} is not a readable .npz file: {error or 'it ends too early'}") from error
    return found


def _read_entry(file: IO[bytes], archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, what: str) -> np.ndarray:
    if entry.file_size > _LARGE and entry.file_size > _DENSE * entry.compress_size:
        raise ValueError(f"{what} would unpack from {entry.compress_size:,} to {entry.file_size:,} bytes; such files are refused")
    encrypted = entry.flag_bits & 1
    if entry.compress_type == zipfile.ZIP_STORED and entry.file_size >= _WORTH_MAPPING and not encrypted:
        file.seek(entry.header_offset)
        header = file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile(f"no entry where {entry.filename} should be")
        name, extra = struct.unpack("<HH", header[26:30])
        file.seek(entry.header_offset + 30 + name + extra)
        return _read(file, entry.file_size, what, mapped=path)
    with archive.open(entry) as member:
        return _read(member, entry.file_size, what)


def read_header(file: Readable, what: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether in Fortran's order, and type, from the beginning of an array in .npy format."""
    start = file.read(8)
    version_1 = start[6:7] == b"\x01"
    length = file.read(2 if version_1 else 4)
    n = int.from_bytes(length, "little")
    # NumPy itself would first read as many bytes as the header claims to have, up to 4 GB.
    if start[:6] != b"\x93NUMPY" or start[6:7] not in (b"\x01", b"\x02") or n > _LONGEST_HEADER:
        raise ValueError(f"{what} is not an array in .npy format")
    parse = np.lib.format.read_array_header_1_0 if version_1 else np.lib.format.read_array_header_2_0
    try:
        shape, fortran, dtype = parse(io.BytesIO(length + file.read(n)))
    except Exception as error:  # on garbage, NumPy's parser and Python's raise many things
        raise ValueError(f"{what} is not an array in .npy format") from error
    if len(shape) > _MOST_AXES or any(k < 0 for k in shape):
        raise ValueError(f"{what} is damaged: its header gives an impossible shape, {shape[:_MOST_AXES]}")
    return shape, fortran, dtype


def _read(file: IO[bytes], size: int, what: str, *, mapped: Path | None = None) -> np.ndarray:
    """The array that fills the next ``size`` bytes; a read-only map of the file ``mapped`` where size and place suit."""
    start = file.tell()
    shape, fortran, dtype = read_header(file, what)
    if dtype.hasobject or dtype.names is not None:
        raise ValueError(f"{what} holds Python objects or records ({dtype}), which are never read; save it as plain numbers or text")
    needed, there = dtype.itemsize * int(np.prod(np.array(shape, dtype=object))), size - (file.tell() - start)
    if needed != there:
        raise ValueError(f"{what} is damaged: an array of shape {shape} and type {dtype} needs {needed:,} bytes; {there:,} are there")
    order: Any = "F" if fortran else "C"
    offset = file.tell()
    if mapped is not None and needed >= _WORTH_MAPPING and dtype.isnative and offset % dtype.alignment == 0:
        if offset + needed > mapped.stat().st_size:
            raise ValueError(f"{what} is damaged: the file ends before the array does")
        return np.memmap(mapped, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
    array = np.empty(shape, dtype, order=order)
    into = array.reshape(-1, order=order).view(np.uint8) if needed else np.empty(0, np.uint8)
    filled = 0
    while filled < needed:
        piece = file.read(min(needed - filled, 1 << 20))
        if not piece:
            raise ValueError(f"{what} is damaged: the file ends before the array does")
        into[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
    file.read(1)  # past the end: zipfile compares the checksum only then
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))
