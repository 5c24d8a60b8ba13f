"""Data sets by name: find the files, or download them, and read them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from .._suggestions import suggest
from . import catalogue
from ._limits import refuse
from .catalogue import Entry
from .cifar import read_cifar10_binary, read_cifar10_python
from .download import fetch, unpack_cifar10, verify
from .idx import read_idx
from .mat import read_mat
from .medmnist import load_medmnist
from .npz import read_npy, read_npz
from .table import load_table
from .types import Dataset, Split

ENVIRONMENT = "LABELWISE_DATA"
DEBIAN_FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package dataset-fashion-mnist puts the four files."""
CIFAR_BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))


def names() -> tuple[str, ...]:
    """The names that `load` knows."""
    return (*catalogue.ENTRIES, "digits")


def load(name: str, *, data_dir: str | Path | None = None, download: bool = False, sha256: Mapping[str, str] | None = None) -> Dataset:
    """A data set by name.

    The files are looked for below ``data_dir``, then below the folder that the environment variable ``LABELWISE_DATA`` names, then in the
    user's cache, then (FashionMNIST) where Debian's package ``dataset-fashion-mnist`` puts them. Where only the test files
    are found, ``train`` is ``None``.

    Parameters
    ----------
    name
        One of `names()`. ``"digits"`` comes with scikit-learn and needs no files: 8 × 8 images, grey values scaled from 0 … 16 to 0 … 255.
    data_dir
        The folder that holds ``FashionMNIST/raw``, ``cifar-10-batches-bin`` and so on.
    download
        Get missing files from the publisher, into ``data_dir`` (or ``LABELWISE_DATA``, or the cache). Files that are already there must then
        be the published ones too. Nothing is downloaded otherwise, and your own files are used as they are.
    sha256
        Checksums by file name, for downloads of which none is published.

    Returns
    -------
    Dataset
        With the published split; where there is none (tables, digits), 30 % of each class are the test set, always the same: see
        `Dataset.resplit` for another.

    Examples
    --------
    >>> data = lw.datasets.load("digits")
    >>> data.train.x.shape, data.train.x.dtype, len(data.test), data.class_names
    ((1258, 8, 8), dtype('uint8'), 539, ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'))
    """
    if name == "digits":
        return _digits()
    entry = catalogue.ENTRIES.get(name)
    if entry is None:
        raise ValueError(f"`name` must be one of the data sets in lw.datasets.names(); got {name!r}{suggest(name, names())}")
    if name in catalogue.IDX:
        return _load_idx(name, entry, data_dir, download, sha256)
    if name == "cifar10":
        return _load_cifar10(entry, data_dir, download, sha256)
    if name == "svhn":
        train, test = (_svhn(path) if path else None for path in _parts(name, entry, data_dir, download, sha256))
        return _dataset(name, train, test, entry)
    if name == "cifar10.2":
        train, test = (_cifar102(path) if path else None for path in _parts(name, entry, data_dir, download, sha256))
        return _dataset(name, train, test, entry)
    path = _file(name, entry, data_dir, download, sha256)
    if name in catalogue.MEDMNIST:
        return replace(load_medmnist(path), name=name)
    table = load_table(path, drop=entry.drop)
    if entry.class_names and len(entry.class_names) != len(table.class_names):
        raise refuse(path, f"{entry.title} has {len(entry.class_names)} classes; this file has {len(table.class_names)}")
    return replace(table, name=name, class_names=entry.class_names or table.class_names)


def load_cifar10h(*, data_dir: str | Path | None = None, download: bool = False, sha256: Mapping[str, str] | None = None) -> np.ndarray:
    """How often people chose each class for each of the 10,000 test images of CIFAR-10: int64 of shape (10000, 10), about 50 votes each.

    Peterson et al., Human uncertainty makes classification more robust (ICCV 2019). The order is that of ``load("cifar10").test``.
    No checksum is published, so a download needs ``sha256={"cifar10h-counts.npy": ...}``.
    """
    path = _file("cifar10h", catalogue.CIFAR10H, data_dir, download, sha256)
    votes = read_npy(path)
    if votes.shape != (10_000, 10) or votes.min() < 0 or not np.array_equal(votes, np.round(votes)) or not votes.any(axis=1).all():
        raise refuse(path, f"expected the numbers of votes, shape (10000, 10); got {votes.dtype} of shape {votes.shape}")
    return votes.astype(np.int64)


