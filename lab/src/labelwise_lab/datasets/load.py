"""Data sets by name: find the files, or download them, and read them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..files import read_npy, reading, refuse
from ..validation import suggest
from . import catalogue
from .arrays import read_numbers
from .catalogue import Entry
from .cifar import read_cifar10
from .download import fetch, unpack_cifar10, verify
from .idx import read_idx
from .medmnist import load_medmnist
from .table import load_table
from .types import Dataset, Examples

ENVIRONMENT = "LABELWISE_DATA"
DEBIAN_FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package dataset-fashion-mnist puts the four files."""
CIFAR_BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))


def names() -> tuple[str, ...]:
    """The names that `load` knows."""
    return tuple(LOADERS)


def load(
    name: str,
    *,
    data_dir: str | Path | None = None,
    download: bool = False,
    sha256: Mapping[str, str] | None = None,
) -> Dataset:
    """A data set by name.

    The files are looked for below ``data_dir``, then below the folder that the environment variable
    ``LABELWISE_DATA`` names, then in the user's cache, then (FashionMNIST) where Debian's package
    ``dataset-fashion-mnist`` puts them. Where only the test files are found, ``train`` is ``None``.

    Parameters
    ----------
    name
        One of `names()`. ``"digits"`` comes with scikit-learn and needs no files: 8 × 8 images,
        gray values scaled from 0 … 16 to 0 … 255.
    data_dir
        The folder that holds ``FashionMNIST/raw``, ``cifar-10-batches-bin`` and so on.
    download
        Get missing files from the publisher, into ``data_dir`` (or ``LABELWISE_DATA``, or the
        cache). Files that are already there must then be the published ones too. Nothing is
        downloaded otherwise, and your own files are used as they are.
    sha256
        Checksums by file name, for downloads of which none is published.

    Returns
    -------
    Dataset
        With the published split; where there is none (tables, digits), 30 % of each class are the
        test set, always the same: see `Dataset.resplit` for another.

    Examples
    --------
    >>> data = labelwise_lab.datasets.load("digits")
    >>> data.train.x.shape, data.train.x.dtype, len(data.test), data.class_names
    ((1258, 8, 8), dtype('uint8'), 539, ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'))
    """
    if name not in LOADERS:
        raise ValueError(
            "`name` must be one of the data sets in labelwise_lab.datasets.names(); got "
            f"{name!r}{suggest(name, names())}"
        )
    return LOADERS[name](name, _Search(data_dir, download, sha256))


def load_cifar10h(
    *,
    data_dir: str | Path | None = None,
    download: bool = False,
    sha256: Mapping[str, str] | None = None,
) -> np.ndarray:
    """How often people chose each class for each of the 10,000 test images of CIFAR-10: int64 of
    shape (10000, 10), about 50 votes each.

    Peterson et al., Human uncertainty makes classification more robust (ICCV 2019). The order is
    that of ``load("cifar10").test``. No checksum is published, so a download needs
    ``sha256={"cifar10h-counts.npy": ...}``.
    """
    path = _Search(data_dir, download, sha256).only_file("cifar10h", catalogue.CIFAR10H)
    votes = read_npy(path)
    if (
        votes.shape != (10_000, 10)
        or votes.min() < 0
        or not np.array_equal(votes, np.round(votes))
        or not votes.any(axis=1).all()
    ):
        raise refuse(
            path,
            (
                f"expected the numbers of votes, shape (10000, 10); got {votes.dtype} of shape "
                f"{votes.shape}"
            ),
        )
    return votes.astype(np.int64)


def data_places(data_dir: str | Path | None = None) -> list[Path]:
    """Directories that are searched for data sets: ``data_dir``, LABELWISE_DATA, and the user's
    cache if pooch is installed.
    """
    places = [
        Path(place).expanduser() for place in (data_dir, os.environ.get(ENVIRONMENT)) if place
    ]
    with suppress(ImportError):
        import pooch

        places.append(Path(pooch.os_cache("labelwise")))
    return places


def data_files(name: str, data_dir: str | Path | None = None) -> list[Path]:
    """Where the files of a data set may be; none for a name that is not known, and for data that
    come with a package.
    """
    entry = catalogue.ENTRIES.get(name)
    if entry is None:
        return []
    return [
        place / folder / remote.name
        for place in data_places(data_dir)
        for folder in entry.folders
        for remote in entry.files.values()
    ]


