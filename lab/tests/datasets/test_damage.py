"""Every reader on random damage: it reads something or refuses with one sentence that names the
file; nothing else happens.
"""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

import labelwise_lab.datasets as ds

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (4, 28, 28), dtype=np.uint8)
IDX = bytes([0, 0, 8, 3]) + struct.pack(">3I", *IMAGES.shape) + IMAGES.tobytes()
ARFF = (
    "@relation r\n@attribute a real\n@attribute 'b c' {x,'y z',w}\n@attribute class {0,1}\n@data\n"
    + "".join(f"{i / 3},{'x' if i % 2 else repr('y z')},{i % 2}\n" for i in range(10))
)
CSV = "a,b,class\n" + "".join(f"{i / 3},{'red' if i % 2 else 'blue'},{i % 2}\n" for i in range(10))


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def medmnist(file: io.BytesIO) -> None:
    np.savez_compressed(
        file,
        **{
            f"{part}_{kind}": IMAGES if kind == "images" else np.zeros((4, 1), np.uint8)
            for part in ("train", "val", "test")
            for kind in ("images", "labels")
        },
    )


READERS: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "idx": (IDX, ds.read_idx),
    "idx.gz": (gzip.compress(IDX), ds.read_idx),
    "x.npz": (written(medmnist), ds.load_medmnist),
    "batch.bin": (RNG.integers(0, 10, 3 * 3073, dtype=np.uint8).tobytes(), ds.read_cifar10),
    "x.arff": (ARFF.encode(), ds.load_table),
    "x.csv": (CSV.encode(), ds.load_table),
    "folder/a/1.png": (
        written(lambda file: Image.fromarray(IMAGES[0]).save(file, "PNG")),
        lambda path: ds.load_image_folder(path.parents[1]),
    ),
    "folder/a/1.jpg": (
        written(lambda file: Image.fromarray(IMAGES[0]).save(file, "JPEG")),
        lambda path: ds.load_image_folder(path.parents[1]),
    ),
    "folder/a/1.gif": (
        written(lambda file: Image.fromarray(IMAGES[0]).save(file, "GIF")),
        lambda path: ds.load_image_folder(path.parents[1]),
    ),
    "folder/a/1.tif": (
        written(lambda file: Image.fromarray(IMAGES[0]).save(file, "TIFF")),
        lambda path: ds.load_image_folder(path.parents[1]),
    ),
    "folder/a/1.webp": (
        written(lambda file: Image.fromarray(IMAGES[0]).save(file, "WEBP")),
        lambda path: ds.load_image_folder(path.parents[1]),
    ),
}

# Where to damage (share of the length, or the first bytes, where the headers are), and what to put
# there; or where to cut.
POSITION = st.one_of(st.floats(0, 1, exclude_max=True), st.integers(0, 200))
DAMAGE = st.lists(
    st.tuples(
        POSITION,
        st.sampled_from(
            [b"\0", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"1", b"'", b"}", b"R"]
        )
        | st.binary(max_size=3),
    ),
    max_size=4,
)


@pytest.mark.parametrize("name", READERS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(damage=DAMAGE, cut=st.none() | POSITION)
@example(damage=[(1, b"\0")], cut=None)  # SciPy quotes this line of an .arff file
def test_damage(
    tmp_path: Path, name: str, damage: list[tuple[float | int, bytes]], cut: float | int | None
) -> None:
    content, read = READERS[name]

    def at(position: float | int) -> int:
        return (
            min(position, len(content))
            if isinstance(position, int)
            else int(position * len(content))
        )

    damaged = bytearray(content)
    for position, put in damage:
        damaged[at(position) : at(position) + len(put)] = put
    path = tmp_path / name
    if not path.parent.exists():  # a folder of images needs a second class
        path.parent.mkdir(parents=True)
        (tmp_path / "folder" / "b").mkdir()
        Image.fromarray(IMAGES[1]).save(tmp_path / "folder" / "b" / "1.png")
    path.write_bytes(damaged if cut is None else damaged[: at(cut)])
    sentence = ""
    try:
        read(path)
    except ValueError as error:
        sentence = str(error)
    assert not sentence or sentence.startswith(
        (str(path), path.name, str(tmp_path / "folder"), "`")
    )
    assert "\n" not in sentence


@pytest.mark.parametrize("name", READERS)
def test_without_damage(tmp_path: Path, name: str) -> None:
    content, read = READERS[name]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.startswith("folder"):
        (tmp_path / "folder" / "b").mkdir()
        Image.fromarray(IMAGES[1]).save(tmp_path / "folder" / "b" / "1.png")
    path.write_bytes(content)
    read(path)
