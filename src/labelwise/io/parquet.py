"""Predictions in the rows of a .parquet file, read without trust and a few rows at a time.

Arrow believes what a file says about the sizes of its pages, and decodes as many values as they
promise. So the pages of a column are walked through first, by their headers alone: they must lie
inside the file, promise the values that the footer does, and be small.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import imported
from .files import allowed, open_regular
from .parquet_pages import Group, check_pages, column_of, read_footer
from .predictions import KINDS
from .tables import Table

_AT_ONCE = 1 << 22
"""Bytes of values that are decoded at a time."""
FLOATS = {"double": np.float64, "float": np.float32, "halffloat": np.float16}
# Whole numbers are probabilities too: those of a member that is sure.
NUMBERS = FLOATS | dict.fromkeys(
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), np.float64
)


@dataclass
class _Cursor:
    """Where the last reading ended: reading on from there decodes nothing twice."""

    row: int = -1
    rest: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    batches: Iterator[np.ndarray] = field(default_factory=lambda: iter(()))


@dataclass(frozen=True, eq=False)
class ParquetColumn:
    """Numbers in the rows of a file, in lists or in a column for each class, as an array (M, N, K)
    or (N, K) to be sliced by instance.
    """

    path: Path
    file: Any
    groups: list[Group]
    names: tuple[str, ...]
    """One column of lists, or one column of numbers for each class."""
    n: int
    width: int
    """How many numbers there are in a row."""
    members: int | None
    dtype: np.dtype[Any]
    largest: int
    """Bytes that a page may take."""
    flat: bool = False
    _cursor: _Cursor = field(default_factory=_Cursor, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return (
            (self.n, self.width)
            if self.members is None
            else (self.members, self.n, self.width // self.members)
        )

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
        return (
            block
            if self.members is None
            else block.reshape(len(block), self.members, self.width // self.members).transpose(
                1, 0, 2
            )
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def _batches(self, row: int) -> Iterator[np.ndarray]:
        """The rows from ``row`` on, a few at a time."""
        step = max(1, _AT_ONCE // max(self.width * self.dtype.itemsize, 1))
        end = 0
        for i, group in enumerate(self.groups):
            at, end = end, end + group.rows
            if end <= row:
                continue
            for name in self.names:
                check_pages(self.path, group, name, self.largest)
            for batch in self.file.iter_batches(
                batch_size=step, row_groups=[i], columns=list(self.names), use_threads=False
            ):
                values = self._flat(batch) if self.flat else self._lists(batch, at)
                if at + len(values) > row:
                    yield values[max(row - at, 0) :]
                at += len(values)

    def _lists(self, batch: Any, at: int) -> np.ndarray:
        lists = batch.column(0)
        values = lists.flatten().to_numpy(zero_copy_only=False)
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
        if lists.null_count or not np.all(lengths == self.width):
            raise ValueError(
                f"column `{self.names[0]}` must hold {self.width} numbers in every row; rows {at} "
                f"to {at + len(lists)} do not"
            )
        return np.asarray(values.astype(self.dtype, copy=False).reshape(len(lists), self.width))

    def _flat(self, batch: Any) -> np.ndarray:
        block = np.empty((batch.num_rows, len(self.names)), self.dtype)
        for k, name in enumerate(self.names):
            column = batch.column(name)
            if column.null_count:
                raise ValueError(
                    f"column `{name}` must have no missing values; {column.null_count:,} are "
                    "missing"
                )
            block[:, k] = column.to_numpy(zero_copy_only=False)
        return block


def read_parquet(path: Path, pick: Callable[[list[str]], Sequence[str]], largest: int) -> Table:
    """The table in a file, the predictions not yet read; ``pick`` chooses a column of lists from
    their names.

    None of its pages may take more than ``largest`` bytes.
    """
    pq = imported("pyarrow.parquet", ".parquet files need pyarrow", "dask")
    with open_regular(path) as raw:
        length = os.fstat(raw.fileno()).st_size
    with _sentences(path):
        groups = read_footer(path)
        found = pq.read_schema(path)
        text = [field.name for field in found if str(field.type) in ("string", "large_string")]
        file = pq.ParquetFile(path, read_dictionary=text, buffer_size=1 << 20, pre_buffer=False)
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise ValueError(f"{path.name} is damaged: two of its columns have the same name")
        stored = _Stored(
            path,
            file,
            groups,
            sum(group.rows for group in groups),
            allowed(length),
            length,
            largest,
        )
        lists = [
            field.name
            for field in found
            if str(field.type).startswith(("list", "large_list", "fixed_size_list"))
        ]
        numeric = [field.name for field in file.schema_arrow if str(field.type) in NUMBERS]
        if not numeric and not lists:
            pick(names)  # refuses, and says what is there
        table = Table(
            path.name, stored.n, tuple(names), frozenset(numeric), stored.small, stored.numbers
        )
        if any(name in KINDS for name in lists) or (lists and not set(numeric) - {"y_true"}):
            kind = next(name for name in pick(lists) if name != "y_true")
            table = _with_lists(table, stored, kind)
    return table


@dataclass(frozen=True)
class _Stored:
    """An open file and its limits."""

    path: Path
    file: Any
    groups: list[Group]
    n: int
    most: int
    """Bytes that it may decode to."""
    length: int
    largest: int

    def counts(self, names: Sequence[str], itemsize: int, n_wide: int) -> dict[str, int]:
        """How many values the columns hold, of which the first ``n_wide`` are the predictions; they
        must be possible, and not too many.
        """
        counts = {
            name: sum(column_of(self.path, group, name).values for group in self.groups)
            for name in names
        }
        if min(self.n, *(group.rows for group in self.groups), *counts.values(), 0) < 0:
            raise ValueError(
                f"{self.path.name} is damaged: it says that it has fewer rows than none"
            )
        decoded = sum(
            count * (itemsize if i < n_wide else 8) for i, count in enumerate(counts.values())
        )
        if decoded > self.most:
            raise ValueError(
                f"{self.path.name} would unpack from {self.length:,} to {decoded:,} bytes; such "
                "files are refused"
            )
        return counts

    def small(self, name: str) -> np.ndarray:
        with _sentences(self.path):
            self.counts([name], 8, 1)
            return _small_column(
                self.path, self.file, self.groups, name, self.n, self.largest, self.most
            )

    def numbers(self, names: Sequence[str]) -> ParquetColumn:
        """A column for each class."""
        with _sentences(self.path):
            types = [str(self.file.schema_arrow.field(name).type) for name in names]
            dtype = np.result_type(*(NUMBERS[kind] for kind in types))
            counts = self.counts(names, dtype.itemsize, len(names))
        uneven = [name for name in names if counts[name] != self.n]
        if uneven:
            raise ValueError(
                f"{self.path.name} is damaged: column `{uneven[0]}` has {counts[uneven[0]]:,} "
                f"values in {self.n:,} rows"
            )
        return ParquetColumn(
            self.path,
            self.file,
            self.groups,
            tuple(names),
            self.n,
            len(names),
            None,
            dtype,
            self.largest,
            True,
        )


def _with_lists(table: Table, stored: _Stored, name: str) -> Table:
    """A table with a column of lists, which hold all numbers of a row."""
    path, schema = stored.path, stored.file.schema_arrow
    kind = name if name in KINDS else "probs"
    dtype, fixed = _list_type(path, name, schema.field(name).type)
    count = stored.counts([name], dtype.itemsize, 1)[name]
    width = count // max(stored.n, 1) if fixed is None else fixed
    if width * stored.n != count:
        raise ValueError(
            f"{path.name}: column `{name}` must hold the same number of values in every row; got "
            f"{count:,} in {stored.n:,} rows"
        )
    metadata = {
        key: (schema.metadata or {}).get(key.encode(), b"").decode()
        for key in ("members", "class_names")
    }
    members = _members(path, metadata["members"], width, name) if metadata["members"] else None
    values = ParquetColumn(
        path, stored.file, stored.groups, (name,), stored.n, width, members, dtype, stored.largest
    )
    if members is None and kind == "probs":
        sums = values[: min(8, stored.n)].sum(axis=-1)
        if sums.size and np.allclose(sums, sums[0], atol=0.02) and round(float(sums[0])) > 1:
            _members(path, "", width, name)  # several members, and nothing says how many
    class_names = tuple(metadata["class_names"].split("\n")) if metadata["class_names"] else None
    names = tuple(other for other in table.names if other != name)
    return replace(table, names=names, kind=kind, listed=values, class_names=class_names)


def _list_type(path: Path, name: str, stored: Any) -> tuple[np.dtype[Any], int | None]:
    """The type of the numbers in a column of lists, and the length of all lists if it is fixed."""
    import pyarrow as pa

    if not (
        pa.types.is_list(stored)
        or pa.types.is_fixed_size_list(stored)
        or pa.types.is_large_list(stored)
    ):
        raise TypeError(f"{path.name}: column `{name}` must hold lists of numbers; got {stored}")
    dtype = np.dtype(FLOATS.get(str(stored.value_type), object))
    if dtype.kind != "f":
        nested = "list" in str(stored.value_type)
        hint = (
            (
                ". Lists of lists? Store a column for each class, or the M · K numbers of a row "
                f"as one list in `{name}`"
            )
            if nested
            else ""
        )
        raise TypeError(
            f"{path.name}: column `{name}` must hold floating-point numbers; got {stored}{hint}"
        )
    return dtype, stored.list_size if pa.types.is_fixed_size_list(stored) else None


def _members(path: Path, members: str, width: int, kind: str) -> int:
    if (
        not (members.isascii() and members.isdigit() and len(members) < 10)
        or int(members) < 1
        or width % int(members)
    ):
        raise ValueError(
            f"{path.name}: the metadata of its schema must say how many `members` the {width} "
            f"numbers of `{kind}` belong to"
        )
    return int(members)


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Whatever Arrow raises on damage becomes one sentence."""
    try:
        yield
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        OverflowError,
        NotImplementedError,
        MemoryError,
        OSError,
    ) as error:
        if str(error).startswith(path.name):
            raise
        words = str(error).splitlines() or ["it asks for more memory than there is"]
        raise ValueError(f"{path.name} is not a readable .parquet file: {words[0]}") from error


