"""Tables that Arrow reads, .parquet, .feather and .arrow: a few rows of them at a time.

A table has a column of numbers for each class, or one column with a list of all numbers of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import imported
from .files import format_of, reading
from .on_disk import DType, Key, OnDisk
from .predictions import KINDS
from .table import Table

_BYTES_AT_ONCE = 1 << 22  # decoded at a time, however large a row group is
_ROWS_AT_ONCE = 1 << 16  # of a column that is read as a whole
Batches = Callable[[Sequence[str], int, int], Iterator[Any]]
"""Reads some columns from a row on, at most so many rows at a time."""


class ArrowTable(Table):
    """A table in a file; its predictions are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._schema, rows, self._batches = _open_arrow_file(path)
        numeric = {field.name for field in self._schema if _float_type(field.type) is not None}
        super().__init__(path.name, rows, self._schema.names, numeric)
        for kind in KINDS:
            if kind in self.names and _is_list(self._schema.field(kind).type):
                self.names.remove(kind)
                self.kind, self.listed = kind, self._lists(kind)
                break

    def numbers(self, names: Sequence[str]) -> OnDisk:
        types = [_float_type(self._schema.field(name).type) for name in names]
        return self._rows_on_disk(names, len(names), np.result_type(*types))

    def column(self, name: str) -> np.ndarray:
        import pyarrow as pa

        kind = self._schema.field(name).type
        with reading(self._path):
            parts = [batch.column(0) for batch in self._batches([name], 0, _ROWS_AT_ONCE)]
            column = pa.chunked_array(parts, kind)
            _check_none_missing(name, column)
            if name in self.numeric:
                return np.from_dlpack(column.combine_chunks())
            is_text = str(kind) in ("string", "large_string", "string_view")
            if not is_text and not pa.types.is_dictionary(kind):
                raise TypeError(f"column `{name}` must hold texts or whole numbers; got {kind}")
            return np.array(column.to_pylist(), dtype=str)

    def _lists(self, name: str) -> OnDisk:
        """A column with a list of the K numbers of each case."""
        list_type = self._schema.field(name).type
        dtype = _float_type(list_type.value_type)
        if dtype is None:
            raise TypeError(f"column `{name}` must hold floating-point numbers; got {list_type}")
        width = 0
        for first in self._batches([name], 0, 1):
            width = len(first.column(0).flatten())
            break
        return self._rows_on_disk([name], width, dtype)

    def _rows_on_disk(self, names: Sequence[str], width: int, dtype: DType) -> OnDisk:
        """The numbers of some columns, (N, K). Reading on from where the last reading ended decodes
        nothing twice.
        """
        size = max(1, _BYTES_AT_ONCE // max(width * dtype.itemsize, 1))
        position = -1  # the row that comes next; unknown before the first reading, after an error
        batches = iter(())
        rest = np.empty((0, width), dtype)  # of the last batch

        @reading(self._path)
        def read_rows(key: Key) -> np.ndarray:
            nonlocal position, batches, rest
            start, stop = key[0].start, key[0].stop
            if start != position:
                batches, rest = self._batches(names, start, size), rest[:0]
            position = -1
            block = np.empty((stop - start, width), dtype)
            filled = 0
            while filled < len(block):
                if not len(rest):
                    rest = _numbers_of_batch(names, next(batches), width, dtype)
                part = rest[: len(block) - filled]
                block[filled : filled + len(part)] = part
                rest = rest[len(part) :]
                filled += len(part)
            position = stop
            return block[:, key[1]]

        return OnDisk((self.rows, width), dtype, read_rows)


def _open_arrow_file(path: Path) -> tuple[Any, int, Batches]:
    """The schema of a file, how many rows it has, and how they are read."""
    if format_of(path) != ".parquet":
        pa = imported("pyarrow", f"{path.suffix} files need pyarrow", "dask")
        # what is not compressed is mapped
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()

        def batches_of_table(names: Sequence[str], row: int, size: int) -> Iterator[Any]:
            yield from table.select(names).slice(row).to_batches(size)

        return table.schema, len(table), batches_of_table
    pq = imported("pyarrow.parquet", ".parquet files need pyarrow", "dask")
    file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)

    def batches_of_groups(names: Sequence[str], row: int, size: int) -> Iterator[Any]:
        groups = list(range(file.num_row_groups))
        while groups and row >= file.metadata.row_group(groups[0]).num_rows:
            row -= file.metadata.row_group(groups.pop(0)).num_rows
        for batch in file.iter_batches(size, groups, names, use_threads=False):
            yield batch.slice(row)
            row = max(row - len(batch), 0)

    return file.schema_arrow, file.metadata.num_rows, batches_of_groups


def _numbers_of_batch(names: Sequence[str], batch: Any, width: int, dtype: DType) -> np.ndarray:
    columns = []
    for name, column in zip(names, batch.columns, strict=True):
        _check_none_missing(name, column)
        if _is_list(column.type):
            if np.any(np.from_dlpack(column.value_lengths()) != width):
                raise ValueError(
                    f"column `{name}` must hold {width} numbers in every row, as the first"
                )
            column = column.flatten()
        columns.append(np.from_dlpack(column))  # to_numpy would import pandas, 45 MB
    return np.stack(columns, axis=-1, dtype=dtype, casting="unsafe").reshape(-1, width)


def _check_none_missing(name: str, column: Any) -> None:
    if column.null_count:
        raise ValueError(
            f"column `{name}` must have no missing values; {column.null_count:,} are missing"
        )


def _float_type(kind: Any) -> DType | None:
    """The type in which a column of numbers is read. Whole ones are probabilities too: of a member
    that is sure.
    """
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return np.dtype(float)
    return np.dtype(kind.to_pandas_dtype()) if pa.types.is_floating(kind) else None


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)
