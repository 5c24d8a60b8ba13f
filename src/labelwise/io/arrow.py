"""Tables that Arrow reads, .parquet, .feather and .arrow: a few rows of them at a time.

A table has a column of numbers for each class, or one column with a list of all numbers of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import imported
from .files import format_of, reading
from .on_disk import Key, OnDisk
from .predictions import KINDS
from .table import Table

_BYTES_AT_ONCE = 1 << 22  # decoded at a time, however large a row group is


class _Parquet:
    """A .parquet file: its columns one by one, and rows of some of them."""

    def __init__(self, path: Path) -> None:
        pq = imported("pyarrow.parquet", ".parquet files need pyarrow", "dask")
        try:
            self._file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
        except ValueError as error:
            raise ValueError(f"{path.name} is not a readable .parquet file: {error}") from error
        self.schema, self.rows = self._file.schema_arrow, self._file.metadata.num_rows

    def column(self, name: str) -> Any:
        return self._file.read(columns=[name], use_threads=False).column(0)

    def batches(self, names: Sequence[str], row: int, size: int) -> Iterator[Any]:
        """The rows from ``row`` on, at most ``size`` at a time."""
        groups = list(range(self._file.num_row_groups))
        while groups and row >= self._file.metadata.row_group(groups[0]).num_rows:
            row -= self._file.metadata.row_group(groups.pop(0)).num_rows
        for batch in self._file.iter_batches(size, groups, names, use_threads=False):
            yield batch.slice(row)
            row = max(row - len(batch), 0)


class _Arrow:
    """A file in Arrow's own format; what is not compressed in it is mapped."""

    def __init__(self, path: Path) -> None:
        pa = imported("pyarrow", f"{path.suffix} files need pyarrow", "dask")
        self._table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        self.schema, self.rows = self._table.schema, len(self._table)

    def column(self, name: str) -> Any:
        return self._table.column(name)

    def batches(self, names: Sequence[str], row: int, size: int) -> Iterator[Any]:
        """The rows from ``row`` on, at most ``size`` at a time."""
        yield from self._table.select(names).slice(row).to_batches(max_chunksize=size)


def read_arrow(path: Path) -> Table:
    """The table in a file; its predictions are read when they are asked for."""
    if format_of(path) == ".parquet":
        file: _Parquet | _Arrow = _Parquet(path)
    else:
        file = _Arrow(path)
    names = list(file.schema.names)
    types = dict(zip(names, file.schema.types, strict=True))
    numeric = {name for name in names if _number(types[name]) is not None}

    @reading(path)
    def read_column(name: str) -> np.ndarray:
        return _small_column(name, file.column(name))

    def read_numbers(wanted: Sequence[str]) -> OnDisk:
        dtype = np.result_type(*(_number(types[name]) for name in wanted))
        return _Rows(file, wanted, len(wanted), dtype).on_disk(path)

    table = Table(path.name, file.rows, tuple(names), numeric, read_column, read_numbers)
    for kind in KINDS:
        if kind in types and _is_list(types[kind]):
            names.remove(kind)
            metadata = file.schema.metadata or {}
            class_names = None
            if metadata.get(b"class_names"):
                class_names = tuple(metadata[b"class_names"].decode().split("\n"))
            listed = _read_lists(path, file, kind, metadata.get(b"members"))
            return replace(
                table, names=tuple(names), kind=kind, listed=listed, class_names=class_names
            )
    return table


def _read_lists(path: Path, file: _Parquet | _Arrow, name: str, members: bytes | None) -> OnDisk:
    """A column with all M · K numbers of a case as a list; ``members`` says what M is."""
    kind = file.schema.field(name).type
    dtype = _number(kind.value_type)
    if dtype is None:
        raise TypeError(f"column `{name}` must hold floating-point numbers; got {kind}")
    width = 0
    for batch in islice(file.batches([name], 0, 1), 1):
        width = len(batch.column(0).flatten())
    rows = _Rows(file, [name], width, dtype)
    if members is None:
        return rows.on_disk(path)
    if not members.isdigit() or int(members) < 1 or width % int(members):
        raise ValueError(
            f"the metadata of its schema must say how many `members` the {width} numbers of "
            f"`{name}` belong to"
        )
    return rows.on_disk(path, int(members))


