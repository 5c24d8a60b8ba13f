"""Data sets by name: where they are looked for, what is downloaded, and the published files."""

from __future__ import annotations

import gzip
import importlib
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import labelwise_lab.datasets as ds
from labelwise_lab.datasets.catalogue import ENTRIES, Remote

module = importlib.import_module("labelwise_lab.datasets.load")
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 28, 28), dtype=np.uint8)
LABELS = (np.arange(12) % 10).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def write_idx(
    folder: Path,
    part: str = "t10k",
    images: np.ndarray = IMAGES,
    labels: np.ndarray = LABELS,
    gz: bool = True,
    dot: bool = False,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in (
        (f"{part}-images-idx3-ubyte", images),
        (f"{part}-labels-idx1-ubyte", labels),
    ):
        name = name.replace("-idx", ".idx") if dot else name
        (folder / (name + ".gz" * gz)).write_bytes(gzip.compress(idx(array)) if gz else idx(array))


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "kmnist"])
@pytest.mark.parametrize(("gz", "dot"), [(True, False), (False, False), (False, True)])
def test_idx_sets(tmp_path: Path, name: str, gz: bool, dot: bool) -> None:
    for folder in ENTRIES[name].folders:
        place = tmp_path / folder.replace("/", "-")
        write_idx(place / folder, gz=gz, dot=dot)
        data = ds.load(name, data_dir=place)
        assert data.train is None
        np.testing.assert_array_equal(data.test.x, IMAGES, strict=True)
        np.testing.assert_array_equal(data.test.y, LABELS.astype(np.int64), strict=True)
        write_idx(place / folder, "train", IMAGES[::-1], gz=gz, dot=dot)
        data = ds.load(name, data_dir=str(place))
        assert data.train is not None
        np.testing.assert_array_equal(data.train.x, IMAGES[::-1])
        assert (data.name, data.class_names, data.published_split) == (
            name,
            ENTRIES[name].class_names,
            True,
        )


def test_the_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {
        place: tmp_path / place
        for place in ("argument", "environment", "cache/labelwise", "debian")
    }
    monkeypatch.setenv("LABELWISE_DATA", str(places["environment"]))
    monkeypatch.setattr(module, "DEBIAN_FASHION_MNIST", places["debian"])
    for mark, (place, path) in enumerate(reversed(places.items())):
        write_idx(
            path if place == "debian" else path / "FashionMNIST/raw",
            images=np.full_like(IMAGES, mark),
        )
        assert ds.load("fashion-mnist", data_dir=places["argument"]).test.x[0, 0, 0] == mark
    # a place with everything comes before one with the test set only
    write_idx(places["cache/labelwise"] / "FashionMNIST/raw", "train")
    data = ds.load("fashion-mnist", data_dir=places["argument"])
    assert data.train is not None
    assert data.test.x[0, 0, 0] == 1
    # Debian's folder is that of FashionMNIST alone, although the files of MNIST have the same names
    with pytest.raises(FileNotFoundError):
        ds.load("mnist", data_dir=places["debian"])


def test_debian_puts_the_files_here() -> None:
    assert Path("/usr/share/datasets/fashion-mnist") == module.DEBIAN_FASHION_MNIST


def test_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEBIAN_FASHION_MNIST", tmp_path / "debian")
    with pytest.raises(FileNotFoundError) as caught:
        ds.load("fashion-mnist", data_dir=tmp_path)
    assert str(caught.value) == (
        "FashionMNIST (fashion-mnist) was not found. Put t10k-images-idx3-ubyte.gz, "
        f"t10k-labels-idx1-ubyte.gz into {tmp_path}/FashionMNIST/raw "
        "(from https://github.com/zalandoresearch/fashion-mnist), or set LABELWISE_DATA to the "
        "folder that holds FashionMNIST/raw, "
        f"or pass download=True (--download). Looked in: {tmp_path}, {tmp_path}/cache/labelwise, "
        f"{tmp_path}/debian"
    )
    for name in set(ENTRIES) - {"fashion-mnist"}:
        with pytest.raises(FileNotFoundError, match=rf"\({re.escape(name)}\) was not found. Put "):
            ds.load(name, data_dir=tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"cardiotocography\.csv .* it cannot be downloaded automatically"
    ):
        ds.load("cardiotocography", data_dir=tmp_path)
    with pytest.raises(
        FileNotFoundError,
        match=r"cardiotocography\.csv cannot be downloaded automatically; put the file at",
    ):
        ds.load("cardiotocography", data_dir=tmp_path, download=True)
    with pytest.raises(FileNotFoundError, match=r"Put cifar10h-counts\.npy into .*cifar-10h"):
        ds.load_cifar10h(data_dir=tmp_path)


