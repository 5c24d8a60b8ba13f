"""Zarr stores: everything that zarr writes comes back, and damage is one sentence."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwise.io import load_predictions

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(4), (3, 50)).astype(np.float32)
IDS = [f"case {i} ä" for i in range(50)]
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification")


class Explosive:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.fixture
def zarr(optional: Any) -> Any:
    return optional("zarr")


def write(
    zarr: Any, path: Path, version: int = 3, values: np.ndarray = PROBS, **options: Any
) -> Path:
    group = zarr.open_group(str(path), mode="w", zarr_format=version)
    array = group.create_array(
        "probs",
        shape=values.shape,
        dtype=options.pop("dtype", values.dtype),
        **{"chunks": (2, 20, 4), **options},
    )
    array[:] = values
    return path


def first_chunk(path: Path) -> Path:
    return min(
        file
        for file in (path / "probs").rglob("*")
        if file.is_file() and not file.name.startswith((".z", "zarr.json"))
    )


@pytest.mark.parametrize(
    ("version", "chunks", "dtype"),
    [(2, (3, 50, 4), "f2"), (3, (1, 7, 3), "f4"), (3, (3, 50, 4), "f8"), (2, (1, 7, 3), ">f4")],
)
def test_blocks_of_every_type(
    tmp_path: Path, zarr: Any, version: int, chunks: tuple[int, ...], dtype: str
) -> None:
    stored = load_predictions(write(zarr, tmp_path / "p.zarr", version, chunks=chunks, dtype=dtype))
    expected = PROBS.astype(np.dtype(dtype).newbyteorder("="))
    for start, stop in ((0, 50), (5, 33), (49, 50), (7, 7)):
        np.testing.assert_array_equal(
            stored[start:stop].probs, expected[:, start:stop], strict=True
        )


def codecs_3(zarr: Any, name: str) -> Any:
    made = {
        "blosc": zarr.codecs.BloscCodec(),
        "zstd": zarr.codecs.ZstdCodec(),
        "gzip": zarr.codecs.GzipCodec(),
        "crc32c": zarr.codecs.Crc32cCodec(),
    }
    return [made[part] for part in name.split("+")] if name else None


@pytest.mark.parametrize(
    ("name", "shards", "transposed"),
    [("", None, True), ("blosc+crc32c", (2, 20, 4), False), ("crc32c+gzip", (2, 20, 4), True)],
)
def test_codecs_of_version_3(
    tmp_path: Path, zarr: Any, name: str, shards: Any, transposed: bool
) -> None:
    filters = [zarr.codecs.TransposeCodec(order=(2, 0, 1))] if transposed else None
    options = {"chunks": (1, 10, 2), "shards": shards, "filters": filters, "fill_value": 0.25}
    path = write(zarr, tmp_path / "p.zarr", 3, compressors=codecs_3(zarr, name), **options)
    np.testing.assert_array_equal(load_predictions(path)[0:50].probs, PROBS)
    first_chunk(path).unlink()
    whole = zarr.open_group(str(path), mode="r")["probs"][:]
    assert (whole == 0.25).any()
    np.testing.assert_array_equal(load_predictions(path)[0:50].probs, whole)


@pytest.mark.parametrize("name", ["blosc", "zlib"])
def test_codecs_of_version_2(tmp_path: Path, zarr: Any, optional: Any, name: str) -> None:
    codec = optional("numcodecs").get_codec({"id": name})
    path = write(zarr, tmp_path / "p.zarr", 2, compressors=codec, order="F")
    np.testing.assert_array_equal(load_predictions(path)[0:50].probs, PROBS)
    chunk = first_chunk(path)
    chunk.write_bytes(chunk.read_bytes()[:3])
    with pytest.raises(ValueError, match=r"p\.zarr") as refused:
        load_predictions(path)[0:50]
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings(
    "ignore:The codec `vlen-utf8` is currently not part"
)  # zarr 3.1.0, when it writes
@pytest.mark.parametrize("version", [2, 3])
def test_text_of_fixed_and_of_any_length(tmp_path: Path, zarr: Any, version: int) -> None:
    for name, fixed in (("fixed.zarr", True), ("free.zarr", False)):
        path = write(zarr, tmp_path / name, version)
        group = zarr.open_group(str(path), mode="a")
        if fixed:
            group.create_array("ids", data=np.array(IDS))
        else:
            group.create_array("ids", shape=(50,), chunks=(20,), dtype=str)[:] = np.array(
                IDS, dtype=object
            )
        group.create_array("class_names", data=np.array(list("abcd")))
        group.create_array("y_true", data=np.arange(50) % 4)
        stored = load_predictions(path)
        assert stored.ids[:].tolist() == IDS
        assert stored.ids[19:21].tolist() == IDS[19:21]
        assert stored.class_names == ("a", "b", "c", "d")
        assert stored.y_true is not None
        assert stored.y_true.tolist() == (np.arange(50) % 4).tolist()


def test_nothing_is_unpickled(tmp_path: Path, zarr: Any) -> None:
    trap = tmp_path / "executed"
    path = write(zarr, tmp_path / "p.zarr", 2, compressors=None)
    group = zarr.open_group(str(path), mode="a")
    group.create_array("class_names", data=np.array(list("abcd")), compressors=None)
    file = path / "class_names" / ".zarray"
    for dtype, filters, compressor in (
        ("|O", [{"id": "pickle"}], None),
        ("<U1", [{"id": "pickle"}], None),
        ("|O", None, {"id": "pickle"}),
        ("<U1", None, {"id": "pickle"}),
    ):
        file.write_text(
            json.dumps(
                json.loads(file.read_text())
                | {"dtype": dtype, "filters": filters, "compressor": compressor}
            )
        )
        (path / "class_names" / "0").write_bytes(pickle.dumps([Explosive(trap)] * 4))
        with pytest.raises(ValueError, match=r"p\.zarr: No Zarr data type .*pickle"):
            load_predictions(path)
    assert not trap.exists()


@pytest.mark.parametrize("version", [2, 3])
def test_damaged_metadata_give_one_sentence(tmp_path: Path, zarr: Any, version: int) -> None:
    path = write(zarr, tmp_path / "p.zarr", version)
    for file in ("probs/zarr.json", "zarr.json") if version == 3 else ("probs/.zarray", ".zgroup"):
        before = (path / file).read_text()
        for text in ("", "{", "[]", before.replace("float32", "x").replace("<f4", "x")):
            if text == before:
                continue
            (path / file).write_text(text)
            with pytest.raises((ValueError, TypeError, OSError), match=r"p\.zarr") as refused:
                load_predictions(path)
            assert "\n" not in str(refused.value)
        (path / file).write_text(before)


def test_a_folder_that_is_no_store(tmp_path: Path, zarr: Any) -> None:
    (tmp_path / "p.zarr").mkdir()
    with pytest.raises((ValueError, OSError), match=r"p\.zarr"):
        load_predictions(tmp_path / "p.zarr")


def test_names_of_the_members_are_arrays_or_an_attribute(zarr: Any, tmp_path: Path) -> None:
    path = write(zarr, tmp_path / "p.zarr")
    group = zarr.open_group(str(path), mode="a")
    group.attrs["member_names"] = ["a", "b", "c"]
    prompts = group.create_array("factor.prompt", shape=(3,), dtype=str)
    prompts[:] = np.array(["short", "long", "long"])
    p = load_predictions(path)
    assert p.member_names == ("a", "b", "c")
    assert p.factors == {"prompt": ("short", "long", "long")}
