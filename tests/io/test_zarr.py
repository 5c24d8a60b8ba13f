"""Zarr stores: everything that zarr writes comes back, and no byte of a hostile one is believed."""

from __future__ import annotations

import bz2
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
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


def edit(path: Path, change: Any) -> None:
    file = path / "probs" / "zarr.json"
    file = file if file.exists() else path / "probs" / ".zarray"
    metadata = json.loads(file.read_text())
    change(metadata)
    file.write_text(json.dumps(metadata))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("chunks", [(3, 50, 4), (1, 7, 3)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4"])
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
    "name", ["", "blosc", "zstd", "gzip", "blosc+crc32c", "crc32c", "crc32c+gzip"]
)
@pytest.mark.parametrize("shards", [None, (2, 20, 4)])
@pytest.mark.parametrize("transposed", [False, True])
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


@pytest.mark.parametrize("name", ["blosc", "zstd", "lz4", "gzip", "zlib", "bz2", "lzma"])
def test_codecs_of_version_2(tmp_path: Path, zarr: Any, optional: Any, name: str) -> None:
    codec = optional("numcodecs").get_codec({"id": name})
    path = write(zarr, tmp_path / "p.zarr", 2, compressors=codec, order="F")
    np.testing.assert_array_equal(load_predictions(path)[0:50].probs, PROBS)
    chunk = first_chunk(path)
    whole = chunk.read_bytes()
    for damaged in (whole[:-1], whole + b"x", whole[:20], whole[:3], b"", bytes(len(whole))):
        chunk.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"p\.zarr: `probs` is damaged in chunk 0\.0\.0: "):
            load_predictions(path)[0:50]


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


def read_apart(path: Path) -> str:
    """What a process of its own says about a store: it may crash."""
    code = (
        "import sys\nfrom labelwise.io import load_predictions\n"
        "try:\n    rows = load_predictions(sys.argv[1])[0:50].probs\n    print('read', "
        "rows.shape)\n"
        "except ValueError as error:\n    print('refused:', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, timeout=120
    )
    return done.stdout.strip() if done.returncode == 0 else f"ended with {done.returncode}"


@pytest.mark.parametrize(("version", "shards"), [(2, None), (3, None), (3, (3, 50, 4))])
def test_a_blosc_chunk_that_is_cut_short_is_not_read_beyond_its_end(
    tmp_path: Path, zarr: Any, optional: Any, version: int, shards: Any
) -> None:
    values = RNG.random((3, 50, 4)).astype(np.float32)
    codec = (
        zarr.codecs.BloscCodec(clevel=0) if version == 3 else optional("numcodecs").Blosc(clevel=0)
    )
    path = write(
        zarr,
        tmp_path / "p.zarr",
        version,
        values,
        chunks=(3, 50, 4),
        compressors=[codec] if version == 3 else codec,
        shards=shards,
    )
    chunk = first_chunk(path)
    whole = chunk.read_bytes()
    if shards is None:
        chunk.write_bytes(whole[:100])
    else:  # the index, with its own checksum, says that the chunk is shorter
        crc32c = optional("google_crc32c")
        index = np.array([0, 100], "<u8").tobytes()
        chunk.write_bytes(whole[:100] + index + crc32c.value(index).to_bytes(4, "little"))
    assert read_apart(path) == (
        "refused: p.zarr: `probs` is damaged in chunk 0.0.0: a blosc chunk has 100 bytes, but "
        "its header says 2,416"
    )


@pytest.mark.parametrize(
    ("at", "put", "words"),
    [
        (0, b"\x07", "impossible header"),
        (2, b"\xff", "impossible header"),
        (3, b"\0", "impossible header"),
        (4, b"\xff\xff\xff\x7f", "unpacks to 2,147,483,647 bytes, but only 640 belong there"),
        (4, b"\x10\0\0\0", "impossible header|holds 16 bytes, but 640 belong there"),
        (8, b"\0\0\0\0", "impossible header"),
        (8, b"\xff\xff\xff\x7f", "impossible header"),
        (8, b"\x01\0\0\0", "impossible header"),
        (12, b"\xff\0\0\0", "but its header says 255"),
        (16, b"\xff\xff\xff\x7f", "blocks that lie outside"),
        (16, b"\0\0\0\0", "blocks that lie outside"),
    ],
)
def test_blosc_headers_that_lie(tmp_path: Path, zarr: Any, at: int, put: bytes, words: str) -> None:
    path = write(
        zarr,
        tmp_path / "p.zarr",
        compressors=[zarr.codecs.BloscCodec(cname="zstd")],
        values=np.full((3, 50, 4), 0.25, "f4"),
    )
    chunk = first_chunk(path)
    content = bytearray(chunk.read_bytes())
    content[at : at + len(put)] = put
    chunk.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        load_predictions(path)[0:50]


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
        with pytest.raises(
            ValueError,
            match=(
                r"`class_names` cannot be read: it (holds Python objects|was stored with the "
                r"(filter|codec) 'pickle')"
            ),
        ):
            load_predictions(path)
    assert not trap.exists()


