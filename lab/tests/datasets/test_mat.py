from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from labelwise_lab.datasets import read_mat

Peak = Callable[[Callable[[], object]], int]
RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (32, 32, 3, 7), dtype=np.uint8)
Y = RNG.integers(1, 11, (7, 1)).astype(np.uint8)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"])
def test_same_as_scipy(tmp_path: Path, compressed: bool, dtype: str) -> None:
    path = tmp_path / "a.mat"
    arrays = {
        "first": np.arange(5.0),
        "X": X.astype(dtype),
        "text": "a text",
        "one": np.array([[3]], dtype),
        "y": Y.astype(dtype),
        "empty": np.zeros((0, 3), dtype),
    }
    savemat(path, arrays, do_compression=compressed)
    ours, theirs = read_mat(path, ["y", "X", "one", "empty"]), loadmat(path)
    for name, values in ours.items():
        np.testing.assert_array_equal(values, theirs[name], strict=True)


def test_only_plain_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(
        path,
        {
            "text": "abc",
            "cell": np.array([1, "b"], dtype=object),
            "struct": {"a": 1},
            "complex": np.array([1j]),
        },
    )
    for name in ("text", "cell", "struct", "complex"):
        with pytest.raises(ValueError, match=f"variable '{name}' is not a plain numeric array"):
            read_mat(path, [name])
    with pytest.raises(ValueError, match=r"a.mat: no numeric variable 'y' in the file"):
        read_mat(path, ["y"])


HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"


def element(kind: int, data: bytes, claimed: int | None = None) -> bytes:
    return (
        struct.pack("<2I", kind, len(data) if claimed is None else claimed)
        + data
        + bytes(-len(data) % 8)
    )


def matrix(
    shape: tuple[int, ...],
    values: bytes,
    claimed: int | None = None,
    name: bytes = b"X",
    mx_class: int = 9,
    kind: int = 2,
) -> bytes:
    parts = (
        element(6, struct.pack("<2I", mx_class, 0))
        + element(5, struct.pack(f"<{len(shape)}i", *shape))
        + element(1, name)
    )
    return element(14, parts + element(kind, values, claimed))


def packed(content: bytes) -> bytes:
    return struct.pack("<2I", 15, len(zlib.compress(content))) + zlib.compress(content)


GOOD = matrix((2, 3), bytes(range(6)))


def test_the_files_of_these_tests_are_good(tmp_path: Path) -> None:
    for content in (GOOD, packed(GOOD)):
        (tmp_path / "a.mat").write_bytes(HEADER + content)
        np.testing.assert_array_equal(
            read_mat(tmp_path / "a.mat", ["X"])["X"], [[0, 2, 4], [1, 3, 5]]
        )
        np.testing.assert_array_equal(loadmat(tmp_path / "a.mat")["X"], [[0, 2, 4], [1, 3, 5]])


BAD = {
    "empty": (b"", "not a MATLAB 5 file"),
    "garbage": (bytes(range(256)) * 4, "not a MATLAB 5 file"),
    "version 7.3": (b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM", "save it again with save"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(200), "save it again with save"),
    "big-endian": (b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI", "not a MATLAB 5 file"),
    "no variables": (HEADER, "no numeric variable 'X'"),
    "cut in the tag": (HEADER + GOOD[:5], "corrupted"),
    "cut in the values": (HEADER + GOOD[:-4], "its tags promise .* it is truncated"),
    "cut in the stream": (HEADER + packed(GOOD)[:-4], "truncated"),
    "stream ends early": (HEADER + element(15, zlib.compress(GOOD)[:-10]), "corrupted"),
    "damaged stream": (HEADER + element(15, zlib.compress(GOOD)[:10] + b"\xff" * 30), "corrupted"),
    "damaged checksum": (HEADER + element(15, zlib.compress(GOOD)[:-4] + b"abcd"), "corrupted"),
    "too few values": (
        HEADER + matrix((2, 4), bytes(6)),
        r"shape \(2, 4\), which does not fit its 6 bytes",
    ),
    "huge": (
        HEADER + packed(matrix((2**31 - 1, 2**31 - 1), b"", 2**32 - 1)),
        "asks for .* TB of memory",
    ),
    "claims 4 GB": (
        HEADER + packed(matrix((2**32 // 2**10 - 1, 2**10), b"", 2**32 - 2**10)),
        r"asks for 4.3 GB of memory",
    ),
    "claims 200 MB": (
        HEADER + packed(matrix((200, 10**6), bytes(100), 200 * 10**6)),
        "truncated|corrupted",
    ),
    "negative": (HEADER + matrix((-2, 3), bytes(6)), "an impossible shape"),
    "axes": (HEADER + matrix((1,) * 70, bytes(1)), "an impossible shape"),
    "no flags": (
        HEADER + element(14, element(6, b"") + element(5, b"") + element(1, b"X")),
        "corrupted",
    ),
    "long name": (
        HEADER + matrix((2, 3), bytes(6), name=bytes(2000)),
        r"a name or size of 2.0 kB is not possible",
    ),
    "not ASCII": (HEADER + matrix((2, 3), bytes(6), name=b"\xff"), "corrupted"),
    "unknown type": (HEADER + matrix((2, 3), bytes(6), kind=77), "values of an unknown type"),
    "goes on": (HEADER + packed(GOOD + bytes(10**6)), "corrupted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_a_sentence_and_bounded_memory(
    tmp_path: Path, name: str, peak: Peak
) -> None:
    content, sentence = BAD[name]
    path = tmp_path / "test_32x32.mat"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_mat(path, ["X"])
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    # 200 MB is below what any file may ask for (256 MiB); all other claims are refused before
    # memory is taken
    assert peak(lambda: read_mat(path, ["X"])) < (210 * 10**6 if name == "claims 200 MB" else 2**21)


def test_a_bomb_behind_a_variable_that_is_not_wanted_is_not_inflated(
    tmp_path: Path, peak: Peak
) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(HEADER + packed(matrix((50, 10**6), bytes(50 * 10**6), name=b"big")) + GOOD)
    assert peak(lambda: read_mat(path, ["X"])) < 2**21
    assert read_mat(path, ["X"])["X"].shape == (2, 3)
