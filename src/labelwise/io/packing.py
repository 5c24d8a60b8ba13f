"""Results of many rows: kept in blocks while they are computed, then packed into one .npz, .zarr,
.parquet or .csv file.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from math import fsum, prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from .atomic import check_place, replacing, replacing_folder
from .csv import cell

__all__ = ["FORMATS", "Blocks", "check_target", "pack"]

FORMATS = (".npz", ".zarr", ".parquet", ".csv")
CSV_ROWS = 1 << 14
"""Rows of a .csv file that are turned into text at a time."""
Extra = dict[str, np.ndarray]
"""The ``class_names``, and ``ids`` if the rows have any."""


@dataclass(frozen=True)
class Blocks:
    """Results of ``n`` rows in a folder, so many ``rows`` to a file: the columns one after another,
    as plain numbers.

    Files are there whole or not at all. So a job that was interrupted finds what it has finished,
    and equal jobs may write side by side.
    """

    folder: Path
    columns: dict[str, tuple[int, ...]]
    """The results by name, each with the shape of one row; sums over labels have an axis less."""
    axes: tuple[str, ...]
    """Names of the axes of label-wise results, as in ``("instance", "label")``: in the packed file
    the labels may come first, in blocks the rows do.
    """
    dtype: np.dtype[Any]
    n: int
    rows: int

    def __len__(self) -> int:
        return max(1, -(-self.n // self.rows))

    def span(self, i: int) -> slice:
        """The rows of block ``i``."""
        return slice(i * self.rows, min((i + 1) * self.rows, self.n))

    def missing(self) -> list[int]:
        """The blocks that are still to be computed."""
        return [i for i in range(len(self)) if not self._path(i).is_file()]

    def write(self, i: int, results: dict[str, np.ndarray]) -> None:
        """Keep the results of block ``i``: (n, K) and (n,), of all instances in its rows."""
        label = max(self.axes.index("label"), 1)  # in blocks, rows come first
        with replacing(self._path(i)) as file:
            for name, row in self.columns.items():
                values = results[name]
                if values.ndim == 2:
                    values = values.reshape(-1, *row[: label - 1], *row[label:], values.shape[1])
                    values = np.moveaxis(values, -1, label)
                np.ascontiguousarray(values, self.dtype).tofile(file)

    def read(self, name: str, i: int) -> np.ndarray:
        """A column of block ``i``."""
        span, before = self.span(i), 0
        n = span.stop - span.start
        for other, row in self.columns.items():
            if other == name:
                break
            before += n * prod(row)
        offset = before * self.dtype.itemsize
        values = np.fromfile(self._path(i), self.dtype, n * prod(row), offset=offset)
        return values.reshape(n, *row)

    def mean(self, name: str) -> float:
        """The mean of a column over all rows."""
        sums = [self.read(name, i).sum(dtype=np.float64) for i in range(len(self))]
        return fsum(sums) / max(self.n * prod(self.columns[name]), 1)

    def axes_of(self, name: str) -> tuple[str, ...]:
        """Names of the axes of a column in the packed file."""
        labelwise = len(self.columns[name]) + 1 == len(self.axes)
        return self.axes if labelwise else tuple(axis for axis in self.axes if axis != "label")

    def _path(self, i: int) -> Path:
        return self.folder / str(i)


def check_target(target: Path) -> None:
    """Refuse what cannot be written, before anything is computed."""
    if target.suffix not in FORMATS:
        raise ValueError(
            f"results are written to {', '.join(FORMATS)}; got {target.name or str(target)!r}"
        )
    needed = {".zarr": "zarr", ".parquet": "pyarrow"}.get(target.suffix)
    if needed is not None and find_spec(needed) is None:
        raise ImportError(
            f"writing {target.suffix} needs {needed}; install it with: pip install "
            '"labelwise[dask]", or write .npz or .csv'
        )
    check_place(target, folder=target.suffix == ".zarr")
    is_group = (target / "zarr.json").is_file() or (target / ".zgroup").is_file()
    if target.suffix == ".zarr" and target.exists() and not is_group:
        raise FileExistsError(
            f"{str(target)!r} is not a Zarr group and is not replaced; move it away, or choose "
            "another output"
        )


def pack(target: Path, blocks: Blocks, extra: Extra) -> dict[str, float]:
    """Write all blocks, with ``class_names`` and maybe ``ids``, to what replaces ``target``; the
    means of the columns that are sums over labels.
    """
    means = {name: blocks.mean(name) for name in blocks.columns if "_sum_" in name}
    if target.suffix == ".zarr":
        with replacing_folder(target, inside=blocks.folder) as folder:
            _write_zarr(folder, blocks, extra)
        return means
    write = {".npz": _write_npz, ".parquet": _write_parquet, ".csv": _write_csv}[target.suffix]
    with replacing(target, inside=blocks.folder) as file:
        write(file, blocks, extra)
    return means


def _write_npz(file: IO[bytes], blocks: Blocks, extra: Extra) -> None:
    def entry(name: str) -> IO[bytes]:  # its date is always the same: equal results, equal bytes
        return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)

    with zipfile.ZipFile(file, "w") as archive:
        for name, row in blocks.columns.items():
            shape = (blocks.n, *row)
            parts: list[Any] = [...]
            if blocks.axes_of(name)[0] == "label":
                shape = (row[0], blocks.n, *row[1:])
                parts = [np.s_[:, k] for k in range(row[0])]
            header = {"descr": blocks.dtype.str, "fortran_order": False, "shape": shape}
            with entry(name) as out:
                np.lib.format.write_array_header_1_0(out, header)
                for part in parts:
                    for i in range(len(blocks)):
                        out.write(np.ascontiguousarray(blocks.read(name, i)[part]).data)
        for name, values in extra.items():
            with entry(name) as out:
                np.lib.format.write_array(out, values, allow_pickle=False)


def _write_zarr(folder: Path, blocks: Blocks, extra: Extra) -> None:
    """A chunk for each block. With the names of the axes, and the classes as `label`,
    xarray.open_zarr gives what `to_xarray` gives.
    """
    import zarr

    group = zarr.open_group(str(folder), mode="w", zarr_format=3)
    for name, row in blocks.columns.items():
        axes = blocks.axes_of(name)
        at = axes.index("instance")
        rows = blocks.span(0).stop or 1
        array = group.create_array(
            name,
            shape=(*row[:at], blocks.n, *row[at:]),
            chunks=(*row[:at], rows, *row[at:]),
            dtype=blocks.dtype,
            dimension_names=axes,
        )
        for i in range(len(blocks)):
            place = (slice(None),) * at + (blocks.span(i),)
            array[place] = np.moveaxis(blocks.read(name, i), 0, at)
    for name, values in extra.items():
        # text of a fixed width has no specification in version 3
        dtype = str if values.dtype.kind == "U" else values.dtype
        coordinate, axis = ("ids", "instance") if name == "ids" else ("label", "label")
        array = group.create_array(
            coordinate, shape=values.shape, dtype=dtype, dimension_names=(axis,)
        )
        array[:] = values


def _tables(blocks: Blocks, extra: Extra) -> Iterator[dict[str, np.ndarray]]:
    """The blocks as columns, one for each class: ``log_total.melanoma``."""
    for i in range(len(blocks)):
        table = {"ids": extra["ids"][blocks.span(i)]} if "ids" in extra else {}
        for name, row in blocks.columns.items():
            values = blocks.read(name, i)
            if row:
                by_class = zip(extra["class_names"], np.ascontiguousarray(values.T), strict=True)
                table |= {f"{name}.{label}": column for label, column in by_class}
            else:
                table[name] = values
        yield table


def _write_parquet(file: IO[bytes], blocks: Blocks, extra: Extra) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = map(pa.table, _tables(blocks, extra))
    first = next(tables)
    # Hardly any number comes twice: a dictionary of them takes most of the time and makes the file
    # larger.
    with pq.ParquetWriter(file, first.schema, use_dictionary=["ids"]) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _write_csv(file: IO[bytes], blocks: Blocks, extra: Extra) -> None:
    # half of a surrogate pair has no place in a file
    text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
    writer = csv.writer(text)
    for i, table in enumerate(_tables(blocks, extra)):
        if i == 0:
            writer.writerow([cell(name) for name in table])
        for start in range(0, blocks.rows, CSV_ROWS):
            columns = [x[start : start + CSV_ROWS].tolist() for x in table.values()]
            writer.writerows([cell(value) for value in row] for row in zip(*columns, strict=True))
    text.detach()
