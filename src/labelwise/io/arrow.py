"""Flat tables in Arrow's own format (.arrow, .feather), read without trust.

Arrow believes what a file says about the sizes of its buffers. So the messages of a file are walked
through first: every buffer must lie inside the file, and all of them together may decode to no more
than its size allows.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._lazy import imported
from .files import allowed, open_regular, reading
from .parquet import NUMBERS
from .tables import Table

__all__ = ["read_arrow"]

_MAGIC = b"ARROW1"
_LONGEST_METADATA = 1 << 24


def read_arrow(path: Path) -> Table:
    """The table in a file, of which columns are read when they are asked for."""
    pa = imported("pyarrow", f"{path.suffix} files need pyarrow", "dask")
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        try:
            decoded = _walk(file, length)
        except (struct.error, IndexError) as error:
            raise ValueError(
                f"{path.name} is damaged: its metadata point outside of the file"
            ) from error
    if decoded > allowed(length):
        raise ValueError(
            f"{path.name} would unpack from {length:,} to {decoded:,} bytes; such files are refused"
        )
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as reader:
        schema = reader.schema
        names = tuple(schema.names)
    numeric = frozenset(field.name for field in schema if str(field.type) in NUMBERS)

    def read(wanted: Sequence[str]) -> Any:
        fields = sorted(names.index(name) for name in wanted)
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with (
            reading(path),
            pa.OSFile(str(path)) as source,
            pa.ipc.open_file(source, options=options) as reader,
        ):
            table = reader.read_all()
            table.validate(full=True)
            return table

    def read_column(name: str) -> np.ndarray:
        return _small(path, _column(path, read([name]), name), length)

    def read_numbers(wanted: Sequence[str]) -> np.ndarray:
        table = read(wanted)
        dtype = np.result_type(*(NUMBERS[str(schema.field(name).type)] for name in wanted))
        return np.stack(
            [_column(path, table, name).to_numpy().astype(dtype, copy=False) for name in wanted],
            axis=-1,
        )

    rows = len(read(names[:1])) if names else 0
    return Table(path.name, rows, names, numeric, read_column, read_numbers)


def _column(path: Path, table: Any, name: str) -> Any:
    column = table.column(name)
    if column.null_count:
        raise ValueError(
            f"{path.name}: column `{name}` must have no missing values; {column.null_count:,} are "
            "missing"
        )
    return column


def _small(path: Path, column: Any, length: int) -> np.ndarray:
    """A column of text or whole numbers."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.to_numpy())
    texts = (
        [chunk.dictionary for chunk in column.chunks]
        if pa.types.is_dictionary(kind)
        else column.chunks
    )
    if any(str(text.type) not in ("string", "large_string", "string_view") for text in texts):
        raise TypeError(
            f"{path.name}: ids, labels and groups must be texts or whole numbers; got {kind}"
        )
    longest = max((_longest(text) for text in texts), default=0)
    if 4 * len(column) * longest > allowed(length):
        raise ValueError(
            f"{path.name} has {len(column):,} texts of up to {longest:,} bytes; such files are "
            "refused"
        )
    return np.array(column.to_pylist(), dtype=str)


def _longest(text: Any) -> int:
    """Bytes of the longest text of a chunk."""
    import pyarrow.compute as pc

    if str(text.type) != "string_view":
        return int(pc.max(pc.binary_length(text)).as_py() or 0)
    # pyarrow 17 computes nothing with views. Each takes 16 bytes, of which the first four are the
    # length; many may share one long text.
    lengths = np.frombuffer(text.buffers()[1], np.dtype("<i4"))[::4] if len(text) else np.zeros(1)
    return int(lengths[text.offset : text.offset + len(text)].max(initial=0))


def _walk(file: IO[bytes], length: int) -> int:
    """How many bytes all buffers of a file take when they are decoded; refuses those that lie
    outside of it.
    """
    file.seek(max(length - 10, 0))
    end = file.read(10)
    file.seek(0)
    if end[4:] != _MAGIC or file.read(6) != _MAGIC:
        raise ValueError("it is not a file in Arrow's format (Feather version 2); cut short?")
    size = int.from_bytes(end[:4], "little")
    if not 0 < size <= min(length - 16, _LONGEST_METADATA):
        raise ValueError("it is damaged: its footer has an impossible size")
    file.seek(length - 10 - size)
    footer = _Flat(file.read(size))
    total = 0
    for field in (2, 3):  # dictionaries, record batches
        for at in footer.vector(footer.root, field, 24):
            offset, metadata, body = (
                *struct.unpack_from("<qi", footer.data, at),
                struct.unpack_from("<q", footer.data, at + 16)[0],
            )
            if not (
                offset >= 0
                and 8 <= metadata <= _LONGEST_METADATA
                and body >= 0
                and offset + metadata + body <= length
            ):
                raise ValueError("it is damaged: a part of it lies outside of the file")
            file.seek(offset)
            total += _message(file, file.read(metadata), offset + metadata, body)
    return total


def _message(file: IO[bytes], data: bytes, start: int, body: int) -> int:
    """Bytes that the buffers of one message decode to."""
    flat = _Flat(data[8 if data[:4] == b"\xff\xff\xff\xff" else 4 :])
    batch = flat.table(flat.root, 2)
    if flat.scalar(flat.root, 1, "<B") == 2:  # a dictionary: its batch is inside
        batch = flat.table(batch, 1)
    total = 0
    for at in flat.vector(batch, 2, 16):
        offset, size = struct.unpack_from("<qq", flat.data, at)
        if not (offset >= 0 and size >= 0 and offset + size <= body):
            raise ValueError("it is damaged: a buffer lies outside of the file")
        if size >= 8 and flat.field(batch, 3):  # compressed: the first bytes say to how much
            file.seek(start + offset)
            size = max(struct.unpack("<q", file.read(8))[0], size)
        total += size
    return total


class _Flat:
    """As much of FlatBuffers as messages need: tables find their fields through a list of offsets
    before them.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.root = struct.unpack_from("<I", data, 0)[0]

    def field(self, table: int, number: int) -> int:
        """Where a field of a table is; 0 if it has none."""
        offsets = table - struct.unpack_from("<i", self.data, table)[0]
        if offsets < 0 or 4 + 2 * number >= struct.unpack_from("<H", self.data, offsets)[0]:
            return 0
        relative = struct.unpack_from("<H", self.data, offsets + 4 + 2 * number)[0]
        return table + relative if relative else 0

    def table(self, table: int, number: int) -> int:
        at = self.field(table, number)
        if not at:
            raise ValueError("it is damaged: a message has no content")
        return int(at + struct.unpack_from("<I", self.data, at)[0])

    def scalar(self, table: int, number: int, kind: str) -> int:
        at = self.field(table, number)
        return int(struct.unpack_from(kind, self.data, at)[0]) if at else 0

    def vector(self, table: int, number: int, size: int) -> range:
        """Where the items of a list of structs are."""
        at = self.field(table, number)
        if not at:
            return range(0)
        at += struct.unpack_from("<I", self.data, at)[0]
        count = struct.unpack_from("<I", self.data, at)[0]
        if at + 4 + size * count > len(self.data):
            raise ValueError("it is damaged: a list is longer than its message")
        return range(at + 4, at + 4 + size * count, size)
