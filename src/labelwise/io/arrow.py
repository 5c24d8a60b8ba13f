"""Tables that Arrow reads, .parquet, .feather and .arrow: a few rows of them at a time.

A table has a column of numbers for each class, or one column with a list of all numbers of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import imported
from .files import format_of, reading
from .on_disk import Key, OnDisk
from .predictions import KINDS
from .table import Table

_BYTES_AT_ONCE = 1 << 22  # decoded at a time, however large a row group is


@dataclass(frozen=True)
class _ArrowFile:
    """An open file, and how to read columns of it."""

    schema: Any
    rows: int
    column: Callable[[str], Any]
    """Read a whole column."""
    batches: Callable[[Sequence[str], int, int], Iterator[Any]]
    """Read some columns from a row on, at most so many rows at a time."""


def _open_arrow_file(path: Path) -> _ArrowFile:
    if format_of(path) == ".parquet":
        pq = imported("pyarrow.parquet", ".parquet files need pyarrow", "dask")
        try:
            file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
        except ValueError as error:
            raise ValueError(f"{path.name} is not a readable .parquet file: {error}") from error

        def batches(names: Sequence[str], row: int, size: int) -> Iterator[Any]:
            groups = list(range(file.num_row_groups))
            while groups and row >= file.metadata.row_group(groups[0]).num_rows:
                row -= file.metadata.row_group(groups.pop(0)).num_rows
            for batch in file.iter_batches(size, groups, names, use_threads=False):
                yield batch.slice(row)
                row = max(row - len(batch), 0)

        return _ArrowFile(
            file.schema_arrow,
            file.metadata.num_rows,
            lambda name: file.read([name], use_threads=False).column(0),
            batches,
        )
    pa = imported("pyarrow", f"{path.suffix} files need pyarrow", "dask")
    # what is not compressed is mapped
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    return _ArrowFile(
        table.schema,
        len(table),
        table.column,
        lambda names, row, size: iter(table.select(names).slice(row).to_batches(size)),
    )


def read_arrow(path: Path) -> Table:
    """The table in a file; its predictions are read when they are asked for."""
    file = _open_arrow_file(path)
    names = list(file.schema.names)
    types = dict(zip(names, file.schema.types, strict=True))
    numeric = {name for name in names if _float_type(types[name]) is not None}

    @reading(path)
    def read_column(name: str) -> np.ndarray:
        return _whole_column(name, file.column(name))

    def read_numbers(wanted: Sequence[str]) -> OnDisk:
        dtype = np.result_type(*(_float_type(types[name]) for name in wanted))
        return _rows_on_disk(path, file, wanted, len(wanted), dtype)

    table = Table(path.name, file.rows, tuple(names), numeric, read_column, read_numbers)
    for kind in KINDS:
        if kind in types and _is_list(types[kind]):
            names.remove(kind)
            metadata = file.schema.metadata or {}
            class_names = None
            if metadata.get(b"class_names"):
                class_names = tuple(metadata[b"class_names"].decode().split("\n"))
            listed = _lists_on_disk(path, file, kind, metadata.get(b"members"))
            return replace(
                table, names=tuple(names), kind=kind, listed=listed, class_names=class_names
            )
    return table


def _lists_on_disk(path: Path, file: _ArrowFile, name: str, members: bytes | None) -> OnDisk:
    """A column with the numbers of a case as a list: K of them, or M · K where ``members`` says
    what M is.
    """
    list_type = file.schema.field(name).type
    dtype = _float_type(list_type.value_type)
    if dtype is None:
        raise TypeError(f"column `{name}` must hold floating-point numbers; got {list_type}")
    first = next(file.batches([name], 0, 1), None)
    width = 0
    if first is not None:
        width = len(first.column(0).flatten())
    lists = _rows_on_disk(path, file, [name], width, dtype)
    if members is None:
        return lists
    if not members.isdigit() or int(members) < 1 or width % int(members):
        raise ValueError(
            f"the metadata of its schema must say how many `members` the {width} numbers of "
            f"`{name}` belong to"
        )
    shape = int(members), file.rows, width // int(members)

    def read_members(key: Key) -> np.ndarray:
        by_case = lists[key[1]].reshape(-1, shape[0], shape[2])
        return by_case.transpose(1, 0, 2)[key[0], :, key[2]]

    return OnDisk(shape, dtype, read_members)


def _rows_on_disk(
    path: Path, file: _ArrowFile, names: Sequence[str], width: int, dtype: np.dtype[Any]
) -> OnDisk:
    """The numbers of some columns, (N, K). Reading on from where the last reading ended decodes
    nothing twice.
    """
    size = max(1, _BYTES_AT_ONCE // max(width * dtype.itemsize, 1))
    position = -1  # the row that comes next; unknown before the first reading and after an error
    batches: Iterator[Any] = iter(())
    rest = np.empty((0, width), dtype)  # of the last batch

    @reading(path)
    def read_rows(key: Key) -> np.ndarray:
        nonlocal position, batches, rest
        start, stop = key[0].start, key[0].stop
        if start != position:
            batches, rest = file.batches(names, start, size), rest[:0]
        position = -1
        block = np.empty((stop - start, width), dtype)
        filled = 0
        while filled < len(block):
            if not len(rest):
                rest = _numbers_of_batch(names, next(batches), width, dtype)
            left = len(block) - filled
            part, rest = rest[:left], rest[left:]
            block[filled : filled + len(part)] = part
            filled += len(part)
        position = stop
        return block[:, key[1]]

    return OnDisk((file.rows, width), dtype, read_rows)


def _numbers_of_batch(
    names: Sequence[str], batch: Any, width: int, dtype: np.dtype[Any]
) -> np.ndarray:
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


def _float_type(kind: Any) -> np.dtype[Any] | None:
    """The type in which a column of numbers is read. Whole ones are probabilities too: of a member
    that is sure.
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


def _whole_column(name: str, column: Any) -> np.ndarray:
    """All of a column of ids, labels or groups."""
    import pyarrow as pa

    _check_none_missing(name, column)
    if _float_type(column.type) is not None:
        return np.from_dlpack(column.combine_chunks())
    is_text = str(column.type) in ("string", "large_string", "string_view")
    if not is_text and not pa.types.is_dictionary(column.type):
        raise TypeError(f"column `{name}` must hold texts or whole numbers; got {column.type}")
    return np.array(column.to_pylist(), dtype=str)