def _digits() -> Dataset:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError('The digits come with scikit-learn; install it with: pip install "labelwise[sklearn]"') from error
    bunch = load_digits()
    x = np.round(bunch.images * (255 / 16)).astype(np.uint8)
    return Dataset("digits", None, Split(x, bunch.target.astype(np.int64)), tuple("0123456789")).resplit()


def _places(data_dir: str | Path | None) -> list[Path]:
    """The data directories, first choice first; downloads go to the first."""
    places = []
    if data_dir is not None:
        places.append(Path(data_dir).expanduser())
    if os.environ.get(ENVIRONMENT):
        places.append(Path(os.environ[ENVIRONMENT]).expanduser())
    try:
        import pooch
    except ImportError as error:
        if not places:
            raise ImportError(f"Pass `data_dir` or set {ENVIRONMENT}; the user's cache is found with pooch: pip install pooch") from error
        return places
    return [*places, Path(pooch.os_cache("labelwise"))]


def _variants(file: str) -> list[str]:
    """Other names of the same file: not compressed, and with the dot of the original MNIST files."""
    plain = file.removesuffix(".gz")
    return [file, plain, plain.replace("-idx", ".idx")] if file.endswith("ubyte.gz") else [file]


def _find(file: str, folders: Iterable[Path]) -> Path | None:
    return next((path for folder in folders for variant in _variants(file) if (path := folder / variant).is_file()), None)


def _found(
    name: str, entry: Entry, data_dir: str | Path | None, download: bool, sha256: Mapping[str, str] | None, needed: Iterable[str]
) -> dict[str, Path]:
    """The paths of the files by role: all from the first directory that has all, or else from the first that has those ``needed``."""
    places = _places(data_dir)
    target = places[0]
    folders = [[place / folder for folder in entry.folders] for place in places]
    if name == "fashion-mnist":
        places.append(DEBIAN_FASHION_MNIST)
        folders.append([DEBIAN_FASHION_MNIST])
    found = [{role: path for role, remote in entry.files.items() if (path := _find(remote.name, some))} for some in folders]
    complete = next((paths for paths in found if len(paths) == len(entry.files)), None)
    if download:
        chosen = complete or found[0]
        for role, path in chosen.items():
            verify(entry.files[role], path, sha256)
        return {role: chosen.get(role) or fetch(remote, target, sha256) for role, remote in entry.files.items()}
    if complete is not None:
        return complete
    partly = next((paths for paths in found if all(role in paths for role in needed)), None)
    if partly is not None:
        return partly
    raise _missing(name, entry, places, [entry.files[role].name for role in needed])


def _missing(name: str, entry: Entry, places: list[Path], files: list[str]) -> FileNotFoundError:
    automatic = "or pass download=True" if all(remote.url for remote in entry.files.values()) else "it cannot be downloaded automatically"
    return FileNotFoundError(
        f"{entry.title} ({name}) was not found. Put {', '.join(files)} into {places[0] / entry.folders[0]} (from {entry.home}), "
        f"or set {ENVIRONMENT} to the folder that holds {entry.folders[0]}, {automatic}. Looked in: {', '.join(map(str, places))}"
    )


def _file(name: str, entry: Entry, data_dir: str | Path | None, download: bool, sha256: Mapping[str, str] | None) -> Path:
    (role,) = entry.files
    return _found(name, entry, data_dir, download, sha256, [role])[role]


def _parts(
    name: str, entry: Entry, data_dir: str | Path | None, download: bool, sha256: Mapping[str, str] | None
) -> tuple[Path | None, Path | None]:
    paths = _found(name, entry, data_dir, download, sha256, ["test"])
    return paths.get("train"), paths["test"]