@dataclass(frozen=True)
class _Search:
    """Where to look for files, and whether to download those that are missing."""

    data_dir: str | Path | None
    download: bool
    sha256: Mapping[str, str] | None

    def places(self) -> list[Path]:
        """The data directories, first choice first; downloads go to the first."""
        places = data_places(self.data_dir)
        if not places:
            raise ImportError(
                f"Pass `data_dir` or set {ENVIRONMENT}; the user's cache is found with pooch: pip "
                "install pooch"
            )
        return places

    def files(self, name: str, entry: Entry, needed: Iterable[str]) -> dict[str, Path]:
        """The paths of the files by role: all from the first directory that has all, or else from
        the first that has those ``needed``.
        """
        places = self.places()
        target = places[0]
        folders = [[place / folder for folder in entry.folders] for place in places]
        if name == "fashion-mnist":
            places.append(DEBIAN_FASHION_MNIST)
            folders.append([DEBIAN_FASHION_MNIST])
        found = [
            {
                role: path
                for role, remote in entry.files.items()
                if (path := _find(remote.name, some))
            }
            for some in folders
        ]
        complete = next((paths for paths in found if len(paths) == len(entry.files)), None)
        if self.download:
            chosen = complete or found[0]
            for role, path in chosen.items():
                verify(entry.files[role], path, self.sha256)
            return {
                role: chosen.get(role) or fetch(remote, target, self.sha256)
                for role, remote in entry.files.items()
            }
        partly = complete or next(
            (paths for paths in found if all(role in paths for role in needed)), None
        )
        if partly is None:
            raise _missing(name, entry, places, [entry.files[role].name for role in needed])
        return partly

    def only_file(self, name: str, entry: Entry) -> Path:
        (role,) = entry.files
        return self.files(name, entry, [role])[role]


def _find(file: str, folders: Iterable[Path]) -> Path | None:
    """The file in the first folder that has it: also not compressed, and with the dot of the
    original MNIST files.
    """
    plain = file.removesuffix(".gz")
    variants = [file, plain, plain.replace("-idx", ".idx")] if file.endswith("ubyte.gz") else [file]
    return next(
        (
            path
            for folder in folders
            for variant in variants
            if (path := folder / variant).is_file()
        ),
        None,
    )


def _missing(name: str, entry: Entry, places: list[Path], files: list[str]) -> FileNotFoundError:
    automatic = (
        "or pass download=True (--download)"
        if all(remote.url for remote in entry.files.values())
        else "it cannot be downloaded automatically"
    )
    return FileNotFoundError(
        f"{entry.title} ({name}) was not found. Put {', '.join(files)} into "
        f"{places[0] / entry.folders[0]} (from {entry.home}), "
        f"or set {ENVIRONMENT} to the folder that holds {entry.folders[0]}, {automatic}. Looked "
        f"in: {', '.join(map(str, places))}"
    )


def _digits(name: str, search: _Search) -> Dataset:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x = np.round(bunch.images * (255 / 16)).astype(np.uint8)
    return Dataset(
        name, None, Examples(x, bunch.target.astype(np.int64)), tuple("0123456789")
    ).resplit()


def _idx(name: str, search: _Search) -> Dataset:
    entry = catalogue.IDX[name]
    paths = search.files(name, entry, ["test images", "test labels"])
    train, test = (
        _idx_examples(paths.get(f"{part} images"), paths.get(f"{part} labels"))
        for part in ("train", "test")
    )
    return _published(name, train, test, entry)


def _idx_examples(images: Path | None, labels: Path | None) -> Examples | None:
    if images is None or labels is None:
        return None
    x, y = read_idx(images), read_idx(labels)
    if x.ndim != 3 or x.shape[1:] != (28, 28):
        raise refuse(
            images, f"expected images of 28 × 28; the file holds an array of shape {x.shape}"
        )
    if y.shape != (len(x),):
        raise refuse(
            labels,
            (
                f"expected one label for each of the {len(x)} images in {images.name}; it holds an "
                f"array of shape {y.shape}"
            ),
        )
    return Examples(x, _checked(y, labels))


def _checked(y: np.ndarray, path: Path) -> np.ndarray:
    if y.min(initial=0) < 0 or y.max(initial=0) > 9:
        raise refuse(path, f"labels must be 0 to 9; found {y.min()} to {y.max()}")
    return y.astype(np.int64)