class _Rows:
    """The numbers of some columns, row by row. Reading on from where the last reading ended decodes
    nothing twice.
    """

    def __init__(
        self, file: _Parquet | _Arrow, names: Sequence[str], width: int, dtype: np.dtype[Any]
    ) -> None:
        self._file, self._names, self._width, self._dtype = file, names, width, dtype
        self._row = -1

    def on_disk(self, path: Path, members: int | None = None) -> OnDisk:
        """An array (N, K), or (M, N, K) if each row has the numbers of all members."""

        @reading(path)
        def read(key: Key) -> np.ndarray:
            block = self.read(key[-2].start, key[-2].stop)
            if members is None:
                return block[:, key[1]]
            return block.reshape(-1, members, shape[2]).transpose(1, 0, 2)[key[0], :, key[2]]

        shape: tuple[int, ...] = self._file.rows, self._width
        if members is not None:
            shape = members, self._file.rows, self._width // members
        return OnDisk(shape, self._dtype, read)

    def read(self, start: int, stop: int) -> np.ndarray:
        block = np.empty((stop - start, self._width), self._dtype)
        if start != self._row:
            size = max(1, _BYTES_AT_ONCE // max(self._width * self._dtype.itemsize, 1))
            self._batches = self._file.batches(self._names, start, size)
            self._rest = block[:0]
        self._row = -1  # until this reading has ended well
        filled = 0
        while filled < len(block):
            if not len(self._rest):
                self._rest = self._numbers(next(self._batches))
            part = self._rest[: len(block) - filled]
            block[filled : filled + len(part)] = part
            self._rest, filled = self._rest[len(part) :], filled + len(part)
        self._row = stop
        return block

    def _numbers(self, batch: Any) -> np.ndarray:
        columns = []
        for name, column in zip(self._names, batch.columns, strict=True):
            _check_none_missing(name, column)
            if _is_list(column.type):
                if np.any(np.from_dlpack(column.value_lengths()) != self._width):
                    raise ValueError(
                        f"column `{name}` must hold {self._width} numbers in every row, as the "
                        "first"
                    )
                column = column.flatten()
            columns.append(np.from_dlpack(column))  # to_numpy would import pandas, 45 MB
        numbers = np.stack(columns, axis=-1, dtype=self._dtype, casting="unsafe")
        return numbers.reshape(-1, self._width)


def _check_none_missing(name: str, column: Any) -> None:
    if column.null_count:
        raise ValueError(
            f"column `{name}` must have no missing values; {column.null_count:,} are missing"
        )


def _number(kind: Any) -> np.dtype[Any] | None:
    """The type of a column of numbers. Whole ones are probabilities too: of a member that is
    sure.
    """
    import pyarrow as pa

    dtype: np.dtype[Any] | None = None
    if pa.types.is_floating(kind):
        dtype = np.dtype(kind.to_pandas_dtype())
    elif pa.types.is_integer(kind):
        dtype = np.dtype(np.float64)
    return dtype


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def _small_column(name: str, column: Any) -> np.ndarray:
    """The whole of a column of ids, labels or groups."""
    import pyarrow as pa

    _check_none_missing(name, column)
    if _number(column.type) is not None:
        return np.from_dlpack(column.combine_chunks())
    is_text = str(column.type) in ("string", "large_string", "string_view")
    if not is_text and not pa.types.is_dictionary(column.type):
        raise TypeError(f"column `{name}` must hold texts or whole numbers; got {column.type}")
    return np.array(column.to_pylist(), dtype=str)
