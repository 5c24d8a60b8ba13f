from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from labelwise_lab.datasets import load_image_folder

RNG = np.random.default_rng(0)


def write(path: Path, pixels: np.ndarray) -> np.ndarray:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


def color(h: int = 6, w: int = 5) -> np.ndarray:
    return RNG.integers(0, 256, (h, w, 3), dtype=np.uint8)


def test_split_by_the_user(tmp_path: Path) -> None:
    pixels = {}
    for part, n in (("train", 3), ("val", 1), ("test", 2)):
        for label in ("cat", "ant"):
            for i in range(n):
                pixels[part, label, i] = write(tmp_path / part / label / f"{i}.png", color())
    write(tmp_path / "test" / "bee" / "0.bmp", color())  # a class that only the test set has
    (tmp_path / "train" / "cat" / "notes.txt").write_text("not an image")
    (tmp_path / "train" / "cat" / ".hidden.png").write_text("not an image")
    (tmp_path / "train" / ".cache").mkdir()
    data = load_image_folder(tmp_path)
    assert data.class_names == ("ant", "bee", "cat")
    assert data.published_split
    assert data.train is not None
    assert data.val is not None
    np.testing.assert_array_equal(data.train.y, [0, 0, 0, 2, 2, 2])
    np.testing.assert_array_equal(data.test.y, [0, 0, 1, 2, 2])
    np.testing.assert_array_equal(
        data.train.x,
        [pixels["train", label, i] for label in ("ant", "cat") for i in range(3)],
        strict=True,
    )
    np.testing.assert_array_equal(data.val.x[1], pixels["val", "cat", 0])


def test_split_here(tmp_path: Path) -> None:
    for label in "ab":
        for i in range(10):
            write(tmp_path / label / f"{i}.png", color())
    data = load_image_folder(tmp_path, test_size=0.2, rng=1)
    assert data.train is not None
    assert (len(data.train), len(data.test), data.published_split) == (16, 4, False)
    np.testing.assert_array_equal(np.bincount(data.test.y), [2, 2])


def test_gray_and_size(tmp_path: Path) -> None:
    for label, shade in (("a", 10), ("b", 200)):
        write(tmp_path / label / "0.png", np.full((8, 8), shade, np.uint8))
        write(tmp_path / label / "1.png", np.full((16, 12, 3), shade, np.uint8))
    data = load_image_folder(tmp_path, size=(4, 6), gray=True, test_size=0.5)
    assert data.train is not None
    assert data.train.x.shape == (2, 4, 6)
    np.testing.assert_array_equal(data.train.x[:, 0, 0], [10, 200])
    with pytest.raises(
        ValueError, match=r"1\.png: its size is 16 × 12, that of 0\.png is 8 × 8; pass size="
    ):
        load_image_folder(tmp_path)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, data: bytes = b"") -> bytes:
    head = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(data))
        + chunk(b"IEND", b"")
    )


EPS = (
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 6 5\n%%EndComments\n(was-run) (w) file "
    b"closefile\nshowpage\n"
)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not an image that can be read"),
        (b"garbage", "not an image that can be read"),
        (EPS, "not an image that can be read"),
        (png(5, 6), "the image is truncated or corrupted"),
        (png(5, 6, RNG.bytes(96))[:-40], "the image is truncated or corrupted"),
        (
            png(5, 6)[:33] + b"\xff" + png(5, 6)[34:],
            "the image is truncated or corrupted",
        ),  # a chunk of 4 GB
        (png(50_000, 50_000), "more than 178 million pixels"),
        (png(2**31 - 1, 2**31 - 1), "more than 178 million pixels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "content",
)
def test_bad_images_are_refused_with_a_sentence(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    for label in "ab":
        write(tmp_path / label / "1.png", color())
    bad = tmp_path / "b" / "2.png"
    bad.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        load_image_folder(tmp_path)
    assert str(caught.value).startswith(f"{bad}: ")


def test_wrong_folders(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError,
        match="`path` must be a folder with one subfolder per class; there is no folder",
    ):
        load_image_folder(tmp_path / "nothing")
    with pytest.raises(
        ValueError, match=r"expected FOLDER/CLASS/IMAGE\.png for two classes or more"
    ):
        load_image_folder(tmp_path)
    write(tmp_path / "only" / "1.png", color())
    with pytest.raises(ValueError, match="no images in two class folders"):
        load_image_folder(tmp_path)
    (tmp_path / "train").mkdir()
    write(tmp_path / "test" / "a" / "1.png", color())
    write(tmp_path / "test" / "b" / "1.png", color())
    with pytest.raises(ValueError, match=r"no images in .*train; expected"):
        load_image_folder(tmp_path)
