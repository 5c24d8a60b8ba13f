"""Zarr arrays on disk (versions 2 and 3), read without trust: one chunk at a time, by codecs from a
list, each within its bounds.

The size of a chunk follows from the metadata. A chunk that does not decode to exactly that is
refused, before memory is taken for it where its own header tells. Object types, filters and codecs
that are not in the list are never used: some of them unpickle.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .codecs import COMPRESSIONS, crc32c
from .files import FLOOR, allowed, open_regular, read_bytes, read_json
from .npz import check_text

_MOST_AXES = 32
_MANY_CHUNKS, _SMALL_CHUNK = 1 << 16, 1 << 10
_LONGEST_METADATA = 1 << 24
_LONGEST_INDEX = 1 << 24
_CHECKSUM = 4
_NOWHERE = 2**64 - 1
_TYPES = {
    "bool": "?",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
}
_KNOWN_KEYS = {
    "zarr_format",
    "node_type",
    "data_type",
    "shape",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
}
# What looking into damaged metadata raises: entries that are missing or of another type, and
# numbers that are too large.
_DAMAGE = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class _Coding:
    """How the values of a chunk became bytes."""

    dtype: np.dtype[Any] | None
    """As stored; ``None`` for text of any length."""
    order: tuple[int, ...]
    """The stored order of the axes."""
    compression: str | None = None
    checksums: tuple[int, int] = (0, 0)
    """How many checksums were added before the compression, and after it."""

    def decode(self, data: bytes, shape: tuple[int, ...]) -> np.ndarray:
        """The values of a chunk of this shape."""
        for _ in range(self.checksums[1]):
            data = crc32c(data)
        inner: bytes | bytearray = data
        size = (
            None
            if self.dtype is None
            else prod(shape) * self.dtype.itemsize + _CHECKSUM * self.checksums[0]
        )
        if self.compression is not None:
            inner = COMPRESSIONS[self.compression](data, FLOOR if size is None else size)
        if size is not None and len(inner) != size:
            raise ValueError(f"a chunk holds {len(inner):,} bytes, but {size:,} belong there")
        for _ in range(self.checksums[0]):
            inner = crc32c(inner)
        stored = tuple(shape[axis] for axis in self.order)
        flat = (
            _strings(bytes(inner), prod(shape))
            if self.dtype is None
            else np.frombuffer(inner, self.dtype)
        )
        return flat.reshape(stored).transpose(np.argsort(self.order))


@dataclass(frozen=True)
class _Shards:
    """Chunks that lie together in larger files, each with an index."""

    chunks: tuple[int, ...]
    """The shape of what is in one file."""
    at_end: bool
    checksum: bool


@dataclass(frozen=True, eq=False)
class ZarrArray:
    """An array on disk; indexing with numbers and slices reads the chunks that are touched."""

    folder: Path
    what: str
    """What it is called in messages."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """In this machine's byte order; object for text of any length, which is returned with a fixed
    width.
    """
    chunks: tuple[int, ...]
    fill: Any
    prefix: str
    separator: str
    coding: _Coding
    shards: _Shards | None = None
    _index: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict, repr=False)
    """Of the shard that was read last."""

    @property
    def n_chunks(self) -> int:
        return prod(-(-n // c) for n, c in zip(self.shape, self.chunks, strict=True))

    @property
    def chunk_nbytes(self) -> int:
        """What one chunk takes in memory."""
        return prod(self.chunks) * self.dtype.itemsize

    def __getitem__(self, key: Any) -> np.ndarray:
        spans, single = self._spans(key if isinstance(key, tuple) else (key,))
        shape = tuple(stop - start for start, stop in spans)
        try:
            out = np.empty(shape, self.dtype)
        except (MemoryError, ValueError) as error:
            raise ValueError(
                f"{self.what} asks for more memory than there is: shape {shape}, {self.dtype}"
            ) from error
        numbers = (
            range(a // c, -(-b // c)) if b > a else range(0)
            for (a, b), c in zip(spans, self.chunks, strict=True)
        )
        for number in product(*numbers):
            corner = [i * c for i, c in zip(number, self.chunks, strict=True)]
            inside, place = [], []
            for (a, b), start, c in zip(spans, corner, self.chunks, strict=True):
                inside.append(slice(max(a - start, 0), min(b - start, c)))
                place.append(slice(max(start - a, 0), min(start + c, b) - a))
            chunk = self._chunk(number)
            out[tuple(place)] = self.fill if chunk is None else chunk[tuple(inside)]
        if self.coding.dtype is None:
            out = _fixed_width(out, self.what)
        check_text(out, self.what)
        return out.reshape([n for axis, n in enumerate(shape) if axis not in single])

    def _spans(self, key: tuple[Any, ...]) -> tuple[list[tuple[int, int]], set[int]]:
        spans, single = [], set()
        for axis, n in enumerate(self.shape):
            part = key[axis] if axis < len(key) else slice(None)
            if isinstance(part, slice):
                start, stop, step = part.indices(n)
                if step != 1:
                    raise IndexError("arrays on disk are read in steps of 1")
                spans.append((start, max(start, stop)))
            else:
                i = int(part)
                if not -n <= i < n:
                    raise IndexError(f"index {i} is out of bounds for an axis of length {n}")
                spans.append((i % n, i % n + 1))
                single.add(axis)
        return spans, single

    def _chunk(self, number: tuple[int, ...]) -> np.ndarray | None:
        """The values of a chunk, or ``None`` if nothing is stored there."""
        try:
            data = (
                self._stored(number)
                if self.shards is None
                else self._from_shard(number, self.shards)
            )
            return None if data is None else self.coding.decode(data, self.chunks)
        except (ValueError, MemoryError) as error:
            name = ".".join(map(str, number))
            raise ValueError(
                f"{self.what} is damaged in chunk {name}: {error or 'it does not fit in memory'}"
            ) from error

    def _file(self, number: tuple[int, ...]) -> Path:
        return self.folder / self.separator.join(
            [*([self.prefix] if self.prefix else []), *map(str, number)] or ["0"]
        )

    @property
    def _longest(self) -> int:
        """Bytes that a stored chunk may have: compression of noise adds a little."""
        return (
            FLOOR if self.coding.dtype is None else self.chunk_nbytes + self.chunk_nbytes // 8
        ) + (1 << 16)

    def _stored(self, number: tuple[int, ...]) -> bytes | None:
        try:
            return read_bytes(self._file(number), self._longest)
        except FileNotFoundError:
            return None

    def _from_shard(self, number: tuple[int, ...], shards: _Shards) -> bytes | None:
        per_shard = tuple(n // c for n, c in zip(shards.chunks, self.chunks, strict=True))
        outer = tuple(i // n for i, n in zip(number, per_shard, strict=True))
        try:
            file = open_regular(self._file(outer))
        except FileNotFoundError:
            return None
        with file:
            length = os.fstat(file.fileno()).st_size
            if outer not in self._index:
                self._index.clear()
                size = 16 * prod(per_shard) + _CHECKSUM * shards.checksum
                if size > length:
                    raise ValueError("its index is cut short")
                file.seek(length - size if shards.at_end else 0)
                index = file.read(size)
                self._index[outer] = np.frombuffer(
                    crc32c(index) if shards.checksum else index, "<u8"
                ).reshape(*per_shard, 2)
            offset, n = (
                int(x)
                for x in self._index[outer][
                    tuple(i % m for i, m in zip(number, per_shard, strict=True))
                ]
            )
            if offset == n == _NOWHERE:
                return None
            if offset + n > length or n > self._longest:
                raise ValueError("its index points outside of the file")
            file.seek(offset)
            return file.read(n)


@dataclass(frozen=True)
class ZarrGroup:
    """A folder of arrays."""

    path: Path
    version: int
    attributes: dict[str, Any]

    def names(self) -> list[str]:
        """What the group holds."""
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_dir())

    def __contains__(self, name: str) -> bool:
        return (self.path / name / ("zarr.json" if self.version == 3 else ".zarray")).exists()

    def array(self, name: str) -> ZarrArray | None:
        """One of its arrays, not yet read; ``None`` if there is none of this name."""
        return open_array(self.path / name, f"{self.path.name}: `{name}`") if name in self else None


def read_zarr(
    path: Path, pick: Callable[[list[str]], Sequence[str]], largest: int
) -> dict[str, Any]:
    """Those arrays of a group that ``pick`` chooses from the names there, large ones not yet read;
    `class_names` may be an attribute.

    No chunk may take more than ``largest`` bytes.
    """
    group = open_group(path)
    arrays = {
        name: array for name in pick(group.names()) if (array := group.array(name)) is not None
    }
    for name, array in arrays.items():
        if array.chunk_nbytes > largest:
            raise ValueError(
                f"{path.name}: a chunk of `{name}` takes {array.chunk_nbytes:,} bytes, where "
                f"{largest:,} are allowed; store it in smaller "
                "chunks, or allow more memory"
            )
    check_size(path, list(arrays.values()))
    found = {
        name: array[:] if name in ("class_names", "y_true", "groups", "weights") else array
        for name, array in arrays.items()
    }
    named = group.attributes.get("class_names")
    return found if named is None else {"class_names": named, **found}


def open_group(path: Path) -> ZarrGroup:
    """The group in a folder."""
    version = 3 if (path / "zarr.json").exists() else 2
    file = path / ("zarr.json" if version == 3 else ".zgroup")
    if not file.exists():
        raise ValueError(
            f"{path.name} is not a zarr group: there is neither zarr.json nor .zgroup in it"
        )
    try:
        metadata = _metadata(file)
        if metadata["zarr_format"] != version or (
            version == 3 and metadata["node_type"] != "group"
        ):
            raise ValueError("it is not a group of version 2 or 3")
        extra = path / ".zattrs"
        attributes = (
            metadata.get("attributes", {})
            if version == 3
            else _metadata(extra)
            if extra.exists()
            else {}
        )
        if not isinstance(attributes, dict):
            raise TypeError("its attributes are not a mapping")
    except _DAMAGE as error:
        raise ValueError(f"{path.name} is not a zarr group: {_words(error)}") from error
    return ZarrGroup(path, version, attributes)


def open_array(folder: Path, what: str) -> ZarrArray:
    """The array in a folder; ``what`` it is called in messages."""
    version_3 = (folder / "zarr.json").exists()
    try:
        metadata = _metadata(folder / ("zarr.json" if version_3 else ".zarray"))
        array = (_version_3 if version_3 else _version_2)(folder, what, metadata)
    except _DAMAGE as error:
        raise ValueError(f"{what} cannot be read: {_words(error)}") from error
    if array.n_chunks > _MANY_CHUNKS and array.chunk_nbytes < _SMALL_CHUNK:
        raise ValueError(
            f"{what} lies in {array.n_chunks:,} chunks of {array.chunk_nbytes} bytes; store it in "
            "fewer, larger ones"
        )
    return array


def check_size(path: Path, arrays: Sequence[ZarrArray]) -> None:
    """Refuse arrays whose chunks, all together, would decode to more bytes than the files below
    ``path`` allow.
    """
    total = sum(array.n_chunks * array.chunk_nbytes for array in arrays)
    stored = 0
    for size in _sizes(path):
        if total <= allowed(stored):  # mostly at once, and always after a small share of the files
            return
        stored += size
    if total > allowed(stored):
        raise ValueError(
            f"{path.name} would unpack from {stored:,} to {total:,} bytes; such files are refused"
        )


def _sizes(path: Path) -> Iterator[int]:
    yield 0
    for folder, _, files in os.walk(path):
        for name in files:
            yield os.lstat(os.path.join(folder, name)).st_size


def _metadata(path: Path) -> dict[str, Any]:
    metadata = read_json(path, _LONGEST_METADATA)
    if not isinstance(metadata, dict):
        raise TypeError(f"{path.name} is not a mapping")
    return metadata


def _version_2(folder: Path, what: str, metadata: dict[str, Any]) -> ZarrArray:
    if metadata["zarr_format"] != 2:
        raise ValueError(f"it has format {metadata['zarr_format']!r}, not 2")
    shape, chunks = _shape(metadata["shape"], 0), _shape(metadata["chunks"], 0)
    filters = [_name(codec, "id") for codec in metadata["filters"] or ()]
    dtype = None
    if metadata["dtype"] != "|O":
        dtype = _plain(metadata["dtype"])
        if filters:
            raise ValueError(
                f"it was stored with the filter {filters[0]!r}, which is not read; store it "
                "without filters"
            )
    elif filters != ["vlen-utf8"]:
        raise ValueError(
            "it holds Python objects, which are never read; store it as plain numbers or text"
        )
    compressor = metadata["compressor"]
    order = {"C": range(len(shape)), "F": range(len(shape))[::-1]}[metadata["order"]]
    coding = _Coding(
        dtype, tuple(order), None if compressor is None else _compression(compressor, "id")
    )
    separator = metadata.get("dimension_separator", ".")
    return _array(folder, what, shape, chunks, metadata["fill_value"], "", separator, coding)


def _version_3(folder: Path, what: str, metadata: dict[str, Any]) -> ZarrArray:
    if metadata["zarr_format"] != 3 or metadata["node_type"] != "array":
        raise ValueError("it is not an array of version 3")
    strange = [
        key
        for key, value in metadata.items()
        if key not in _KNOWN_KEYS and value.get("must_understand") is not False
    ]
    if strange or metadata.get("storage_transformers"):
        raise ValueError(
            f"it uses an extension that is not read: {(*strange, 'storage_transformers')[0]!r}"
        )
    shape = _shape(metadata["shape"], 0)
    if metadata["chunk_grid"]["name"] != "regular":
        raise ValueError("its chunks differ in size; store it in regular ones")
    chunks = _shape(metadata["chunk_grid"]["configuration"]["chunk_shape"], 1)
    keys = metadata["chunk_key_encoding"]
    style = {"default": ("c", "/"), "v2": ("", ".")}[_name(keys, "name")]
    separator = keys.get("configuration", {}).get("separator", style[1])
    codecs, dtype, shards = metadata["codecs"], _type_3(metadata["data_type"]), None
    if [_name(codec, "name") for codec in codecs] == ["sharding_indexed"]:
        options = codecs[0]["configuration"]
        index = [_name(codec, "name") for codec in options["index_codecs"]]
        if (
            index not in (["bytes"], ["bytes", "crc32c"])
            or options["index_codecs"][0].get("configuration", {}).get("endian") == "big"
        ):
            raise ValueError("the index of its shards is stored in a way that is not read")
        shards = _Shards(
            chunks,
            {"end": True, "start": False}[options.get("index_location", "end")],
            len(index) == 2,
        )
        chunks, codecs = _shape(options["chunk_shape"], 1), options["codecs"]
        if len(chunks) != len(shards.chunks) or any(
            n % c for n, c in zip(shards.chunks, chunks, strict=True)
        ):
            raise ValueError("its chunks do not fill its shards")
        if prod(n // c for n, c in zip(shards.chunks, chunks, strict=True)) * 16 > _LONGEST_INDEX:
            raise ValueError("its shards have too many chunks")
    coding = _coding_3(codecs, dtype, len(shape))
    return replace(
        _array(folder, what, shape, chunks, metadata["fill_value"], style[0], separator, coding),
        shards=shards,
    )


def _coding_3(codecs: Sequence[Any], dtype: np.dtype[Any] | None, axes: int) -> _Coding:
    """The codecs of version 3, in the order in which they were applied: transpose, to bytes,
    compress; checksums anywhere after.
    """
    order = tuple(range(axes))
    compression, serialized, checksums = None, False, [0, 0]
    for codec in codecs:
        name, options = (
            _name(codec, "name"),
            {} if isinstance(codec, str) else codec.get("configuration") or {},
        )
        if name == "transpose" and not serialized:
            permutation = options["order"]
            if sorted(permutation) != list(range(axes)):
                raise ValueError("its axes are reordered in an impossible way")
            order = tuple(order[axis] for axis in permutation)
        elif name == "bytes" and not serialized and dtype is not None:
            serialized = True
            endian = options.get("endian", "little")
            if endian not in ("little", "big"):
                raise ValueError("its codecs give an unknown order of bytes")
            dtype = dtype.newbyteorder(endian)
        elif name == "vlen-utf8" and not serialized and dtype is None:
            serialized = True
        elif name == "crc32c" and serialized:
            checksums[compression is not None] += 1
        elif name in COMPRESSIONS and serialized and compression is None:
            compression = name
        else:
            raise ValueError(
                f"it was stored with the codec {name!r}, which is not read here; use bytes, then "
                "blosc, zstd or gzip"
            )
    if not serialized or sum(checksums) > 2:
        raise ValueError("its codecs do not fit together")
    return _Coding(dtype, order, compression, (checksums[0], checksums[1]))


def _array(
    folder: Path,
    what: str,
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    fill: Any,
    prefix: str,
    separator: Any,
    coding: _Coding,
) -> ZarrArray:
    if len(shape) != len(chunks):
        raise ValueError(f"its shape {shape} and its chunks {chunks} differ in length")
    if separator not in (".", "/"):
        raise ValueError(f"its chunks are named with {separator!r}")
    dtype = np.dtype(object) if coding.dtype is None else coding.dtype.newbyteorder("=")
    chunks = tuple(max(c, 1) for c in chunks)
    return ZarrArray(
        folder, what, shape, dtype, chunks, _fill(fill, dtype), prefix, separator, coding
    )


def _shape(sizes: Any, least: int) -> tuple[int, ...]:
    if (
        not isinstance(sizes, list)
        or len(sizes) > _MOST_AXES
        or any(type(n) is not int or not least <= n < 2**62 for n in sizes)
    ):
        raise ValueError("its metadata give an impossible shape")
    return tuple(sizes)


def _name(codec: Any, key: str) -> str:
    name = codec if isinstance(codec, str) else codec[key]
    if not isinstance(name, str):
        raise TypeError("its metadata give a codec without a name")
    return name


def _compression(codec: Any, key: str) -> str:
    name = _name(codec, key)
    if name not in COMPRESSIONS or (name == "lzma" and codec.get("format", 1) != 1):
        raise ValueError(
            f"it was stored with the codec {name!r}, which is not read here; use blosc, zstd or "
            "gzip"
        )
    return name


def _plain(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or not re.fullmatch(
        r"[<>|]([biuf][1248]|[US][1-9][0-9]{0,6})", name
    ):
        raise ValueError(f"it holds values of type {name!r}; numbers and text are read")
    return np.dtype(name)


def _type_3(spec: Any) -> np.dtype[Any] | None:
    """The type of the values; ``None`` for text of any length."""
    name = _name(spec, "name")
    if name == "string":
        return None
    if name == "fixed_length_utf32":
        n = spec["configuration"]["length_bytes"]
        if type(n) is not int or n % 4 or not 0 < n < 10**7:
            raise ValueError("its metadata give text of an impossible length")
        return np.dtype(f"<U{n // 4}")
    if name not in _TYPES:
        raise ValueError(f"it holds values of type {name!r}; numbers and text are read")
    return np.dtype(_TYPES[name])


def _fill(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value of chunks that are not stored."""
    if dtype.kind in "OU":
        return value if isinstance(value, str) else ""
    if value is None or dtype.kind == "S":
        return np.zeros((), dtype)[()]
    if isinstance(value, str):
        if value.startswith("0x") and dtype.kind == "f":
            return np.frombuffer(
                int(value, 16).to_bytes(dtype.itemsize, "little"), dtype.newbyteorder("<")
            )[0]
        value = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}[value]
    if not isinstance(value, int | float):
        raise TypeError("its fill value is not a number")
    return np.array(value).astype(dtype)[()] if dtype.kind == "f" else dtype.type(value)


def _strings(data: bytes, n: int) -> np.ndarray:
    """Text as numcodecs stores it: the number of strings, then each with its length in front."""
    if int.from_bytes(data[:4], "little") != n or len(data) < 4 + 4 * n:
        raise ValueError(f"a chunk of text does not hold the {n:,} strings that belong there")
    out = np.empty(n, object)
    at = 4
    for i in range(n):
        length = int.from_bytes(data[at : at + 4], "little")
        at += 4 + length
        if at > len(data):
            raise ValueError("a chunk of text is cut short")
        out[i] = data[at - length : at].decode("utf-8")
    return out


def _fixed_width(texts: np.ndarray, what: str) -> np.ndarray:
    """The same strings with room for the longest in each place, as NumPy has them."""
    longest = max(map(len, texts.flat), default=0)
    if 4 * longest * texts.size > FLOOR:
        raise ValueError(
            f"{what} has {texts.size:,} strings of up to {longest:,} characters; such arrays are "
            "refused"
        )
    return texts.astype(f"U{max(longest, 1)}")


def _words(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"its metadata are damaged (no or unknown {error.args[0]!r})"
    return (
        str(error)
        if isinstance(error, ValueError) and error.args
        else f"its metadata are damaged ({error})"
    )
