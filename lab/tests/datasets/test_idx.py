from __future__ import annotations

import gzip
import struct
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
        (b"", "it begins with nothing instead of 00 00 08"),
        (b"\x89PNG....", "it begins with 89 50 4e 47 instead of 00 00 08"),
        (b"\0\0\x0d\x01\0\0\0\1aaaa", "not an idx file of unsigned bytes"),
        (idx(IMAGES)[:10], "ends inside its header"),
        (
            idx(IMAGES)[:-1],
            r"its header promises 3,920 bytes \(shape \(5, 28, 28\)\), but 3,919 are there",
        ),
        (gzip.compress(idx(IMAGES) + b"x"), "but 3,921 are there"),
        (gzip.compress(idx(IMAGES))[:-100], "the compressed data are damaged"),
        (gzip.compress(idx(IMAGES))[:-6] + b"abcdef", "the compressed data are damaged"),
        (struct.pack(">4B4I", 0, 0, 8, 4, *[2**32 - 1] * 4), "but 0 are there"),
    ],
    ids=lambda value: value if isinstance(value, str) else "content",
)
def test_bad_files_are_refused_with_a_sentence(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_idx(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_idx(tmp_path / "nothing")