def _small_column(
    path: Path, file: Any, groups: list[Group], name: str, n: int, largest: int, most: int
) -> np.ndarray:
    """The whole of `ids`, `y_true` or `groups`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for group in groups:
        check_pages(path, group, name, largest)
    column = file.read(columns=[name], use_threads=False).column(0)
    kind = column.type
    if column.null_count:
        raise ValueError(
            f"{path.name}: column `{name}` must have no missing values; {column.null_count:,} are "
            "missing"
        )
    if pa.types.is_dictionary(
        kind
    ):  # few texts, many rows: look at the texts before there is one for each row
        longest = max(
            (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks),
            default=0,
        )
        if 4 * n * longest > most:
            raise ValueError(
                f"{path.name}: column `{name}` has {n:,} texts of up to {longest:,} bytes; such "
                "files are refused"
            )
        return np.array(column.to_pylist(), dtype=str)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        flat = column.combine_chunks().flatten()
        if (
            name != "y_true"
            or not pa.types.is_integer(kind.value_type)
            or flat.null_count
            or len(flat) % max(n, 1)
        ):
            raise TypeError(
                f"{path.name}: column `{name}` must hold whole numbers, or lists of them of one "
                f"length; got {kind}"
            )
        return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(n, -1)
    if not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        raise TypeError(
            f"{path.name}: column `{name}` must hold texts or whole numbers; got {kind}"
        )
    return np.asarray(column.to_numpy())
