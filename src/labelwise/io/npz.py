"""The .npy and .npz formats: large arrays that are not compressed are mapped instead of read."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

_WORTH_MAPPING = 1 << 24  # smaller entries are read, and their checksums compared


class NpzArrays(Mapping[str, np.ndarray]):
    """The arrays of an .npz file by key, each read or mapped when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __getitem__(self, key: str) -> np.ndarray:
        entry = self._entries[key]
        if entry.compress_type == zipfile.ZIP_STORED and entry.file_size >= _WORTH_MAPPING:
            return self._map_entry(entry)
        with zipfile.ZipFile(self._path) as archive, archive.open(entry) as member:
            return _in_native_order(np.lib.format.read_array(member, allow_pickle=False))

    def _map_entry(self, entry: zipfile.ZipInfo) -> np.ndarray:
        """A read-only map of an entry that is stored as it is."""
        with self._path.open("rb") as file:
            file.seek(entry.header_offset + 26)
            name, extra = struct.unpack("<HH", file.read(4))
            file.seek(name + extra, 1)
            read_header = np.lib.format.read_array_header_2_0
            if np.lib.format.read_magic(file) == (1, 0):
                read_header = np.lib.format.read_array_header_1_0
            shape, fortran, dtype = read_header(file)
            if dtype.hasobject:
                raise ValueError(f"{entry.filename} holds Python objects, which are never read")
            if fortran:
                mapped = np.memmap(file, dtype, "r", file.tell(), shape[::-1]).T
            else:
                mapped = np.memmap(file, dtype, "r", file.tell(), shape)
            return _in_native_order(mapped)


def read_npy(path: Path) -> np.ndarray:
    """The array of a .npy file, mapped if it is large."""
    array = _in_native_order(np.lib.format.open_memmap(path, mode="r"))
    if array.nbytes >= _WORTH_MAPPING:
        return array
    return np.array(array)


def _in_native_order(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