def _dataset(name: str, train: Split | None, test: Split | None, entry: Entry) -> Dataset:
    if test is None:
        raise ValueError(f"`{name}` has no test set")
    return Dataset(name, train, test, entry.class_names)


def _load_idx(name: str, entry: Entry, data_dir: str | Path | None, download: bool, sha256: Mapping[str, str] | None) -> Dataset:
    paths = _found(name, entry, data_dir, download, sha256, ["test images", "test labels"])
    has_train = "train images" in paths and "train labels" in paths
    train, test = (
        _idx_split(paths[f"{part} images"], paths[f"{part} labels"]) if part == "test" or has_train else None for part in ("train", "test")
    )
    return _dataset(name, train, test, entry)


def _idx_split(images: Path, labels: Path) -> Split:
    x, y = read_idx(images), read_idx(labels)
    if x.ndim != 3 or x.shape[1:] != (28, 28):
        raise refuse(images, f"expected images of 28 × 28; the file holds an array of shape {x.shape}")
    if y.shape != (len(x),):
        raise refuse(
            labels, f"expected one label for each of the {len(x)} images in {images.name}; the file holds an array of shape {y.shape}"
        )
    return Split(x, _checked(y.astype(np.int64), labels))


def _checked(y: np.ndarray, path: Path) -> np.ndarray:
    if y.min(initial=0) < 0 or y.max(initial=0) > 9:
        raise refuse(path, f"labels must be 0 to 9; found {y.min()} to {y.max()}")
    return y


def _load_cifar10(entry: Entry, data_dir: str | Path | None, download: bool, sha256: Mapping[str, str] | None) -> Dataset:
    places = _places(data_dir)
    test_only = None
    for folder in (place / folder for place in places for folder in entry.folders):
        for suffix, read in ((".bin", read_cifar10_binary), ("", read_cifar10_python)):
            if not (folder / f"test_batch{suffix}").is_file():
                continue
            batches = [folder / f"{batch}{suffix}" for batch in CIFAR_BATCHES]
            if all(batch.is_file() for batch in batches):
                images, labels = zip(*(read(batch) for batch in batches), strict=True)
                return _dataset(
                    "cifar10", Split(np.concatenate(images), np.concatenate(labels)), Split(*read(folder / f"test_batch{suffix}")), entry
                )
            test_only = test_only or (read, folder / f"test_batch{suffix}")
    if download:
        archive = places[0] / entry.files["archive"].path
        was_there = archive.exists()
        unpack_cifar10(fetch(entry.files["archive"], places[0], sha256), places[0])
        if not was_there:
            archive.unlink()
        return _load_cifar10(entry, places[0], False, None)
    if test_only is not None:
        read, path = test_only
        return _dataset("cifar10", None, Split(*read(path)), entry)
    raise _missing("cifar10", entry, places, ["the unpacked batches of cifar-10-binary.tar.gz or cifar-10-python.tar.gz"])


def _svhn(path: Path) -> Split:
    arrays = read_mat(path, ["X", "y"])
    x, y = arrays["X"], arrays["y"].reshape(-1)
    if x.dtype != np.uint8 or x.ndim != 4 or x.shape[:3] != (32, 32, 3) or x.shape[3] != len(y):
        raise refuse(path, f"expected X: (32, 32, 3, N) uint8 and y: N labels; got {x.shape} {x.dtype} and {len(y)}")
    if not np.isin(y, np.arange(1, 11)).all():
        raise refuse(path, "labels must be 1 to 10, where 10 is the digit 0")
    return Split(np.ascontiguousarray(x.transpose(3, 0, 1, 2)), y.astype(np.int64) % 10)


def _cifar102(path: Path) -> Split:
    arrays = read_npz(path, ["images", "labels"])
    x, y = arrays["images"], arrays["labels"]
    if x.dtype != np.uint8 or x.ndim != 4 or x.shape[1:] != (32, 32, 3) or y.shape != (len(x),) or y.dtype.kind not in "ui":
        raise refuse(path, f"expected images (N, 32, 32, 3) uint8 and N labels; got {x.shape} {x.dtype} and {y.shape} {y.dtype}")
    return Split(x, _checked(y.astype(np.int64), path))
