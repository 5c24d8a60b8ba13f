"""Where the results of a long computation go: staged block by block beside the final place, then
packed into one file.

The folder ``OUT.partial`` holds an .npy file for each result, and a list of finished blocks with
the checksums of the rows that they were computed from; a block is entered there only after its
values are on the disk. After a kill the list says what need not be computed again, as far as the
rows are still the same; nothing else in the folder is believed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from math import fsum, prod
from pathlib import Path
from typing import Any

import numpy as np

from .atomic import remove_leftovers, replacing, take_over_mode, write_file
from .csv import csv_text
from .files import open_regular
from .lock import locked
from .npz import _header, release, write_npz

FORMATS = (".npz", ".zarr", ".parquet", ".csv")
Columns = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
"""Results by name: the shape of one row (none: one number) and the type."""
_MARK = "labelwise-partial.txt"
_LOG = "done.txt"


@contextmanager
def reserved(target: Path) -> Iterator[None]:
    """Nobody else writes ``target`` meanwhile; what killed processes have left of it is gone."""
    with locked(
        target.with_name(f".{target.name}.labelwise.lock"),
        f"writing {str(target)!r}",
        "choose another output",
    ):
        remove_leftovers(target)
        yield


class Staging:
    """Results of N rows, written in blocks; only inside `reserved`."""

    def __init__(
        self,
        target: Path,
        job: dict[str, Any],
        columns: Columns,
        n: int,
        rows: int,
        axes: tuple[str, ...],
    ) -> None:
        self.target, self.columns, self.n, self.rows, self.axes = target, columns, n, rows, axes
        self.folder = target.with_name(target.name + ".partial")
        self.done: set[int] = set()
        self._claimed: dict[int, int] = {}
        self._arrays: dict[str, np.ndarray] = {}
        _check_replaceable(target)
        _check_ours(self.folder, target)
        description = json.dumps(job, sort_keys=True)
        job_file = self.folder / "job.json"
        if not (job_file.is_file() and job_file.read_text() == description and self._open()):
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(0o700)  # the results may replace a private file
            (self.folder / _MARK).write_text(
                f"Finished parts of {target.name}, which labelwise keeps here until all are "
                "there.\n"
            )
            try:
                self._create()
                write_file(job_file, description)  # last: without it the folder counts for nothing
            except OSError as error:  # most likely a full disk: do not keep it full
                shutil.rmtree(self.folder)
                raise OSError(
                    error.errno,
                    (
                        f"cannot keep the parts of {target.name!r} in {str(self.folder)!r}: "
                        f"{error.strerror or error}"
                    ),
                ) from error

    def _create(self) -> None:
        for name, (row, dtype) in self.columns.items():
            shape = (self.n, *row)
            size = int(np.prod(shape, dtype=object)) * dtype.itemsize
            path = self.folder / f"{name}.npy"
            with path.open("wb") as file:
                np.lib.format.write_array_header_1_0(
                    file, {"descr": dtype.str, "fortran_order": False, "shape": shape}
                )
                offset = file.tell()
                if size and hasattr(
                    os, "posix_fallocate"
                ):  # a full disk is an error now, not a crash of the process later
                    os.posix_fallocate(file.fileno(), 0, offset + size)
        self._map()

    def _map(self) -> None:
        for name, (row, _) in self.columns.items():
            path = self.folder / f"{name}.npy"
            self._arrays[name] = (
                np.empty((0, *row)) if self.n == 0 else np.lib.format.open_memmap(path, mode="r+")
            )

    def _open(self) -> bool:
        """Whether the folder holds what a former run left of the same job."""
        try:
            for (
                name,
                (row, dtype),
            ) in (
                self.columns.items()
            ):  # before mapping: a damaged header raises anything, or makes the file grow
                with open_regular(self.folder / f"{name}.npy") as file:
                    if _header(file, name) != ((self.n, *row), False, dtype):
                        return False
            self._map()
            log = self.folder / _LOG
            lines = (
                log.read_text().split("\n")[:-1] if log.exists() else []
            )  # a last line without its end was not finished
            self._claimed = {
                int(i): int(checksum) for i, checksum in (line.split() for line in lines)
            }
        except (OSError, ValueError):
            return False
        return all(0 <= i < -(-self.n // self.rows) for i in self._claimed)

    def confirm(self, checksum: Callable[[int, int], int], report: Callable[[], None]) -> None:
        """Take over the finished blocks of a former run whose rows still have the same checksum;
        the others are forgotten.
        """
        for i, before in sorted(self._claimed.items()):
            if checksum(i * self.rows, min((i + 1) * self.rows, self.n)) == before:
                self.done.add(i)
                report()
        if self.done != set(self._claimed):
            write_file(
                self.folder / _LOG, "".join(f"{i} {self._claimed[i]}\n" for i in sorted(self.done))
            )

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """Number, first row and end of the blocks that are still to be computed."""
        for i in range(-(-self.n // self.rows)):
            if i not in self.done:
                yield i, i * self.rows, min((i + 1) * self.rows, self.n)

    def write(self, i: int, parts: dict[str, np.ndarray], checksum: int) -> None:
        """Block ``i``, computed from rows with this checksum; it counts only when all of it is on
        the disk.
        """
        start = i * self.rows
        for name, array in self._arrays.items():
            array[start : start + self.rows] = parts[name]
            if isinstance(array, np.memmap):
                array.flush()
                release(array)
        with (self.folder / _LOG).open("a") as log:
            log.write(f"{i} {checksum}\n")
            log.flush()
            os.fsync(log.fileno())
        self.done.add(i)

    def mean(self, name: str) -> float:
        """The mean of a result over all rows."""
        array = self._arrays[name]
        step = max(1, (1 << 20) // max(prod(array.shape[1:]), 1))
        sums = []
        for start in range(0, len(array), step):
            sums.append(float(np.sum(array[start : start + step], dtype=np.float64)))
            release(array)
        return fsum(sums) / max(array.size, 1)

    def finish(self, extra: dict[str, np.ndarray], class_names: tuple[str, ...]) -> None:
        """Pack everything into the target, then remove the folder."""
        pack = {
            ".npz": self._npz,
            ".zarr": self._zarr,
            ".parquet": self._parquet,
            ".csv": self._csv,
        }[self.target.suffix]
        pack(extra, class_names)
        self._arrays.clear()
        shutil.rmtree(self.folder)

    def _npz(self, extra: dict[str, np.ndarray], class_names: tuple[str, ...]) -> None:
        with replacing(self.target) as file:
            arrays = {name: self._in_file(array) for name, array in self._arrays.items()}
            write_npz(file, {**arrays, "class_names": np.asarray(class_names), **extra})

    def _in_file(self, array: np.ndarray) -> np.ndarray:
        """Staged results, or some rows of them, with the axes of the file, where classes may come
        before the rows.
        """
        return (
            np.moveaxis(array, 1, 0)
            if self.axes[0] == "label" and array.ndim == len(self.axes)
            else array
        )

    @property
    def _step(self) -> int:
        """Rows of a piece in which results are packed."""
        width = sum(prod(row) * dtype.itemsize for row, dtype in self.columns.values())
        return max(1, (1 << 24) // max(width, 1))

    def _pieces(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.n, self._step):
            yield start, min(start + self._step, self.n)
            for array in self._arrays.values():
                release(array)

    def _zarr(self, extra: dict[str, np.ndarray], class_names: tuple[str, ...]) -> None:
        import zarr

        new = self.folder / "packed.zarr"
        shutil.rmtree(new, ignore_errors=True)
        group = zarr.open_group(str(new), mode="w", zarr_format=3)
        # with these names, and the classes as `label`, xarray.open_zarr gives what `to_xarray`
        # gives
        axes = {
            len(self.axes): self.axes,
            len(self.axes) - 1: tuple(name for name in self.axes if name != "label"),
        }
        chunk = min(max(self.n, 1), self._step)
        out = {}
        for name, array in self._arrays.items():
            whole = self._in_file(array)
            chunks = tuple(
                chunk if axis == "instance" else length
                for axis, length in zip(axes[array.ndim], whole.shape, strict=True)
            )
            out[name] = group.create_array(
                name,
                shape=whole.shape,
                dtype=array.dtype,
                chunks=chunks,
                dimension_names=axes[array.ndim],
            )
        for start, stop in self._pieces():
            for name, array in self._arrays.items():
                place = tuple(
                    slice(start, stop) if axis == "instance" else slice(None)
                    for axis in axes[array.ndim]
                )
                out[name][place] = self._in_file(np.asarray(array[start:stop]))
        group.attrs["class_names"] = list(class_names)
        for name, values, axis in (
            ("label", np.asarray(class_names), "label"),
            *((name, x, "instance") for name, x in extra.items()),
        ):
            dtype = (
                str if values.dtype.kind == "U" else values.dtype
            )  # text of a fixed width has no specification in version 3
            group.create_array(name, shape=values.shape, dtype=dtype, dimension_names=(axis,))[
                :
            ] = values
        take_over_mode(new, self.target)
        if self.target.exists():
            replaced = self.folder / "replaced.zarr"
            shutil.rmtree(replaced, ignore_errors=True)
            self.target.rename(replaced)
        new.rename(self.target)

    def _parquet(self, extra: dict[str, np.ndarray], class_names: tuple[str, ...]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with replacing(self.target) as file:
            writer = None
            for start, stop in self._pieces() if self.n else [(0, 0)]:
                table = pa.table(self._flat(start, stop, extra, class_names))
                # Hardly any number comes twice: a dictionary of them takes most of the time and
                # makes the file larger.
                writer = writer or pq.ParquetWriter(file, table.schema, use_dictionary=list(extra))
                writer.write_table(table)
            if writer is not None:
                writer.close()

    def _csv(self, extra: dict[str, np.ndarray], class_names: tuple[str, ...]) -> None:
        with replacing(self.target) as file:
            for start, stop in self._pieces() if self.n else [(0, 0)]:
                table = self._flat(start, stop, extra, class_names)
                text = csv_text(
                    list(table), zip(*(values.tolist() for values in table.values()), strict=True)
                )
                file.write((text if start == 0 else text.partition("\r\n")[2]).encode())

    def _flat(
        self, start: int, stop: int, extra: dict[str, np.ndarray], class_names: tuple[str, ...]
    ) -> dict[str, np.ndarray]:
        """Some rows as columns, one for each class: ``log_total.melanoma``."""
        table = {
            name: values[start:stop] for name, values in extra.items() if len(values) == self.n
        }
        for name, array in self._arrays.items():
            part = np.asarray(array[start:stop])
            if part.ndim == 1:
                table[name] = part
            else:
                table.update(
                    {
                        f"{name}.{label}": np.ascontiguousarray(part[:, k])
                        for k, label in enumerate(class_names)
                    }
                )
        return table


def check_can_write(target: Path) -> None:
    """Whether the libraries for writing ``target`` are there: said before anything is computed."""
    if target.suffix not in FORMATS:
        raise ValueError(
            f"results are written to {', '.join(FORMATS)}; got {target.name or str(target)!r}"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {target.name!r}: there is no folder {str(target.parent)!r}"
        )
    needed = {".zarr": "zarr", ".parquet": "pyarrow"}.get(target.suffix)
    if needed is not None and find_spec(needed) is None:
        raise ImportError(
            f"writing {target.suffix} needs {needed}; install it with: pip install "
            '"labelwise[dask]", or write .npz or .csv'
        )


def _check_replaceable(target: Path) -> None:
    """A folder is replaced only if it is what stands there after a former call: a Zarr group."""
    if target.suffix != ".zarr":
        if target.is_dir():
            raise IsADirectoryError(f"cannot write {str(target)!r}: it is a folder")
    elif target.exists() and not (
        target.is_dir() and any((target / name).is_file() for name in (".zgroup", "zarr.json"))
    ):
        raise FileExistsError(
            f"{str(target)!r} is not a Zarr group and is not replaced; move it away, or choose "
            "another output"
        )


def _check_ours(folder: Path, target: Path) -> None:
    """Whatever else is called like the folder of a former run is not touched."""
    if not folder.exists() and not folder.is_symlink():
        return
    empty_or_marked = (
        folder.is_dir()
        and not folder.is_symlink()
        and ((folder / _MARK).is_file() or not any(folder.iterdir()))
    )
    if not empty_or_marked:
        raise FileExistsError(
            f"{str(folder)!r}, where the parts of {target.name!r} would be kept, was not made by "
            "labelwise and is not touched; "
            "move it away, or choose another output"
        )
