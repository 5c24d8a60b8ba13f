"""Predictions in the rows of a .parquet file, read without trust and a few rows at a time.

Arrow believes what a file says about the sizes of its pages, and decodes as many values as they promise. So the pages of a column are
walked through first, by their headers alone: they must lie inside the file, promise the values that the footer does, and be small.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .files import allowed, open_regular

_AT_ONCE = 1 << 22
"""Bytes of values that are decoded at a time."""
_LONGEST_HEADER, _LONGEST_FOOTER = 1 << 16, 1 << 24
_DEEPEST = 8
_SMALL = ("y_true", "ids", "groups")
# By the type of a page with data (version 1, version 2) the field of its header that has the number of values.
_PAGE_HEADERS = {0: 5, 3: 8}


@dataclass
class _Cursor:
    """Where the last reading ended: reading on from there decodes nothing twice."""

    row: int = -1
    rest: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    batches: Iterator[np.ndarray] = field(default_factory=lambda: iter(()))


@dataclass(frozen=True, eq=False)
class ParquetColumn:
    """Lists of numbers in the rows of a file, as an array (M, N, K) or (N, K) that can be sliced by instance."""

    path: Path
    file: Any
    groups: list[_Group]
    name: str
    n: int
    width: int
    """How many numbers there are in a row."""
    members: int | None
    dtype: np.dtype[Any]
    largest: int
    """Bytes that a page may take."""
    _cursor: _Cursor = field(default_factory=_Cursor, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.width) if self.members is None else (self.members, self.n, self.width // self.members)

    def __getitem__(self, key: Any) -> np.ndarray:
        start, stop, _ = (key[1] if isinstance(key, tuple) else key).indices(self.n)
        block = np.empty((max(stop - start, 0), self.width), self.dtype)
        cursor = self._cursor
        if cursor.row != start:
            cursor.rest, cursor.batches = block[:0], self._batches(start)
        filled = 0
        while filled < len(block):
            if not len(cursor.rest):
                cursor.row = -1  # until the reading has ended well
                with _sentences(self.path):
                    batch = next(cursor.batches, None)
                if batch is None:
                    raise ValueError(f"{self.path.name} is damaged: it has fewer rows than it says")
                cursor.rest = batch
            part = cursor.rest[: len(block) - filled]
            block[filled : filled + len(part)] = part
            cursor.rest, filled = cursor.rest[len(part) :], filled + len(part)
        cursor.row = stop
        return block if self.members is None else block.reshape(len(block), self.members, self.width // self.members).transpose(1, 0, 2)

    def _batches(self, row: int) -> Iterator[np.ndarray]:
        """The rows from ``row`` on, a few at a time."""
        step = max(1, _AT_ONCE // max(self.width * self.dtype.itemsize, 1))
        end = 0
        for i, group in enumerate(self.groups):
            at, end = end, end + group.rows
            if end <= row:
                continue
            _check_pages(self.path, group, self.name, self.largest)
            for batch in self.file.iter_batches(batch_size=step, row_groups=[i], columns=[self.name], use_threads=False):
                lists = batch.column(0)
                values = lists.flatten().to_numpy(zero_copy_only=False)
                lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
                if lists.null_count or not np.all(lengths == self.width):
                    raise ValueError(
                        f"column `{self.name}` must hold {self.width} numbers in every row; rows {at} to {at + len(lists)} do not"
                    )
                values = values.astype(self.dtype, copy=False).reshape(len(lists), self.width)
                if at + len(lists) > row:
                    yield values[max(row - at, 0) :]
                at += len(lists)


def read_parquet(path: Path, pick: Callable[[list[str]], Sequence[str]], largest: int) -> dict[str, Any]:
    """Those columns of a file that ``pick`` chooses from the names there, the predictions not yet read.

    None of its pages may take more than ``largest`` bytes.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError('.parquet files need pyarrow; install it with: pip install "labelwise[dask]"') from error
    with open_regular(path) as raw:
        length = os.fstat(raw.fileno()).st_size
    with _sentences(path):
        groups = _footer(path)
        found = pq.read_schema(path)
        text = [name for name in _SMALL if name in found.names and str(found.field(name).type) in ("string", "large_string")]
        file = pq.ParquetFile(path, read_dictionary=text, buffer_size=1 << 20, pre_buffer=False)
        return _columns(path, file, groups, pick, length, largest)


