"""The .npy and .npz formats, read without trust.

Nothing is unpickled, no header is believed before it is compared with the bytes that are there, and
large stored arrays are mapped instead of read.
"""

from __future__ import annotations

import io
import lzma
import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from .files import RATIO, allowed, open_regular

_ALIGNMENT = 64
_WORTH_MAPPING = 1 << 24  # smaller entries are read, and their checksums compared
_LONGEST_HEADER, _MOST_AXES = 10_000, 32
_LAST_CHARACTER = 0x10FFFF


class Readable(Protocol):
    """Anything with ``read``."""

    def read(self, n: int, /) -> bytes: ...


def release(array: Any) -> None:
    """Let go of the pages of a memory map that have been read or written: they are in the file."""
    mapped = getattr(array, "_mmap", None)
    if (
        not isinstance(mapped, mmap.mmap) or getattr(array, "mode", "c") == "c"
    ):  # changes of a copy-on-write map are nowhere else
        return
    if hasattr(mapped, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


class _Stream:
    """A file that NumPy does not take for one: it then writes arrays in pieces instead of gathering
    them first.
    """

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
    """An archive of arrays, uncompressed, data on multiples of 64 bytes; the same arrays give the
    same bytes.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key, array in arrays.items():
            entry = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            # Header: 30 bytes, the name, 20 bytes of zip64 sizes, and a field of zeros that readers
            # skip (as zipalign does it).
            padding = -(file.tell() + 30 + len(entry.filename) + 20 + 4) % _ALIGNMENT
            entry.extra = struct.pack("<HH", 0xD935, padding) + bytes(padding)
            with archive.open(entry, "w", force_zip64=True) as member:
                write_npy(member, array)


def write_compressed_npz(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """An archive of arrays, compressed by bzip2, which is a tenth smaller than deflate; the same
    arrays in the same memory order give the same bytes.
    """
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            entry = zipfile.ZipInfo(f"{key}.npy")
            entry.compress_type = zipfile.ZIP_BZIP2
            with archive.open(entry, "w") as member:
                write_npy(member, array)


def read_npy(path: Path) -> np.ndarray:
    """The array of a .npy file, mapped if it is large."""
    with open_regular(path) as file:
        return _read(file, _length(file), path.name, mapped=True)


def read_npz(
    path: Path,
    keys: Sequence[str] | Callable[[list[str]], Sequence[str]],
    *,
    what: str | None = None,
) -> dict[str, np.ndarray]:
    """Those arrays of an archive that are named in ``keys``, or that ``keys`` chooses from the
    names there.

    ``what`` is what errors call the file; by default its name without the folder.
    """
    what = path.name if what is None else what
    with open_regular(path) as file, opened_archive(file, what) as archive:
        found = members(archive, what)
        chosen = keys(list(found)) if callable(keys) else keys
        wanted = {key: entry for key, entry in found.items() if key in chosen}
        check_unpacked(wanted.values(), _length(file), what)
        return {
            key: _read_entry(file, archive, entry, f"{what}: `{key}`")
            for key, entry in wanted.items()
        }


@contextmanager
def opened_archive(file: IO[bytes], what: str) -> Iterator[zipfile.ZipFile]:
    """The archive in a file; whatever its parsers raise on damage becomes one sentence."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        RuntimeError,
        NotImplementedError,
        struct.error,
    ) as error:
        raise ValueError(
            f"{what} is not a readable .npz file: {error or 'it ends too early'}; cut short, or of "
            "another format?"
        ) from error
    except (
        OSError,
        OverflowError,
    ) as error:  # impossible positions; bzip2 reports damage as OSError
        raise ValueError(f"{what} is damaged: {error}") from error
    except ValueError as error:
        if str(error).startswith(what):
            raise
        raise ValueError(f"{what} is damaged: {error}") from error
    except MemoryError as error:
        raise ValueError(f"{what} asks for more memory than there is") from error


def members(archive: zipfile.ZipFile, what: str) -> dict[str, zipfile.ZipInfo]:
    """The entries of an archive by key. Two entries of one name are refused: which of them is meant
    is anybody's guess.
    """
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        key = entry.filename.removesuffix(".npy")
        if key in found:
            raise ValueError(f"{what} is damaged: it holds {key!r} twice")
        found[key] = entry
    return found


def check_unpacked(entries: Iterable[zipfile.ZipInfo], length: int, what: str) -> None:
    """Refuse an archive of ``length`` bytes whose entries, all together, would take more memory
    than it may.
    """
    total = sum(entry.file_size for entry in entries)
    if total > allowed(length):
        raise ValueError(
            f"{what} would unpack from {length:,} to {total:,} bytes; files that unpack to more "
            f"than {RATIO} times their size are "
            "refused. Save it uncompressed, with np.savez"
        )


