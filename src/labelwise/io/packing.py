"""Results of many rows: kept in blocks while they are computed, then packed into one .npz, .zarr,
.parquet or .csv file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import fsum, prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._lazy import imported
from .atomic import check_place, replacing, replacing_folder
from .csv import csv_texts
from .on_disk import DType

FORMATS = (".npz", ".zarr", ".parquet", ".csv")
CSV_ROWS = 1 << 14
"""Rows of a .csv file that are turned into text at a time."""
Extra = dict[str, np.ndarray]
"""The ``class_names``, and ``ids`` if the rows have any."""


@dataclass(frozen=True)
class ResultBlocks:
    """Results of ``n`` rows in a folder, so many ``rows`` to a file: the columns one after another,
    as plain numbers.

    Files are there whole or not at all. So a job that was interrupted finds what it has finished,
    and equal jobs may write side by side.
    """

    folder: Path
    columns: dict[str, tuple[str, ...]]
    """The results by name, each with its axes in the order of the packed file: ``("instance",
    "label")``, more for images, and no ``label`` for sums over the labels.
    """
    sizes: dict[str, int]
    """How long each axis is."""
    dtype: DType
    rows: int

    @property
    def n(self) -> int:
        return self.sizes["instance"]

    def __len__(self) -> int:
        return max(1, -(-self.n // self.rows))

    def span(self, i: int) -> slice:
        """The rows of block ``i``."""
        return slice(i * self.rows, min((i + 1) * self.rows, self.n))

    def missing(self) -> list[int]:
        """The blocks that are still to be computed."""
        return [i for i in range(len(self)) if not self._block_path(i).is_file()]

    def write(self, i: int, results: dict[str, np.ndarray]) -> None:
        """Keep the results of block ``i``: (n, K) and (n,), of all instances in its rows."""
        with replacing(self._block_path(i)) as file:
            for name in self.columns:
                np.ascontiguousarray(results[name], self.dtype).tofile(file)

    def read(self, name: str, i: int) -> np.ndarray:
        """A column of block ``i``."""
        span, offset = self.span(i), 0
        sizes = self.sizes | {"instance": span.stop - span.start}
        for other, axes in self.columns.items():
            # a block has its labels last, as they were computed
            shape = [sizes[axis] for axis in sorted(axes, key="label".__eq__)]
            if other == name:
                break
            offset += prod(shape) * self.dtype.itemsize
        values = np.fromfile(self._block_path(i), self.dtype, prod(shape), offset=offset)
        values = values.reshape(shape)
        if "label" in axes:
            values = np.moveaxis(values, -1, axes.index("label"))
        return values

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a column in the packed file."""
        return tuple(self.sizes[axis] for axis in self.columns[name])

    def mean(self, name: str) -> float:
        """The mean of a column over all rows."""
        sums = [self.read(name, i).sum(dtype=np.float64) for i in range(len(self))]
        return fsum(sums) / max(prod(self.shape(name)), 1)

    def _block_path(self, i: int) -> Path:
        return self.folder / str(i)


def check_target(target: Path) -> Path:
    """Where the results will be; refuses what cannot be written, before anything is computed."""
    if target.suffix not in FORMATS:
        raise ValueError(
            f"results are written to {', '.join(FORMATS)}; got {target.name or str(target)!r}"
        )
    to_folder = target.suffix == ".zarr"
    if to_folder:
        imported("zarr", "writing .zarr needs zarr", "dask")
    elif target.suffix == ".parquet":
        imported("pyarrow", "writing .parquet needs pyarrow", "dask")
    place = check_place(target, folder=to_folder)
    is_group = (target / "zarr.json").is_file() or (target / ".zgroup").is_file()
    if to_folder and target.exists() and not is_group:
        raise FileExistsError(
            f"{str(target)!r} is not a Zarr group and is not replaced; move it away, or choose "
            "another output"
        )
    return place


def pack_results(target: Path, blocks: ResultBlocks, extra: Extra) -> dict[str, float]:
    """Write all blocks, with ``class_names`` and maybe ``ids``, to what replaces ``target``; the
    means of the columns that are sums over labels.
    """
    means = {}
    for name, axes in blocks.columns.items():
        if "label" not in axes:
            means[name] = blocks.mean(name)
    if target.suffix == ".zarr":
        with replacing_folder(target, inside=blocks.folder) as folder:
            _write_zarr(folder, blocks, extra)
        return means
    write = {".npz": _write_npz, ".parquet": _write_parquet, ".csv": _write_csv}[target.suffix]
    with replacing(target, inside=blocks.folder) as file:
        write(file, blocks, extra)
    return means