def _published(name: str, train: Examples | None, test: Examples | None, entry: Entry) -> Dataset:
    if test is None:
        raise ValueError(f"`{name}` has no test set")
    return Dataset(name, train, test, entry.class_names)


def _cifar10(name: str, search: _Search) -> Dataset:
    entry, places, test_only = catalogue.CIFAR10, search.places(), None
    for folder in (place / folder for place in places for folder in entry.folders):
        test = folder / "test_batch.bin"
        batches = [folder / f"{batch}.bin" for batch in CIFAR_BATCHES]
        if not test.is_file():
            continue
        if all(batch.is_file() for batch in batches):
            images, labels = zip(*map(read_cifar10, batches), strict=True)
            train = Examples(np.concatenate(images), np.concatenate(labels))
            return _published(name, train, Examples(*read_cifar10(test)), entry)
        test_only = test_only or test
    if search.download:
        archive = places[0] / entry.files["archive"].path
        was_there = archive.exists()
        unpack_cifar10(fetch(entry.files["archive"], places[0], search.sha256), places[0])
        if not was_there:
            archive.unlink()
        return _cifar10(name, _Search(places[0], False, None))
    if test_only is not None:
        return _published(name, None, Examples(*read_cifar10(test_only)), entry)
    raise _missing(
        name,
        entry,
        places,
        ["the unpacked batches of cifar-10-binary.tar.gz"],
    )


def _two_files(name: str, search: _Search, read: Callable[[Path], Examples]) -> Dataset:
    """A data set with a file for the training set, which may be missing, and one for the test
    set.
    """
    entry = catalogue.ENTRIES[name]
    paths = search.files(name, entry, ["test"])
    train, test = (read(paths[part]) if part in paths else None for part in ("train", "test"))
    return _published(name, train, test, entry)


def _svhn(path: Path) -> Examples:
    from scipy.io import loadmat

    with reading(path):
        arrays = loadmat(path, variable_names=["X", "y"])
        x, y = arrays["X"], arrays["y"].reshape(-1)
    if x.dtype != np.uint8 or x.ndim != 4 or x.shape[:3] != (32, 32, 3) or x.shape[3] != len(y):
        raise refuse(
            path,
            (
                f"expected X: (32, 32, 3, N) uint8 and y: N labels; got {x.shape} {x.dtype} and "
                f"{len(y)}"
            ),
        )
    if not np.isin(y, np.arange(1, 11)).all():
        raise refuse(path, "labels must be 1 to 10, where 10 is the digit 0")
    return Examples(np.ascontiguousarray(x.transpose(3, 0, 1, 2)), y.astype(np.int64) % 10)


def _cifar102(path: Path) -> Examples:
    arrays = read_numbers(path, ["images", "labels"])
    x, y = arrays["images"], arrays["labels"]
    if (
        x.dtype != np.uint8
        or x.ndim != 4
        or x.shape[1:] != (32, 32, 3)
        or y.shape != (len(x),)
        or y.dtype.kind not in "ui"
    ):
        raise refuse(
            path,
            (
                f"expected images (N, 32, 32, 3) uint8 and N labels; got {x.shape} {x.dtype} and "
                f"{y.shape} {y.dtype}"
            ),
        )
    return Examples(x, _checked(y, path))


def _medmnist(name: str, search: _Search) -> Dataset:
    return replace(load_medmnist(search.only_file(name, catalogue.MEDMNIST[name])), name=name)


def _table(name: str, search: _Search) -> Dataset:
    entry = catalogue.TABLES[name]
    path = search.only_file(name, entry)
    table = load_table(path, drop=entry.drop)
    if entry.class_names and len(entry.class_names) != len(table.class_names):
        raise refuse(
            path,
            (
                f"{entry.title} has {len(entry.class_names)} classes; this file has "
                f"{len(table.class_names)}"
            ),
        )
    return replace(table, name=name, class_names=entry.class_names or table.class_names)


LOADERS: dict[str, Callable[[str, _Search], Dataset]] = {
    **dict.fromkeys(catalogue.IDX, _idx),
    "cifar10": _cifar10,
    "svhn": lambda name, search: _two_files(name, search, _svhn),
    "cifar10.2": lambda name, search: _two_files(name, search, _cifar102),
    **dict.fromkeys(catalogue.MEDMNIST, _medmnist),
    **dict.fromkeys(catalogue.TABLES, _table),
    "digits": _digits,
}