def test_a_chunk_takes_no_more_memory_than_belongs_to_it(
    tmp_path: Path, zarr: Any, optional: Any
) -> None:
    codec = optional("numcodecs").BZ2()
    path = write(zarr, tmp_path / "p.zarr", 2, compressors=codec)
    first_chunk(path).write_bytes(bz2.compress(bytes(10**8)))  # under 100 bytes
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=r"unpacks to more than the 640 bytes that belong there"
        ):
            load_predictions(path)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_that_are_all_promise(tmp_path: Path, zarr: Any, version: int) -> None:
    path = write(zarr, tmp_path / "p.zarr", version)
    chunks = "chunk_grid" if version == 3 else "chunks"

    def promise(shape: list[int], chunk: list[int]) -> None:
        edit(
            path,
            lambda m: m.update(
                shape=shape,
                **{
                    chunks: {"name": "regular", "configuration": {"chunk_shape": chunk}}
                    if version == 3
                    else chunk
                },
            ),
        )

    for shape, chunk, words in (
        (
            [5, 10**9, 10],
            [5, 1000, 10],
            "would unpack from .* to 200,000,000,000 bytes; such files are refused",
        ),
        ([1, 10, 2], [1, 10**12, 2], "a chunk of `probs` takes 8,000,000,000,000 bytes"),
        ([3, 50, 4], [3, 10**7, 4], "would unpack from .* to 480,000,000 bytes"),
        ([1, 10**6, 2], [1, 1, 1], "lies in 2,000,000 chunks of 4 bytes"),
        ([2**62, 2**62, 4], [1, 1, 1], "cannot be read: its metadata give an impossible shape"),
        ([-1, 50, 4], [1, 1, 1], "impossible shape"),
    ):
        promise(shape, chunk)
        with pytest.raises(ValueError, match=words):
            load_predictions(path)


def test_a_chunk_must_fit_in_the_memory_that_is_allowed(tmp_path: Path, zarr: Any) -> None:
    path = write(
        zarr,
        tmp_path / "p.zarr",
        values=np.zeros((1, 3_000_000, 2), "f4"),
        chunks=(1, 3_000_000, 2),
    )
    load_predictions(path, memory=10**8)
    with pytest.raises(
        ValueError,
        match=(
            r"a chunk of `probs` takes 24,000,000 bytes, where 16,777,216 are allowed; .* allow "
            r"more memory"
        ),
    ):
        load_predictions(path, memory=10**6)


@pytest.mark.timeout(30)
def test_a_chunk_that_is_a_pipe(tmp_path: Path, zarr: Any) -> None:
    path = write(zarr, tmp_path / "p.zarr")
    chunk = first_chunk(path)
    chunk.unlink()
    os.mkfifo(chunk)
    with pytest.raises(ValueError, match="is not a regular file"):
        load_predictions(path)[0:50]


def test_a_shard_whose_index_points_elsewhere(tmp_path: Path, zarr: Any, optional: Any) -> None:
    path = write(zarr, tmp_path / "p.zarr", chunks=(1, 10, 2), shards=(2, 20, 4))
    shard = first_chunk(path)
    content = shard.read_bytes()
    size = 16 * 8
    for entry in ([2**63, 10], [0, 2**63], [len(content), 1], [0, len(content)]):
        index = bytearray(content[-size - 4 : -4])
        index[:16] = np.array(entry, "<u8").tobytes()
        shard.write_bytes(
            content[: -size - 4]
            + index
            + optional("google_crc32c").value(bytes(index)).to_bytes(4, "little")
        )
        with pytest.raises(
            ValueError,
            match=r"is damaged in chunk 0\.0\.0: (its index points outside|a zstd chunk)",
        ):
            load_predictions(path)[0:50]
    shard.write_bytes(content[:-1] + b"?")
    with pytest.raises(ValueError, match="checksum of a chunk is wrong"):
        load_predictions(path)[0:50]


SPOILED = [
    None,
    True,
    -1,
    0,
    2**70,
    1.5,
    "NaN",
    "",
    "pickle",
    [],
    [1],
    [[]],
    {},
    {"name": "bytes"},
    {"id": "pickle"},
    "0x",
    "/",
    "é",
]


def spoiled(value: Any, rng: np.random.Generator) -> Any:
    """The same JSON with one thing in it replaced or left out."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = list(value)[rng.integers(len(value))]
        rest = {k: v for k, v in value.items() if k != key}
        return rest if rng.random() < 0.2 else rest | {key: spoiled(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        i = int(rng.integers(len(value)))
        return [*value[:i], spoiled(value[i], rng), *value[i + 1 :]]
    return SPOILED[rng.integers(len(SPOILED))]


@pytest.mark.parametrize(("version", "shards"), [(2, None), (3, None), (3, (2, 20, 4))])
def test_damaged_metadata_give_one_sentence(
    tmp_path: Path, zarr: Any, version: int, shards: Any
) -> None:
    path = write(
        zarr, tmp_path / "p.zarr", version, chunks=(1, 10, 2), shards=shards, attributes={"a": 1}
    )
    zarr.open_group(str(path), mode="a").attrs["class_names"] = list("abcd")
    rng = np.random.default_rng(version)
    files = (
        [path / "probs" / ".zarray", path / ".zgroup", path / ".zattrs"]
        if version == 2
        else [path / "probs/zarr.json", path / "zarr.json"]
    )
    refused = []
    for i in range(300):
        file = files[i % len(files)]
        before = file.read_text()
        file.write_text(json.dumps(spoiled(json.loads(before), rng)))
        try:
            load_predictions(path)[0:50]
        except (ValueError, TypeError) as error:
            refused.append(str(error))
        file.write_text(before)
    assert len(refused) > 100
    assert [sentence for sentence in refused if "p.zarr" not in sentence or "\n" in sentence] == []
    for text in ("", "{", "[" * 10**5, "\xff"):
        files[0].write_text(text, encoding="latin-1")
        with pytest.raises(ValueError, match=r"p\.zarr"):
            load_predictions(path)
