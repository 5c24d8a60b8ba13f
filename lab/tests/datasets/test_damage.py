"""Every reader on random damage: it reads something or refuses with one sentence that names the
file; nothing else happens.
"""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.io import savemat

import labelwise_lab.datasets as ds

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (4, 28, 28), dtype=np.uint8)
IDX = bytes([0, 0, 8, 3]) + struct.pack(">3I", *IMAGES.shape) + IMAGES.tobytes()
ARFF = (
    "@relation r\n@attribute a real\n@attribute 'b c' {x,'y z',w}\n@attribute class {0,1}\n@data\n"
    + "".join(f"{i / 3},{'x' if i % 2 else repr('y z')},{i % 2}\n" for i in range(10))
)
CSV = "a,b,class\n" + "".join(f"{i / 3},{'red' if i % 2 else 'blue'},{i % 2}\n" for i in range(10))
PICKLE = (
    b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x06K\x09eU\x04dataq\x04cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06"
    b"K\x00\x85U\x01b\x87R(K\x01K\x02M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    b"\x89T" + struct.pack("<i", 2 * 3072) + RNG.bytes(2 * 3072) + b"tbu."
)


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
    "x.npy": (written(lambda file: np.save(file, IMAGES)), ds.read_npy),
    "x.npz": (written(medmnist), ds.load_medmnist),
    "x.mat": (
        written(lambda file: savemat(file, {"X": IMAGES, "y": np.arange(4)})),
        lambda path: ds.read_mat(path, ["X", "y"]),
    ),
    "z.mat": (
        written(lambda file: savemat(file, {"X": IMAGES}, do_compression=True)),
        lambda path: ds.read_mat(path, ["X"]),
    ),
    "batch.bin": (RNG.integers(0, 10, 3 * 3073, dtype=np.uint8).tobytes(), ds.read_cifar10_binary),
    "batch": (PICKLE, ds.read_cifar10_python),
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
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(damage=DAMAGE, cut=st.none() | POSITION)
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
    tracemalloc.start()
    sentence = ""
    try:
        read(path)
    except ValueError as error:
        sentence = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert not sentence or sentence.startswith(
        (str(path), path.name, str(tmp_path / "folder"), "`")
    )
    assert "\n" not in sentence
    # what any file may ask for, see _limits.py, and the same again where Pillow decodes it
    assert peak < (2 if name.startswith("folder") else 1) * 2**28 + 2**22


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