def _columns(
    path: Path, file: Any, groups: list[_Group], pick: Callable[[list[str]], Sequence[str]], length: int, largest: int
) -> dict[str, Any]:
    schema = file.schema_arrow
    if len(set(schema.names)) < len(schema.names):
        raise ValueError(f"{path.name} is damaged: two of its columns have the same name")
    chosen = pick(schema.names)
    small = [name for name in chosen if name in _SMALL]
    kind = next(name for name in chosen if name not in _SMALL)
    dtype, fixed = _list_type(path, kind, schema.field(kind).type)
    n = sum(group.rows for group in groups)
    counts = {name: sum(_column(path, group, name).values for group in groups) for name in (kind, *small)}
    if min(n, *(group.rows for group in groups), *counts.values(), 0) < 0:
        raise ValueError(f"{path.name} is damaged: it says that it has fewer rows than none")
    decoded = sum(count * (dtype.itemsize if name == kind else 8) for name, count in counts.items())
    if decoded > allowed(length):
        raise ValueError(f"{path.name} would unpack from {length:,} to {decoded:,} bytes; such files are refused")
    width = counts[kind] // max(n, 1) if fixed is None else fixed
    if width * n != counts[kind]:
        raise ValueError(
            f"{path.name}: column `{kind}` must hold the same number of values in every row; got {counts[kind]:,} in {n:,} rows"
        )
    metadata = {key: (schema.metadata or {}).get(key.encode(), b"").decode() for key in ("members", "class_names")}
    members = None if kind in ("alpha", "evidence") and not metadata["members"] else _members(path, metadata["members"], width, kind)
    columns: dict[str, Any] = {kind: ParquetColumn(path, file, groups, kind, n, width, members, dtype, largest)}
    columns |= {name: _small_column(path, file, groups, name, n, largest, allowed(length)) for name in small}
    return columns | ({"class_names": metadata["class_names"].split("\n")} if metadata["class_names"] else {})


def _list_type(path: Path, name: str, stored: Any) -> tuple[np.dtype[Any], int | None]:
    """The type of the numbers in a column of lists, and the length of all lists if it is fixed."""
    import pyarrow as pa

    if not (pa.types.is_list(stored) or pa.types.is_fixed_size_list(stored) or pa.types.is_large_list(stored)):
        raise TypeError(f"{path.name}: column `{name}` must hold lists of numbers; got {stored}")
    dtype = np.dtype({pa.float64(): "f8", pa.float32(): "f4", pa.float16(): "f2"}.get(stored.value_type, "O"))
    if dtype.kind != "f":
        raise TypeError(f"{path.name}: column `{name}` must hold floating-point numbers; got {stored}")
    return dtype, stored.list_size if pa.types.is_fixed_size_list(stored) else None


def _members(path: Path, members: str, width: int, kind: str) -> int:
    if not (members.isascii() and members.isdigit() and len(members) < 10) or int(members) < 1 or width % int(members):
        raise ValueError(f"{path.name}: the metadata of its schema must say how many `members` the {width} numbers of `{kind}` belong to")
    return int(members)


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Whatever Arrow raises on damage becomes one sentence."""
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, NotImplementedError, MemoryError, OSError) as error:
        if str(error).startswith(path.name):
            raise
        words = str(error).splitlines() or ["it asks for more memory than there is"]
        raise ValueError(f"{path.name} is not a readable .parquet file: {words[0]}") from error


def _small_column(path: Path, file: Any, groups: list[_Group], name: str, n: int, largest: int, most: int) -> np.ndarray:
    """The whole of `ids`, `y_true` or `groups`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for group in groups:
        _check_pages(path, group, name, largest)
    column = file.read(columns=[name], use_threads=False).column(0)
    kind = column.type
    if column.null_count:
        raise ValueError(f"{path.name}: column `{name}` must have no missing values; {column.null_count:,} are missing")
    if pa.types.is_dictionary(kind):  # few texts, many rows: look at the texts before there is one for each row
        longest = max((pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks), default=0)
        if 4 * n * longest > most:
            raise ValueError(f"{path.name}: column `{name}` has {n:,} texts of up to {longest:,} bytes; such files are refused")
        return np.array(column.to_pylist(), dtype=str)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        flat = column.combine_chunks().flatten()
        if name != "y_true" or not pa.types.is_integer(kind.value_type) or flat.null_count or len(flat) % max(n, 1):
            raise TypeError(f"{path.name}: column `{name}` must hold whole numbers, or lists of them of one length; got {kind}")
        return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(n, -1)
    if not pa.types.is_integer(kind):
        raise TypeError(f"{path.name}: column `{name}` must hold texts or whole numbers; got {kind}")
    return np.asarray(column.to_numpy())


