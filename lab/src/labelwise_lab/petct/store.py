"""Slices on disk: one Zarr group per study, one compressed, checksummed chunk per image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labelwise._lazy import imported
from labelwise.io.zarr import ZarrArray, check_size, open_array

from ..files import replacing_folder

GROUP = "slices.zarr"


def zarr() -> Any:
    """Import zarr, or say how to install it."""
    return imported("zarr", "Slices are stored with zarr", "medical")


def write_slices(root: Path, key: str, images: np.ndarray, lesions: np.ndarray) -> None:
    """Write the slices of a study atomically: to a temporary folder, then renamed.

    Chunks lost later, for example in a power failure, are detected by `is_whole` or by their
    checksum when read.

    Parameters
    ----------
    root : path
        Zarr group of all studies.
    key : str
        Name of the study's group.
    images : array (N, S, S, 3), uint8
    lesions : array (N, S, S), bool
    """
    library = zarr()
    root.mkdir(parents=True, exist_ok=True)
    with replacing_folder(root / key) as temporary:
        group = library.create_group(library.storage.LocalStore(temporary))
        for name, array in (("images", images), ("lesions", lesions)):
            codecs = [
                library.codecs.BloscCodec(cname="zstd", clevel=3, shuffle="noshuffle"),
                library.codecs.Crc32cCodec(),
            ]
            stored = group.create_array(
                name,
                shape=array.shape,
                dtype=array.dtype,
                chunks=(1 if name == "images" else len(array), *array.shape[1:]),
                chunk_key_encoding={
                    "name": "default",
                    "separator": ".",
                },  # files in one folder, not nested
                compressors=codecs,
                config={"write_empty_chunks": True},  # so a missing chunk is a lost one
            )
            stored[:] = array


def is_whole(root: Path, key: str, n: int) -> bool:
    """Whether every chunk of a study exists; Zarr would read a lost one as an empty image."""
    return _chunks(root / key / "images") == n and _chunks(root / key / "lesions") == 1


def _chunks(folder: Path) -> int:
    try:
        with os.scandir(folder) as files:
            return sum(file.name.startswith("c.") and file.stat().st_size > 0 for file in files)
    except OSError:
        return -1


class Slices:
    """Images of several studies, read on demand: ``slices[3:7]``, ``slices[np.array([9, 2])]``.

    A uint8 array (N, S, S, 3) for `labelwise_lab.training.fit_ensemble`; it can be pickled and
    holds no image in memory.
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(
        self,
        root: Path,
        studies: Sequence[tuple[str, np.ndarray]],
        size: int,
        fingerprint: str,
        *,
        name: str = "images",
    ) -> None:
        self.root, self.name, self.fingerprint = root, name, fingerprint
        self.keys = [key for key, _ in studies]
        counts = [len(planes) for _, planes in studies]
        self.study = np.repeat(np.arange(len(studies)), counts)
        self.plane = (
            np.concatenate([planes for _, planes in studies]) if studies else np.zeros(0, dtype=int)
        )
        self.shape = (len(self.plane), size, size, 3)
        self._open: dict[int, ZarrArray] = {}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Size of all images in memory."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __getitem__(self, index: Any) -> np.ndarray:
        chosen = np.arange(len(self))[index]
        single = np.ndim(chosen) == 0
        chosen = np.atleast_1d(chosen)
        images = np.empty((len(chosen), *self.shape[1:]), self.dtype)
        for image, i in zip(images, chosen, strict=True):
            image[...] = self._array(int(self.study[i]))[int(self.plane[i])]
        return images[0] if single else images

    def lesions(self, i: int) -> np.ndarray:
        """The expert's mask of slice ``i``, (S, S), bool."""
        array = self._opened(int(self.study[i]), "lesions", self.shape[1:3], "b")
        return np.asarray(array[int(self.plane[i])], dtype=bool)

    def _array(self, study: int) -> ZarrArray:
        if study not in self._open:
            self._open[study] = self._opened(study, self.name, self.shape[1:], "u")
        return self._open[study]

    def _opened(self, study: int, name: str, shape: tuple[int, ...], kind: str) -> ZarrArray:
        folder = self.root / self.keys[study]
        array = open_array(folder / name, f"the slices in {str(folder)!r}: `{name}`")
        last = int(self.plane[self.study == study].max())
        if (
            len(array.shape) == 0
            or array.shape[1:] != shape
            or array.dtype.kind != kind
            or array.shape[0] <= last
        ):
            raise ValueError(
                f"{array.what} have shape {array.shape} and type {array.dtype}; run `labelwise-lab "
                "petct prepare` again"
            )
        check_size(folder / name, [array])
        return array

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_open": {}}
