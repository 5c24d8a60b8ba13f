"""Tables that Arrow reads, .parquet, .feather and .arrow: a few rows of them at a time.

A table has a column of numbers for each class, or one column with a list of all numbers of a row.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import imported
from .files import reading
from .on_disk import Key, OnDisk
from .predictions import KINDS
from .tables import Table

__all__ = ["read_arrow"]

_BYTES_AT_ONCE = 1 << 22


class _Parquet:
    """A .parquet file: its columns one by one, and rows of some of them."""

    def __init__(self, path: Path) -> None:
        pq = imported("pyarrow.parquet", ".parquet files need pyarrow", "dask")
        self._file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
        self.schema, self.rows = self._file.schema_arrow, self._file.metadata.num_rows

    def column(self, name: str) -> Any:
        return self._file.read(columns=[name], use_threads=False).column(0)

    def batches(self, names: Sequence[str], row: int, size: int) -> Iterator[Any]:
        """The rows from ``row`` on, at most ``size`` at a time."""
        for group in range(self._file.num_row_groups):
            rows = self._file.metadata.row_group(group).num_rows
            if row < rows:
                options = {"columns": list(names), "use_threads": False}
                for batch in self._file.iter_batches(size, row_groups=[group], **options):
                    yield batch.slice(row)
                    row = max(row - len(batch), 0)
            else:
                row -= rows


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
    file = _Parquet(path) if path.suffix.lower() == ".parquet" else _Arrow(path)
    types = {field.name: field.type for field in file.schema}
    numeric = frozenset(name for name, kind in types.items() if _number(kind) is not None)
    lists = [name for name, kind in types.items() if _is_list(kind) and name != "y_true"]
    listed = next((name for name in lists if name in KINDS), None)
    if listed is None and lists and not numeric - {"y_true"}:
        listed = lists[0]
        warnings.warn(
            f"{path.name}: `{listed}` is the only column of lists and is taken for `probs`",
            stacklevel=2,
        )

    def read_column(name: str) -> np.ndarray:
        with reading(path):
            return _small_column(name, file.column(name))

    def read_numbers(names: Sequence[str]) -> OnDisk:
        dtype = np.result_type(*(_number(types[name]) for name in names))
        return _on_disk(path, _Rows(file, tuple(names), len(names), dtype), None)

    names = tuple(name for name in file.schema.names if name != listed)
    if listed is None:
        return Table(path.name, file.rows, names, numeric, read_column, read_numbers)
    metadata = {key.decode(): x.decode() for key, x in (file.schema.metadata or {}).items()}
    return Table(
        path.name,
        file.rows,
        names,
        numeric,
        read_column,
        read_numbers,
        kind=listed if listed in KINDS else "probs",
        listed=_read_lists(path, file, listed, metadata.get("members")),
        class_names=tuple(metadata["class_names"].split("\n"))
        if "class_names" in metadata
        else None,
    )


def _read_lists(path: Path, file: Any, name: str, members: str | None) -> OnDisk:
    """A column with all M · K numbers of a case as a list; ``members`` says what M is."""
    kind = file.schema.field(name).type
    dtype = _number(kind.value_type)
    if dtype is None:
        nested = (
            ". Lists of lists? Store a column for each class, or the M · K numbers of a row as one "
            f"list in `{name}`"
        )
        raise TypeError(
            f"column `{name}` must hold floating-point numbers; got {kind}"
            f"{nested if _is_list(kind.value_type) else ''}"
        )
    first = next(file.batches([name], 0, 1), None)
    width = 0 if first is None else len(first.column(0).flatten())
    rows = _Rows(file, (name,), width, dtype)
    if members is None and name not in KINDS[1:]:  # probabilities: their sums count the members
        sums = rows(0, min(8, file.rows)).sum(axis=-1)
        if sums.size and np.allclose(sums, sums[0], atol=0.02) and round(float(sums[0])) > 1:
            members = "not said"
    if members is not None and (not members.isdigit() or int(members) < 1 or width % int(members)):
        raise ValueError(
            f"the metadata of its schema must say how many `members` the {width} numbers of "
            f"`{name}` belong to"
        )
    return _on_disk(path, rows, None if members is None else int(members))


def _on_disk(path: Path, rows: _Rows, members: int | None) -> OnDisk:
    """Rows of numbers as (N, K), or as (M, N, K) if each row has those of all members."""
    n = rows.file.rows
    if members is None:
        return OnDisk(
            (n, rows.width), rows.dtype, lambda key: rows(*_ends(key[0]))[:, key[1]], path
        )
    shape = (members, n, rows.width // members)

    def read(key: Key) -> np.ndarray:
        block = rows(*_ends(key[1])).reshape(-1, members, shape[2])
        return block.transpose(1, 0, 2)[key[0], :, key[2]]

    return OnDisk(shape, rows.dtype, read, path)


def _ends(rows: slice) -> tuple[int, int]:
    return rows.start, rows.stop


class _Rows:
    """The numbers of some columns, row by row. Reading on from where the last reading ended decodes
    nothing twice.
    """

    def __init__(self, file: Any, names: tuple[str, ...], width: int, dtype: Any) -> None:
        self.file, self.names, self.width, self.dtype = file, names, width, np.dtype(dtype)
        self._row = -1
        self._batches: Iterator[Any] = iter(())
        self._rest = np.empty((0, width), dtype)

    def __call__(self, start: int, stop: int) -> np.ndarray:
        block = np.empty((stop - start, self.width), self.dtype)
        if start != self._row:
            size = max(1, _BYTES_AT_ONCE // max(self.width * self.dtype.itemsize, 1))
            self._batches, self._rest = self.file.batches(self.names, start, size), block[:0]
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
        for name, column in zip(self.names, batch.columns, strict=True):
            if column.null_count:
                raise ValueError(_missing(name, column))
            if _is_list(column.type):
                if not np.all(column.value_lengths().to_numpy(zero_copy_only=False) == self.width):
                    raise ValueError(
                        f"column `{name}` must hold {self.width} numbers in every row, as the first"
                    )
                column = column.flatten()
            columns.append(column.to_numpy(zero_copy_only=False))
        return np.stack(columns, axis=-1).astype(self.dtype, copy=False).reshape(-1, self.width)


def _missing(name: str, column: Any) -> str:
    return f"column `{name}` must have no missing values; {column.null_count:,} are missing"


def _number(kind: Any) -> np.dtype[Any] | None:
    """The type of a column of numbers. Whole ones are probabilities too: of a member that is
    sure.
    """
    import pyarrow as pa

    if pa.types.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    return np.dtype(np.float64) if pa.types.is_integer(kind) else None


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def _small_column(name: str, column: Any) -> np.ndarray:
    """The whole of a column of ids, labels or groups."""
    import pyarrow as pa

    kind = column.type
    if column.null_count:
        raise ValueError(_missing(name, column))
    if _number(kind) is not None:
        return np.asarray(column.to_numpy())
    if _is_list(kind) and name == "y_true":
        return np.asarray(column.to_pylist())
    text = ("string", "large_string", "string_view")
    if str(kind) not in text and not pa.types.is_dictionary(kind):
        raise TypeError(f"column `{name}` must hold texts or whole numbers; got {kind}")
    return np.array(column.to_pylist(), dtype=str)