def _write_npz(file: IO[bytes], blocks: ResultBlocks, extra: Extra) -> None:
    def npz_entry(name: str) -> IO[bytes]:
        # its date is always the same: equal results, equal bytes
        return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)

    with zipfile.ZipFile(file, "w") as archive:
        for name, axes in blocks.columns.items():
            shape = blocks.shape(name)
            parts: Iterable[Any] = [...]
            if axes[0] == "label":  # of each label all blocks, then the next
                parts = range(shape[0])
            header = {"descr": blocks.dtype.str, "fortran_order": False, "shape": shape}
            with npz_entry(name) as out:
                np.lib.format.write_array_header_1_0(out, header)
                for part in parts:
                    for i in range(len(blocks)):
                        out.write(np.ascontiguousarray(blocks.read(name, i)[part]).data)
        for name, values in extra.items():
            with npz_entry(name) as out:
                np.lib.format.write_array(out, values, allow_pickle=False)


def _write_zarr(folder: Path, blocks: ResultBlocks, extra: Extra) -> None:
    """A chunk for each block. With the names of the axes, and the classes as `label`,
    xarray.open_zarr gives what `to_xarray` gives.
    """
    import zarr

    group = zarr.open_group(str(folder), mode="w", zarr_format=3)
    for name, axes in blocks.columns.items():
        chunks = list(blocks.shape(name))
        position = axes.index("instance")
        chunks[position] = max(blocks.span(0).stop, 1)
        array = group.create_array(
            name,
            shape=blocks.shape(name),
            chunks=tuple(chunks),
            dtype=blocks.dtype,
            dimension_names=axes,
        )
        for i in range(len(blocks)):
            before = (slice(None),) * position
            array[(*before, blocks.span(i))] = blocks.read(name, i)
    for name, coordinate, axis in (("class_names", "label", "label"), ("ids", "ids", "instance")):
        if name in extra:
            values = extra[name]
            dtype: Any = values.dtype
            if dtype.kind == "U":  # text of a fixed width has no specification in version 3
                dtype = str
            array = group.create_array(
                coordinate, shape=values.shape, dtype=dtype, dimension_names=(axis,)
            )
            array[:] = values


def _table_of_block(blocks: ResultBlocks, extra: Extra, i: int) -> dict[str, np.ndarray]:
    """Block ``i`` as columns, one for each class: ``log_total.melanoma``."""
    table = {}
    if "ids" in extra:
        table["id"] = extra["ids"][blocks.span(i)]
    for name, axes in blocks.columns.items():
        values = blocks.read(name, i)
        if "label" in axes:
            for k, label in enumerate(extra["class_names"]):
                table[f"{name}.{label}"] = np.ascontiguousarray(values[:, k])
        else:
            table[name] = values
    return table


def _write_parquet(file: IO[bytes], blocks: ResultBlocks, extra: Extra) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Hardly any number comes twice: a dictionary of them takes most of the time and makes the file
    # larger.
    schema = pa.table(_table_of_block(blocks, extra, 0)).schema
    with pq.ParquetWriter(file, schema, use_dictionary=["id"]) as writer:
        for i in range(len(blocks)):
            writer.write_table(pa.table(_table_of_block(blocks, extra, i)))


def _write_csv(file: IO[bytes], blocks: ResultBlocks, extra: Extra) -> None:
    file.writelines(map(str.encode, csv_texts(_rows_of_table(blocks, extra))))


def _rows_of_table(blocks: ResultBlocks, extra: Extra) -> Iterator[Iterable[Any]]:
    """The names of the columns, then their values row by row."""
    for i in range(len(blocks)):
        table = _table_of_block(blocks, extra, i)
        if i == 0:
            yield table
        for start in range(0, blocks.rows, CSV_ROWS):
            columns = [x[start : start + CSV_ROWS].tolist() for x in table.values()]
            yield from zip(*columns, strict=True)