def _length(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _read_entry(
    file: IO[bytes], archive: zipfile.ZipFile, entry: zipfile.ZipInfo, what: str
) -> np.ndarray:
    encrypted = entry.flag_bits & 1
    if (
        entry.compress_type == zipfile.ZIP_STORED
        and entry.file_size >= _WORTH_MAPPING
        and not encrypted
    ):
        file.seek(entry.header_offset)
        header = file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile(f"no entry where {entry.filename} should be")
        name, extra = struct.unpack("<HH", header[26:30])
        file.seek(entry.header_offset + 30 + name + extra)
        return _read(file, entry.file_size, what, mapped=True)
    with archive.open(entry) as member:
        return _read(member, entry.file_size, what)


def read_header(file: Readable, what: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether in Fortran's order, and type, from the beginning of an array in .npy
    format.
    """
    start = file.read(8)
    version_1 = start[6:7] == b"\x01"
    length = file.read(2 if version_1 else 4)
    n = int.from_bytes(length, "little")
    # NumPy itself would first read as many bytes as the header claims to have, up to 4 GB.
    if start[:6] != b"\x93NUMPY" or start[6:7] not in (b"\x01", b"\x02") or n > _LONGEST_HEADER:
        raise ValueError(f"{what} is not an array in .npy format; cut short, or of another format?")
    parse = (
        np.lib.format.read_array_header_1_0 if version_1 else np.lib.format.read_array_header_2_0
    )
    try:
        shape, fortran, dtype = parse(io.BytesIO(length + file.read(n)))
    except Exception as error:  # on garbage, NumPy's parser and Python's raise many things
        raise ValueError(f"{what} is not an array in .npy format") from error
    if len(shape) > _MOST_AXES or any(k < 0 for k in shape):
        raise ValueError(
            f"{what} is damaged: its header gives an impossible shape, {shape[:_MOST_AXES]}"
        )
    return shape, fortran, dtype


def _read(file: IO[bytes], size: int, what: str, *, mapped: bool = False) -> np.ndarray:
    """The array that fills the next ``size`` bytes; a read-only map of the file, if it may be
    ``mapped`` and is large.
    """
    start = file.tell()
    shape, fortran, dtype = read_header(file, what)
    if dtype.kind not in "biufcmMUS":
        raise ValueError(
            f"{what} holds Python objects or records ({dtype}), which are never read; save it as "
            "plain numbers or text"
        )
    needed, there = (
        dtype.itemsize * int(np.prod(np.array(shape, dtype=object))),
        size - (file.tell() - start),
    )
    if needed != there:
        raise ValueError(
            f"{what} is damaged: an array of shape {shape} and type {dtype} needs {needed:,} "
            f"bytes; {there:,} are there"
        )
    order: Any = "F" if fortran else "C"
    offset = file.tell()
    if mapped and offset + needed > _length(file):
        raise ValueError(f"{what} is damaged: the file ends before the array does")
    if (
        mapped and needed >= _WORTH_MAPPING and dtype.isnative
    ):  # also where np.savez has put it: at odd places
        mapping = np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
        check_text(mapping, what)
        return mapping
    try:
        array = np.empty(shape, dtype, order=order)
    except (
        MemoryError,
        OverflowError,
        ValueError,
    ) as error:  # also: axes of length 0 beside axes that are too long
        raise ValueError(
            f"{what} asks for more memory than there is: an array of shape {shape} and type {dtype}"
        ) from error
    into = array.reshape(-1, order=order).view(np.uint8) if needed else np.empty(0, np.uint8)
    if fill(into, file) < needed:
        raise ValueError(f"{what} is damaged: the file ends before the array does")
    file.read(1)  # past the end: zipfile compares the checksum only then
    array = array if dtype.isnative else array.astype(dtype.newbyteorder("="))
    check_text(array, what)
    return array


def fill(into: np.ndarray, file: Readable) -> int:
    """Read bytes into an array of them, a piece at a time; how many there were."""
    filled = 0
    while filled < len(into) and (piece := file.read(min(len(into) - filled, 1 << 20))):
        into[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
    return filled


def check_text(array: np.ndarray, what: str) -> None:
    """Refuse text with numbers in it that are no characters: Python cannot make strings of them."""
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return
    codes = array.reshape(-1, order="A").view(np.uint32)
    for start in range(0, len(codes), 1 << 20):
        block = codes[start : start + (1 << 20)]
        if int(block.max()) > _LAST_CHARACTER or bool(((block >= 0xD800) & (block < 0xE000)).any()):
            raise ValueError(f"{what} is damaged: it holds text with impossible characters")
    release(array)
