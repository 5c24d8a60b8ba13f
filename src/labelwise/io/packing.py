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
from math import fsum, prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from .atomic import check_place, replacing, replacing_folder
from .csv import cell

__all__ = ["FORMATS", "Blocks", "check_target", "pack"]

FORMATS = (".npz", ".zarr", ".parquet", ".csv")
CHUNK = 1 << 22
"""Bytes of a chunk of a .zarr file, before compression."""
CSV_ROWS = 1 << 14
"""Rows of a .csv file that are turned into text at a time."""


@dataclass(frozen=True)
class Blocks:
    """Results of ``n`` rows in a folder, so many ``rows`` to a block, with a file for each column.

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
        return [
            i
            for i in range(len(self))
            if not all(self._path(name, i).is_file() for name in self.columns)
        ]

    def write(self, i: int, results: dict[str, np.ndarray]) -> None:
        """Keep the results of block ``i``."""
        try:
            for name in self.columns:
                with replacing(self._path(name, i)) as file:
                    np.save(file, results[name].astype(self.dtype, copy=False))
        except FileNotFoundError:
            raise
        except OSError as error:  # most likely a full disk
            raise OSError(
                error.errno,
                f"cannot keep finished blocks in {str(self.folder)!r}: {error.strerror or error}",
            ) from error

    def read(self, name: str, i: int) -> np.ndarray:
        """A column of block ``i``, mapped."""
        column: np.ndarray = np.load(self._path(name, i), mmap_mode="r")
        return column

    def mean(self, name: str) -> float:
        """The mean of a column over all rows."""
        sums = [self.read(name, i).sum(dtype=np.float64) for i in range(len(self))]
        return fsum(sums) / max(self.n * prod(self.columns[name]), 1)

    def axes_of(self, name: str) -> tuple[str, ...]:
        """Names of the axes of a column in the packed file."""
        labelwise = len(self.columns[name]) + 1 == len(self.axes)
        return self.axes if labelwise else tuple(axis for axis in self.axes if axis != "label")

    def _path(self, name: str, i: int) -> Path:
        return self.folder / f"{name}.{i}.npy"


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
    groups = [target / name for name in (".zgroup", "zarr.json")]
    if target.suffix == ".zarr" and target.exists() and not any(x.is_file() for x in groups):
        raise FileExistsError(
            f"{str(target)!r} is not a Zarr group and is not replaced; move it away, or choose "
            "another output"
        )


def pack(target: Path, blocks: Blocks, extra: dict[str, np.ndarray]) -> None:
    """Write all blocks, with ``class_names`` and maybe ``ids``, to a file that replaces
    ``target``.
    """
    if target.suffix == ".zarr":
        with replacing_folder(target, inside=blocks.folder) as folder:
            _write_zarr(folder, blocks, **extra)
        return
    with replacing(target, inside=blocks.folder) as file:
        if target.suffix == ".npz":
            _write_npz(file, blocks, extra)
        elif target.suffix == ".parquet":
            _write_parquet(file, blocks, **extra)
        else:
            _write_csv(file, blocks, **extra)


def _write_npz(file: IO[bytes], blocks: Blocks, extra: dict[str, np.ndarray]) -> None:
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


def _write_zarr(
    folder: Path, blocks: Blocks, class_names: np.ndarray, ids: np.ndarray | None = None
) -> None:
    """With the names of the axes, and the classes as `label`, xarray.open_zarr gives what
    `to_xarray` gives.
    """
    import zarr

    group = zarr.open_group(str(folder), mode="w", zarr_format=3)
    group.attrs["class_names"] = class_names.tolist()

    def create(
        name: str, shape: tuple[int, ...], dtype: Any, axes: tuple[str, ...], **how: Any
    ) -> Any:
        return group.create_array(name, shape=shape, dtype=dtype, dimension_names=axes, **how)

    for name, row in blocks.columns.items():
        axes = blocks.axes_of(name)
        at = axes.index("instance")
        row_size = prod(row) * blocks.dtype.itemsize
        chunk = min(blocks.rows, max(blocks.n, 1), CHUNK // max(row_size, 1) + 1)
        shape, chunks = ((*row[:at], n, *row[at:]) for n in (blocks.n, chunk))
        array = create(name, shape, blocks.dtype, axes, chunks=chunks)
        for i in range(len(blocks)):
            place = (slice(None),) * at + (blocks.span(i),)
            array[place] = np.moveaxis(blocks.read(name, i), 0, at)
    # text of a fixed width has no specification in version 3
    create("label", class_names.shape, str, ("label",))[:] = class_names
    if ids is not None:
        dtype = str if ids.dtype.kind == "U" else ids.dtype
        create("ids", ids.shape, dtype, ("instance",))[:] = ids


def _tables(
    blocks: Blocks, class_names: np.ndarray, ids: np.ndarray | None
) -> Iterator[dict[str, np.ndarray]]:
    """The blocks as columns, one for each class: ``log_total.melanoma``."""
    for i in range(len(blocks)):
        table = {} if ids is None else {"ids": ids[blocks.span(i)]}
        for name, row in blocks.columns.items():
            values = blocks.read(name, i)
            if row:
                parts = np.ascontiguousarray(values.T)
                table |= {f"{name}.{c}": x for c, x in zip(class_names, parts, strict=True)}
            else:
                table[name] = values
        yield table


def _write_parquet(
    file: IO[bytes], blocks: Blocks, class_names: np.ndarray, ids: np.ndarray | None = None
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for columns in _tables(blocks, class_names, ids):
        table = pa.table(columns)
        # Hardly any number comes twice: a dictionary of them takes most of the time and makes the
        # file larger.
        writer = writer or pq.ParquetWriter(file, table.schema, use_dictionary=["ids"])
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _write_csv(
    file: IO[bytes], blocks: Blocks, class_names: np.ndarray, ids: np.ndarray | None = None
) -> None:
    # half of a surrogate pair has no place in a file
    text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
    writer = csv.writer(text)
    for i, table in enumerate(_tables(blocks, class_names, ids)):
        if i == 0:
            writer.writerow([cell(name) for name in table])
        for start in range(0, blocks.rows, CSV_ROWS):
            columns = [x[start : start + CSV_ROWS].tolist() for x in table.values()]
            writer.writerows([cell(value) for value in row] for row in zip(*columns, strict=True))
    text.detach()
