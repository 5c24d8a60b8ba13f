from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.datasets import read_cifar10_binary, read_cifar10_python

Peak = Callable[[Callable[[], object]], int]
N = 30
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (N, 32, 32, 3), dtype=np.uint8)
LABELS = RNG.integers(0, 10, N)
ROWS = IMAGES.transpose(0, 3, 1, 2).reshape(N, 3072)


def short(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def long(text: bytes) -> bytes:
    return b"T" + struct.pack("<i", len(text)) + text


def array(rows: np.ndarray) -> bytes:
    """A NumPy array as Python 2 with NumPy 1 pickled it."""
    return (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x06cnumpy\nndarray\nq\x07K\x00\x85q\x08U\x01bq\x09\x87q\x0aRq\x0b(K\x01"
        + b"M"
        + struct.pack("<H", rows.shape[0])
        + b"M"
        + struct.pack("<H", rows.shape[1])
        + b"\x86q\x0c"
        + b"cnumpy\ndtype\nq\x0dU\x02u1q\x0eK\x00K\x01\x87q\x0fRq\x10(K\x03U\x01|q\x11NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x12b"  # noqa: E501
        + b"\x89"
        + long(rows.tobytes())
        + b"q\x13tq\x14b"
    )


def batch(rows: np.ndarray = ROWS, labels: np.ndarray = LABELS, data: bytes | None = None) -> bytes:
    """A batch with the instructions of the published files (protocol 2 of Python 2's cPickle)."""
    names = b"".join(short(b"image_%d.png" % i) for i in range(len(labels)))
    return (
        b"\x80\x02}q\x01("
        + short(b"batch_label")
        + b"q\x02"
        + short(b"training batch 1 of 5")
        + b"q\x03"
        + short(b"labels")
        + b"q\x04]q\x05("
        + b"".join(b"K" + bytes([k]) for k in labels)
        + b"e"
        + short(b"data")
        + (data or array(rows))
        + short(b"filenames")
        + b"]r\x00\x01\x00\x00("
        + names
        + b"eu."
    )


def write_binary(path: Path) -> Path:
    np.concatenate([LABELS.astype(np.uint8)[:, None], ROWS], axis=1).tofile(path)
    return path


def test_both_versions_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "data_batch_1").write_bytes(batch())
    for images, labels in (
        read_cifar10_binary(write_binary(tmp_path / "data_batch_1.bin")),
        read_cifar10_python(tmp_path / "data_batch_1"),
    ):
        np.testing.assert_array_equal(images, IMAGES, strict=True)
        np.testing.assert_array_equal(labels, LABELS, strict=True)
        assert images.flags.c_contiguous


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # numpy.core, the old name in the published files
def test_the_files_of_these_tests_are_pickles_like_the_published_ones() -> None:
    content = pickle.loads(batch(), encoding="bytes")
    np.testing.assert_array_equal(content[b"data"], ROWS)
    assert content[b"labels"] == LABELS.tolist()
    assert content[b"filenames"][7] == b"image_7.png"


def test_pickles_are_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "was-run"
    make = b"cos\nmkdir\n(" + short(str(marker).encode()) + b"tR"
    path = tmp_path / "data_batch_1"
    for content, what in {
        b"\x80\x02" + make + b".": "it asks to import 'os.mkdir'",
        batch(data=make): "it asks to import 'os.mkdir'",
        batch(data=make + b"0" + array(ROWS)): "it asks to import 'os.mkdir'",
        b"\x80\x02("
        + short(str(marker).encode())
        + b"ios\nmkdir\n.": "it contains the instruction INST",
        b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93.": "it contains the instruction SHORT_BINUNICODE",
        b"\x80\x02\x82\x01.": "it contains the instruction EXT1",
        b"\x80\x02Pid\n.": "it contains the instruction PERSID",
        batch(
            data=array(ROWS).replace(b"numpy.core.multiarray\n_reconstruct", b"builtins\nexec")
        ): "it asks to import 'builtins.exec'",
        batch(
            data=array(ROWS).replace(b"cnumpy\ndtype", b"cnumpy\nload")
        ): "it asks to import 'numpy.load'",
        b"\x80\x02cnumpy\ndtype\n.": "its instructions do not fit together",
        b"\x80\x02}}R.": "its instructions do not fit together",
        b"\x80\x02]K\x01K\x02b.": "its instructions do not fit together",
        b"\x80\x02" + b"}" * 1000 + b".": "it builds too many lists",
        batch(data=b"]"): "`data` is not an array",
        batch(labels=LABELS[:-1]): "`data` is not an array of one row per label",
    }.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a CIFAR-10 batch as published") as caught:
            read_cifar10_python(path)
        assert what in str(caught.value)
        assert str(caught.value).startswith(str(path))
        assert "Nothing in it was run" in str(caught.value)
    assert not marker.exists()
    with pytest.raises(
        TypeError
    ):  # the bait is real: os.mkdir runs, then its result is not a batch
        pickle.loads(batch(data=make), encoding="bytes")[b"data"][0]
    assert marker.exists()


def test_damaged_pickles(tmp_path: Path, peak: Peak) -> None:
    path = tmp_path / "test_batch"
    whole = batch()
    lies = b"\x80\x02}(" + short(b"data") + b"B" + struct.pack("<I", 2**31 - 1) + b"few"
    endless = b"\x80\x02}(" + short(b"data") + b"\x8e" + struct.pack("<Q", 2**40) + b"few"
    itself = (
        b"\x80\x02}q\x00("
        + short(b"labels")
        + b"]q\x01h\x01a"
        + short(b"data")
        + array(ROWS[:1])
        + b"u."
    )
    shape = batch(data=array(ROWS).replace(b"M" + struct.pack("<H", N), b"M\xff\xff"))
    wrong = batch(labels=np.where(LABELS == 3, 77, LABELS))
    for content in (
        b"",
        whole[:-1],
        whole[: len(whole) // 2],
        b"\x89PNG",
        lies,
        endless,
        itself,
        shape,
        wrong,
        b"\x80\x02h\x07.",
        b"e.",
        b"\x80\x02K\x01.",
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="test_batch: ") as caught:
            read_cifar10_python(path)
        assert "\n" not in str(caught.value)
        assert peak(lambda: read_cifar10_python(path)) < 2**22
    with path.open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(ValueError, match=r"a CIFAR-10 batch has 31 MB; this file has 1.0 GB"):
        read_cifar10_python(path)


def test_damaged_binaries(tmp_path: Path) -> None:
    path = write_binary(tmp_path / "test_batch.bin")
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:3000], whole + b"x"):
        path.write_bytes(content)
        with pytest.raises(
            ValueError,
            match=r"test_batch\.bin: a CIFAR-10 batch has 3073 bytes per image; this file has",
        ):
            read_cifar10_binary(path)
    path.write_bytes(b"\xc8" + whole[1:])
    with pytest.raises(ValueError, match="labels must be 0 to 9; found 200: not a CIFAR-10 batch"):
        read_cifar10_binary(path)