@dataclass(frozen=True)
class _Chunk:
    """What the footer says about a column of a row group."""

    values: int
    start: int
    size: int


@dataclass(frozen=True)
class _Group:
    rows: int
    columns: dict[str, _Chunk]


def _footer(path: Path) -> list[_Group]:
    """The row groups of a file. Arrow's own functions for this end the process where a footer contradicts itself."""
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        file.seek(max(length - 8, 0))
        end = file.read(8)
        size = int.from_bytes(end[:4], "little")
        if end[4:] != b"PAR1" or size > length - 8:
            raise ValueError("it does not end as one")
        if size > _LONGEST_FOOTER:
            raise ValueError(f"its footer has {size:,} bytes; write it with fewer row groups and columns")
        file.seek(length - 8 - size)
        fields, _ = _struct(file.read(size))
    return [_group(group) for group in _a(list, fields.get(4, []))]


def _group(fields: Any) -> _Group:
    columns: dict[str, _Chunk] = {}
    for column in _a(list, _a(dict, fields).get(1)):
        about = _a(dict, _a(dict, column).get(3))
        name = b"".join(_a(list, about.get(3))[:1]).decode()
        if name in columns:
            continue
        values, size, *starts = (_a(int, about.get(i, 0)) for i in (5, 7, 9, 11))
        columns[name] = _Chunk(values, min(at for at in starts if at > 0 or at == starts[0]), size)
    return _Group(_a(int, fields.get(3)), columns)


def _a(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError("its footer is damaged")
    return value


def _check_pages(path: Path, group: _Group, name: str, largest: int) -> None:
    """Refuse a column whose pages lie outside of the file, take more than ``largest`` bytes, or hold more than the footer says."""
    column = _column(path, group, name)
    values = 0
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        at, end = column.start, column.start + column.size
        if not 0 < at <= end <= length:
            raise ValueError(f"{path.name} is damaged: column `{name}` lies outside of the file")
        while at < end and values < column.values:
            file.seek(at)
            header, used = _struct(file.read(min(_LONGEST_HEADER, end - at)))
            kind, unpacked, packed = (_a(int, header.get(i, 0)) for i in (1, 2, 3))
            if not (0 <= packed <= end - at - used and unpacked >= 0):
                raise ValueError(f"{path.name} is damaged: a page of column `{name}` lies outside of the file")
            if unpacked > largest:
                raise ValueError(
                    f"{path.name}: a page of column `{name}` takes {unpacked:,} bytes, where {largest:,} are allowed; write it with smaller "
                    "pages, or allow more memory"
                )
            if kind in _PAGE_HEADERS:
                count = _a(int, _a(dict, header.get(_PAGE_HEADERS[kind])).get(1))
                if count < 0:
                    raise ValueError(f"{path.name} is damaged: a page of column `{name}` has fewer values than none")
                values += count
            at += used + packed
    if values != column.values:
        raise ValueError(
            f"{path.name} is damaged: column `{name}` holds {values:,} values in its pages, but {column.values:,} by its footer"
        )


def _column(path: Path, group: _Group, name: str) -> _Chunk:
    if name not in group.columns:
        raise ValueError(f"{path.name} is damaged: a row group has no column `{name}`")
    return group.columns[name]


# Thrift's compact form: a struct is a sequence of fields, each with its type and the distance of its number from the last one's.


def _struct(data: bytes, at: int = 0, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by number, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    try:
        while data[at]:
            kind, step = data[at] & 15, data[at] >> 4
            at += 1
            if step:
                number += step
            else:
                number, at = _number(data, at)
            if kind in (1, 2):  # true and false: the type is the value
                fields[number] = kind == 1
            else:
                fields[number], at = _value(kind, data, at, depth)
        return fields, at + 1
    except IndexError as error:
        raise ValueError("a header is damaged") from error


def _value(kind: int, data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2, 3):
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _number(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind in (9, 10) and depth < _DEEPEST:
        size, inner = data[at] >> 4, data[at] & 15
        at += 1
        if size == 15:
            size, at = _varint(data, at)
        if size > len(data) - at:
            raise ValueError("a header is damaged")
        items = []
        for _ in range(size):
            item, at = _value(inner, data, at, depth + 1)
            items.append(item)
        return items, at
    if kind == 12 and depth < _DEEPEST:
        return _struct(data, at, depth + 1)
    raise ValueError("a header is damaged")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7
    raise ValueError("a header is damaged")


def _number(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at
