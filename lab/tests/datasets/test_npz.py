from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelwise_lab.datasets import read_npy, read_npz

Peak = Callable[[Callable[[], object]], int]


def npy(array: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def header(text: str, version: int = 1) -> bytes:
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + struct.pack("<H" if version == 1 else "<I", len(text))
        + text.encode()
    )


def archive(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


DTYPES = st.sampled_from([np.uint8, np.int64, np.float32, np.dtype(">i4"), np.bool_])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    DTYPES.flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
    ),
    st.booleans(),
    st.booleans(),
)
def test_what_numpy_writes_is_read(
    tmp_path: Path, array: np.ndarray, fortran: bool, compressed: bool
) -> None:
    array = np.asarray(array, order="F" if fortran else "C")
    np.save(tmp_path / "a.npy", array)
    expected = array.astype(array.dtype.newbyteorder("="))
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy"), expected, strict=True)
    (np.savez_compressed if compressed else np.savez)(
        tmp_path / "a.npz", a=array, other=np.arange(3)
    )
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz", ["a"])["a"], expected, strict=True)


def test_format_2_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(npy(np.arange(5), version=(2, 0)))
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy"), np.arange(5))


class Evil:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def test_pickled_objects_are_refused_and_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "was-run"
    evil = np.array([Evil(marker)], dtype=object)
    np.save(tmp_path / "evil.npy", evil, allow_pickle=True)
    np.savez(tmp_path / "evil.npz", images=evil)
    for read in (
        lambda: read_npy(tmp_path / "evil.npy"),
        lambda: read_npz(tmp_path / "evil.npz", ["images"]),
    ):
        with pytest.raises(ValueError, match="holds Python objects or records"):
            read()
    (tmp_path / "raw.npz").write_bytes(b"\x80\x04" + b"cos\nmkdir\n")
    with pytest.raises(ValueError, match=r"raw.npz is not a readable .npz file"):
        read_npz(tmp_path / "raw.npz", ["images"])
    assert not marker.exists()
    np.load(tmp_path / "evil.npy", allow_pickle=True)  # the bait is real
    assert marker.exists()


BAD = {
    "empty": (b"", "is not an array in .npy format"),
    "wrong magic": (b"\x93NUMPX\x01\x00rest", "is not an array in .npy format"),
    "format 9": (b"\x93NUMPY\x09\x00rest", "is not an array in .npy format"),
    "no header": (header("garbage"), "is not an array in .npy format"),
    "nested header": (header("(" * 5000), "is not an array in .npy format"),
    "long header": (
        b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31),
        "is not an array in .npy format",
    ),
    "code": (header("__import__('os').abort()"), "is not an array in .npy format"),
    "truncated": (npy(np.arange(1000))[:-1], "needs 8,000 bytes; (7,999|8,001) are there"),
    "too long": (npy(np.arange(1000)) + b"x", "needs 8,000 bytes; (7,999|8,001) are there"),
    "huge": (
        header("{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000, 28, 28)}"),
        "needs 784,000,000,000,000 bytes; 0 are there",
    ),
    "negative": (
        header("{'descr': '|u1', 'fortran_order': False, 'shape': (-1, 28)}"),
        "an impossible shape",
    ),
    "axes": (
        header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': {(1,) * 70}}}"),
        "an impossible shape",
    ),
    "text": (npy(np.array(["a", "b"])), "instead of numbers"),
    "records": (npy(np.zeros(2, "i4,f8")), "holds Python objects or records"),
    "empty items": (
        header("{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000000,)}"),
        "holds Python objects or records",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("zipped", [False, True])
def test_bad_files_are_refused_with_a_sentence_and_no_memory(
    tmp_path: Path, name: str, zipped: bool, peak: Peak
) -> None:
    content, sentence = BAD[name]
    path = tmp_path / ("a.npz" if zipped else "a.npy")
    if zipped:
        archive(path, {"images.npy": content})
    else:
        path.write_bytes(content)

    def read() -> object:
        return read_npz(path, ["images"]) if zipped else read_npy(path)

    with pytest.raises(ValueError, match=sentence) as caught:
        read()
    assert str(caught.value).startswith(path.name)
    assert "\n" not in str(caught.value)
    assert peak(read) < 4 * 2**20


def test_a_zip_bomb_is_refused_before_it_is_inflated(tmp_path: Path, peak: Peak) -> None:
    zeros = npy(np.zeros((20_000, 28, 28), np.uint8)) + bytes(200 * 10**6)
    honest = npy(np.zeros((400_000, 28, 28), np.uint8))
    liar = archive(tmp_path / "liar.npz", {"images.npy": zeros})
    bomb = archive(tmp_path / "bomb.npz", {"images.npy": honest})
    assert liar.stat().st_size < 2 * 10**6
    del zeros, honest
    for path, sentence in (
        (liar, "needs 15,680,000 bytes"),
        (bomb, "would unpack from .* to 313,600,128 bytes"),
    ):
        with pytest.raises(ValueError, match=sentence):
            read_npz(path, ["images"])
        assert peak(lambda path=path: read_npz(path, ["images"])) < 4 * 2**20


def test_a_directory_that_understates_the_size_is_refused(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a.npz", {"images.npy": npy(np.arange(100, dtype=np.uint8))}, zipfile.ZIP_STORED
    )
    content = path.read_bytes()
    size = struct.pack("<I", 228)
    path.write_bytes(content.replace(size, struct.pack("<I", 100)))
    with pytest.raises(ValueError, match=r"a\.npz"):
        read_npz(path, ["images"])


def test_damaged_archives(tmp_path: Path) -> None:
    array = np.random.default_rng(0).integers(0, 256, 10_000, dtype=np.uint8)
    np.savez_compressed(tmp_path / "a.npz", images=array)
    whole = (tmp_path / "a.npz").read_bytes()
    for content in (
        whole[:-30],
        whole[: len(whole) // 2],
        whole[:500] + b"\0" * 20 + whole[520:],
        b"PK\x03\x04",
        b"garbage",
    ):
        (tmp_path / "b.npz").write_bytes(content)
        with pytest.raises(
            ValueError, match=r"b.npz(: `images`)? is (not a readable .npz file|damaged)"
        ):
            read_npz(tmp_path / "b.npz", ["images"])
    encrypted = bytearray(whole)
    encrypted[6] |= 1
    encrypted[whole.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "b.npz").write_bytes(encrypted)
    with pytest.raises(ValueError, match=r"b.npz is not a readable .npz file: .*encrypted"):
        read_npz(tmp_path / "b.npz", ["images"])


def test_names_of_members_are_only_names(tmp_path: Path) -> None:
    outside = tmp_path / "outside.npy"
    path = archive(
        tmp_path / "a.npz",
        {
            "../outside.npy": npy(np.arange(3)),
            "/etc/passwd.npy": npy(np.arange(3)),
            "images.npy": npy(np.arange(3)),
        },
    )
    np.testing.assert_array_equal(read_npz(path, ["images"])["images"], np.arange(3))
    assert not outside.exists()
    with pytest.raises(
        ValueError, match=r"no array 'labels'; the file holds '../outside', '/etc/passwd', 'images'"
    ):
        read_npz(path, ["labels"])
