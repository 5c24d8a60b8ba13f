from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelwise_lab.datasets import read_idx


def idx(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


IMAGES = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)),
    st.booleans(),
)
def test_what_is_written_is_read(tmp_path: Path, array: np.ndarray, compressed: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(idx(array)) if compressed else idx(array))
    np.testing.assert_array_equal(read_idx(path), array, strict=True)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not an idx file: it begins with nothing"),
        (b"\x89PNG....", "not an idx file: it begins with 89 50 4e 47"),
        (gzip.compress(b"hello world"), "not an idx file: it begins with 68 65 6c 6c"),
        (b"\0\0\x0d\x01\0\0\0\1aaaa", "type 0x0d; only unsigned bytes"),
        (b"\0\0\x08\x09", "not an idx file"),
        (idx(IMAGES)[:10], "ends inside its header"),
        (
            idx(IMAGES)[:-1],
            r"its header promises 3.9 kB \(shape \(5, 28, 28\)\), but 3.9 kB follow",
        ),
        (idx(IMAGES) + b"x", "its header promises"),
        (gzip.compress(idx(IMAGES) + b"x"), "more data than its header promises"),
        (gzip.compress(idx(IMAGES)[:-1]), "truncated"),
        (
            gzip.compress(idx(IMAGES))[:-100],
            "the compressed data end too early; the file is truncated",
        ),
        (gzip.compress(idx(IMAGES))[:-6] + b"abcdef", "the compressed data are corrupted"),
        (
            gzip.compress(idx(IMAGES))[:40] + b"\xff" * 50 + gzip.compress(idx(IMAGES))[90:],
            "the compressed data are corrupted",
        ),
        (struct.pack(">4B4I", 0, 0, 8, 4, *[2**32 - 1] * 4), "asks for .* TB of memory"),
        (
            gzip.compress(struct.pack(">4B3I", 0, 0, 8, 3, 10**9, 1000, 1000)),
            "asks for 1000.0 TB of memory",
        ),
        (
            gzip.compress(struct.pack(">4B3I", 0, 0, 8, 3, 400_000, 28, 28)),
            "asks for 313.6 MB of memory",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "content",
)
def test_bad_files_are_refused_with_a_sentence_and_no_memory(
    tmp_path: Path, content: bytes, sentence: str, peak: Callable[[Callable[[], object]], int]
) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_idx(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert peak(lambda: read_idx(path)) < 3 * 2**20


def test_a_bomb_takes_no_more_than_its_header_promises(
    tmp_path: Path, peak: Callable[[Callable[[], object]], int]
) -> None:
    # 200 MB of zeros behind a header that promises one kilobyte
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(struct.pack(">4BI", 0, 0, 8, 1, 1000))
        for _ in range(200):
            file.write(bytes(10**6))
    assert path.stat().st_size < 2 * 10**6
    assert peak(lambda: read_idx(path)) < 3 * 2**20
    with pytest.raises(ValueError, match="more data than its header promises"):
        read_idx(path)


def test_reading_takes_the_array_and_little_more(
    tmp_path: Path, peak: Callable[[Callable[[], object]], int]
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (20_000, 28, 28), dtype=np.uint8)
    path = tmp_path / "images"
    path.write_bytes(gzip.compress(idx(images), compresslevel=1))
    assert peak(lambda: read_idx(path)) < images.nbytes + 4 * 2**20


def test_a_missing_file_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_idx(tmp_path / "nothing")