@pytest.mark.parametrize("name", ["fashion_mnist", "../../etc/passwd", "", "MNIST"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(ValueError, match="`name` must be one of the data sets"):
        ds.load(name)
    assert set(ds.names()) == {*ENTRIES, "digits"}


def test_only_what_is_missing_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []

    def fetch(remote: Remote, data_dir: Path, sha256: object = None) -> Path:
        fetched.append(remote.path)
        write_idx(tmp_path / "KMNIST/raw", "train")
        return data_dir / remote.path

    verified = []
    monkeypatch.setattr(module, "fetch", fetch)
    monkeypatch.setattr(module, "verify", lambda remote, path, sha256: verified.append(path))
    write_idx(tmp_path / "KMNIST/raw")
    data = ds.load("kmnist", data_dir=tmp_path, download=True)
    assert data.train is not None
    assert fetched == [
        "KMNIST/raw/train-images-idx3-ubyte.gz",
        "KMNIST/raw/train-labels-idx1-ubyte.gz",
    ]
    assert [path.name.split("-idx")[0] for path in verified] == ["t10k-images", "t10k-labels"]
    ds.load("kmnist", data_dir=tmp_path, download=True)
    assert len(fetched) == 2  # all are there now


def test_wrong_idx_content(tmp_path: Path) -> None:
    folder = tmp_path / "MNIST/raw"
    for images, labels, sentence in (
        (
            IMAGES[:, :20],
            LABELS,
            r"images.*: expected images of 28 × 28; the file holds an array of shape \(12, 20, 28\)",  # noqa: E501
        ),
        (LABELS, LABELS, "images.*: expected images of 28 × 28"),
        (
            IMAGES,
            LABELS[:5],
            r"labels.*: expected one label for each of the 12 images in t10k.* of shape \(5,\)",
        ),
        (IMAGES, IMAGES, "labels.*: expected one label for each of the 12 images"),
        (IMAGES, LABELS + 1, "labels.*: labels must be 0 to 9; found 1 to 10"),
    ):
        write_idx(folder, images=images, labels=labels)
        with pytest.raises(ValueError, match=sentence):
            ds.load("mnist", data_dir=tmp_path)


def write_cifar(folder: Path, names: list[str], offset: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        np.full((2, 3073), i + offset, np.uint8).tofile(folder / f"{name}.bin")


BATCHES = [f"data_batch_{i}" for i in range(1, 6)]


def test_cifar10(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-bin"
    write_cifar(folder, ["test_batch"], 9)
    assert ds.load("cifar10", data_dir=tmp_path).train is None
    write_cifar(folder, BATCHES)
    data = ds.load("cifar10", data_dir=tmp_path)
    assert data.train is not None
    np.testing.assert_array_equal(data.train.y, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    np.testing.assert_array_equal(data.train.x[:, 0, 0, 0], data.train.y)
    assert data.test.y.tolist() == [9, 9]


def test_cifar10_is_downloaded_and_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(remote: Remote, data_dir: Path, sha256: object = None) -> Path:
        (data_dir / remote.path).write_bytes(b"archive")
        return data_dir / remote.path

    def unpack(archive: Path, data_dir: Path) -> None:
        assert archive.read_bytes() == b"archive"
        write_cifar(data_dir / "cifar-10-batches-bin", [*BATCHES, "test_batch"])

    monkeypatch.setattr(module, "fetch", fetch)
    monkeypatch.setattr(module, "unpack_cifar10", unpack)
    data = ds.load("cifar10", data_dir=tmp_path, download=True)
    assert data.train is not None
    assert not (
        tmp_path / "cifar-10-binary.tar.gz"
    ).exists()  # what was downloaded is not kept twice
    (tmp_path / "cifar-10-batches-bin" / "data_batch_3.bin").unlink()
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"archive")
    ds.load("cifar10", data_dir=tmp_path, download=True)
    assert (tmp_path / "cifar-10-binary.tar.gz").exists()  # but a user's own archive is


def test_svhn(tmp_path: Path) -> None:
    (tmp_path / "svhn").mkdir()
    x = RNG.integers(0, 256, (32, 32, 3, 20), dtype=np.uint8)
    y = (np.arange(20) % 10 + 1)[:, None]
    for part in ("train", "test"):
        savemat(
            tmp_path / "svhn" / f"{part}_32x32.mat",
            {"X": x, "y": y.astype(float if part == "train" else np.uint8)},
            do_compression=True,
        )
    data = ds.load("svhn", data_dir=tmp_path)
    assert data.train is not None
    for split in (data.train, data.test):
        np.testing.assert_array_equal(split.x, x.transpose(3, 0, 1, 2), strict=True)
        np.testing.assert_array_equal(
            split.y, (np.arange(20) + 1) % 10, strict=True
        )  # 10 is the digit 0
    for wrong_x, wrong_y, sentence in (
        (x[:20], y, r"expected X: \(32, 32, 3, N\) uint8"),
        (x.astype(float), y, "got .* float64"),
        (x, y[:3], "and y: N labels"),
        (x, y - 1, "labels must be 1 to 10"),
        (x, y + 0.5, "labels must be 1 to 10"),
    ):
        savemat(tmp_path / "svhn" / "test_32x32.mat", {"X": wrong_x, "y": wrong_y})
        with pytest.raises(ValueError, match=sentence):
            ds.load("svhn", data_dir=tmp_path)


def test_cifar102(tmp_path: Path) -> None:
    x = RNG.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    extra = {
        "ti_indices": np.arange(20),
        "keywords": np.array(["cat"] * 20),
        "label_names": np.array(["a"] * 10, dtype=object),
    }
    for part in ("train", "test"):
        np.savez(tmp_path / f"cifar102_{part}.npz", images=x, labels=np.arange(20) % 10, **extra)
    data = ds.load("cifar10.2", data_dir=tmp_path)
    assert data.train is not None
    np.testing.assert_array_equal(data.test.x, x, strict=True)
    assert data.class_names[3] == "cat"
    for images, labels in (
        (x[:, :8], np.zeros(20, int)),
        (x, np.zeros(19, int)),
        (x, np.zeros(20)),
        (x.astype(float), np.zeros(20, int)),
    ):
        np.savez(tmp_path / "cifar102_test.npz", images=images, labels=labels)
        with pytest.raises(
            ValueError,
            match=r"cifar102_test\.npz: expected images \(N, 32, 32, 3\) uint8 and N labels",
        ):
            ds.load("cifar10.2", data_dir=tmp_path)
    np.savez(tmp_path / "cifar102_test.npz", images=x, labels=np.full(20, 10))
    with pytest.raises(ValueError, match="labels must be 0 to 9"):
        ds.load("cifar10.2", data_dir=tmp_path)


def test_cifar10h(tmp_path: Path) -> None:
    votes = RNG.integers(1, 50, (10_000, 10))
    for dtype in (np.int64, np.float64, np.uint8):
        np.save(tmp_path / "cifar10h-counts.npy", votes.astype(dtype))
        np.testing.assert_array_equal(ds.load_cifar10h(data_dir=tmp_path), votes, strict=True)
    for wrong in (
        votes[:5],
        votes / votes.sum(axis=1, keepdims=True),
        -votes,
        np.zeros_like(votes),
        np.full(votes.shape, np.nan),
    ):
        np.save(tmp_path / "cifar10h-counts.npy", wrong)
        with pytest.raises(
            ValueError,
            match=r"cifar10h-counts\.npy: expected the numbers of votes, shape \(10000, 10\)",
        ):
            ds.load_cifar10h(data_dir=tmp_path)


def test_tables_must_have_the_published_classes(tmp_path: Path) -> None:
    (tmp_path / "dermatology.arff").write_text(
        "@attribute a real\n@attribute c {1,2}\n@data\n1,1\n2,2\n3,1\n4,2\n"
    )
    with pytest.raises(
        ValueError, match=r"dermatology\.arff: Dermatology has 6 classes; this file has 2"
    ):
        ds.load("dermatology", data_dir=tmp_path)


def test_digits() -> None:
    from sklearn.datasets import load_digits

    data = ds.load("digits")
    assert data.train is not None
    x = np.concatenate([data.train.x, data.test.x]).astype(float) * 16 / 255
    assert len(x) == 1797
    np.testing.assert_allclose(
        sorted(map(tuple, x.reshape(1797, -1).round())), sorted(map(tuple, load_digits().data))
    )
    assert data.test.x.max() == 255


# What the publishers say about the sets: sizes, images per class, a mean; for MNIST and
# FashionMNIST the well-known means of the pixels.
PUBLISHED = {
    "mnist": (60_000, 10_000, [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009], 0.1307),
    "fashion-mnist": (60_000, 10_000, [1000] * 10, 0.2860),
    "kmnist": (None, 10_000, [1000] * 10, None),
    "cifar10": (50_000, 10_000, [1000] * 10, 0.4734),
    "svhn": (None, 10_000, None, None),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files(real: Path, cifar10: ds.Dataset, name: str) -> None:
    n_train, n_test, per_class, mean = PUBLISHED[name]
    data = cifar10 if name == "cifar10" else ds.load(name, data_dir=real)
    assert len(data.test) == n_test
    assert (data.train is None) == (n_train is None)
    assert data.test.x.dtype == np.uint8
    if per_class:
        assert np.bincount(data.test.y).tolist() == per_class
    if data.train is not None and mean:
        assert len(data.train) == n_train
        assert data.train.x.mean() / 255 == pytest.approx(mean, abs=1e-4)


def test_images_are_the_right_way_up(real: Path, cifar10: ds.Dataset) -> None:
    """A one is taller than wide, a trouser has a gap between its legs, ships and planes are blue,
    SVHN is not transposed.
    """
    mnist = ds.load("mnist", data_dir=real).test
    ones = mnist.x[mnist.y == 1].mean(axis=0)
    assert (ones.max(axis=1) > 30).sum() > 2 * (ones.max(axis=0) > 120).sum()
    trousers = ds.load("fashion-mnist", data_dir=real).test
    mean = trousers.x[trousers.y == 1].mean(axis=0)
    assert mean[24, 14] < 0.6 * mean[24, 11]
    assert mean[3, 14] > mean[24, 14]
    cifar = cifar10.test
    planes, frogs = (cifar.x[cifar.y == k].mean(axis=(0, 1, 2)) for k in (0, 6))
    assert planes[2] > planes[0]
    assert frogs[2] < frogs[0]
    planes = cifar.x[cifar.y == 0].astype(float)
    assert planes[:, :4, :, 2].mean() > planes[:, -4:, :, 2].mean()  # the sky is above
    svhn = ds.load("svhn", data_dir=real).test
    ones = svhn.x[svhn.y == 1].astype(float).mean(axis=3)
    across, down = (
        np.abs(np.diff(ones[:, 8:24, 8:24], axis=2)).mean(),
        np.abs(np.diff(ones[:, 8:24, 8:24], axis=1)).mean(),
    )
    assert across > 1.5 * down  # edges of a stroke that goes down


def test_human_votes_belong_to_the_test_images(real: Path, cifar10: ds.Dataset) -> None:
    votes, y = ds.load_cifar10h(data_dir=real), cifar10.test.y
    assert votes.sum(axis=1).min() >= 47
    assert votes.sum(axis=1).max() <= 63
    assert (votes.argmax(axis=1) == y).mean() == pytest.approx(0.992, abs=0.001)


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, labelwise_lab.datasets; print([m for m in ('torch', 'sklearn', 'scipy.io', "
        "'pooch', 'requests', 'PIL', 'pandas', 'rich') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
