"""Predictions read a block of instances at a time, from every format: .npz, .npy, .zarr, .parquet.

A .zarr group holds `probs` (M, N, K) or `alpha` (N, K) and the other arrays of a prediction file. A .parquet file has a row for each
instance, with a column `probs` of lists of M · K numbers, member by member (or `alpha` of K numbers), and `members` in the
metadata of its schema; further columns are `y_true` and `ids`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._npz import release
from ._reading import reading
from .io import Predictions, load_predictions

FORMATS = (".npz", ".npy", ".zarr", ".parquet")
LARGEST_BLOCK = 1 << 31  # bytes: what a file's own chunking may make us hold


@dataclass(frozen=True, eq=False)
class Source:
    """Stored predictions: their shape, and how to read some of them."""

    path: Path
    kind: str
    """``"probs"`` or ``"alpha"``."""
    shape: tuple[int, ...]
    """(M, N, K) or (N, K)."""
    dtype: np.dtype[Any]
    class_names: tuple[str, ...] | None
    ids: Any
    """What the instances are called, (N,), or ``None``; sliced like an array."""
    y_true: np.ndarray | None
    """True labels, (N,) or (N, K), or ``None``."""
    _values: Any
    _weights: np.ndarray | None

    @property
    def n_instances(self) -> int:
        return int(self.shape[-2])

    @property
    def n_classes(self) -> int:
        return int(self.shape[-1])

    @property
    def bytes_per_instance(self) -> int:
        return int(np.prod(self.shape, dtype=object)) // max(self.n_instances, 1) * self.dtype.itemsize

    def rows(self, start: int, stop: int) -> Predictions:
        """The instances from ``start`` to before ``stop``, in memory."""
        with reading(self.path):
            part = self._values[:, start:stop] if self.kind == "probs" else self._values[start:stop]
            block = np.array(part)
        release(self._values)
        weights = self._weights
        if weights is not None and weights.ndim == 2:
            weights = np.array(weights[:, start:stop])
            release(self._weights)
        several = self.y_true is not None and self.y_true.ndim == 2  # the labels say what kind of predictions these are
        truth = self.y_true[start:stop] if several and self.y_true is not None else None
        return Predictions(**{self.kind: block}, y_true=truth, weights=weights, class_names=self.class_names)

    @property
    def weighted(self) -> bool:
        return self._weights is not None


def open_source(path: str | Path) -> Source:
    """The predictions in a file, not yet read."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise ValueError(f"predictions are read from {', '.join(FORMATS)}; got {path.name!r}")
    with reading(path):
        return {".zarr": _zarr, ".parquet": _parquet}.get(path.suffix, _npz)(path)


def _npz(path: Path) -> Source:
    stored = load_predictions(path)
    kind = "alpha" if stored.probs is None else "probs"
    values = getattr(stored, kind)
    return Source(path, kind, values.shape, values.dtype, stored.class_names, stored.ids, stored.y_true, values, stored.weights)


def _zarr(path: Path) -> Source:
    try:
        import zarr
    except ImportError as error:
        raise ImportError('.zarr files need zarr; install it with: pip install "labelwise[dask]"') from error
    if not path.exists():
        raise FileNotFoundError(f"there are no predictions {str(path)!r}")
    try:
        group = zarr.open_group(str(path), mode="r")
    except (ValueError, KeyError, TypeError, OSError, zarr.errors.GroupNotFoundError) as error:
        raise ValueError(f"{path.name} is not a zarr group: {error}") from error
    kind = "probs" if "probs" in group else "alpha"
    if kind not in group:
        raise ValueError(f"{path.name} must hold `probs` (M, N, K) or `alpha` (N, K); it holds {', '.join(sorted(group)) or 'nothing'}")
    values: Any = group[kind]
    if values.dtype.kind != "f":
        raise TypeError(f"{path.name}: `{kind}` must be floating point; got {values.dtype}")
    chunk = int(np.prod(values.chunks, dtype=object)) * values.dtype.itemsize
    if chunk > LARGEST_BLOCK:
        raise ValueError(f"{path.name}: a chunk of `{kind}` takes {chunk:,} bytes; store it in chunks of fewer instances")
    names = group["class_names"][:] if "class_names" in group else group.attrs.get("class_names")
    weights = np.asarray(group["weights"][:]) if "weights" in group else None
    ids, y_true = (_Lazy(path, group["ids"]) if "ids" in group else None), group.get("y_true")
    truth = None if y_true is None else np.asarray(y_true[:])
    return _checked(path, kind, values.shape, values.dtype, names, ids, truth, values, weights)


@dataclass(frozen=True, eq=False)
class _Lazy:
    """An array that is read when it is sliced."""

    path: Path
    array: Any

    def __getitem__(self, key: Any) -> np.ndarray:
        with reading(self.path):
            return np.asarray(self.array[key])


@dataclass(frozen=True, eq=False)
class _ParquetColumn:
    """Lists of numbers in the rows of a parquet file, as an array (M, N, K) or (N, K) that can be sliced by instance."""

    file: Any
    name: str
    width: int
    members: int | None
    starts: np.ndarray
    """The first row of each row group, and the number of rows."""
    dtype: np.dtype[Any]

    def __getitem__(self, key: Any) -> np.ndarray:
        rows = key[1] if isinstance(key, tuple) else key
        start, stop = rows.start, min(rows.stop, int(self.starts[-1]))
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        last = int(np.searchsorted(self.starts, stop, side="left"))
        table = self.file.read_row_groups(list(range(first, last)), columns=[self.name])
        column = table.column(0).slice(start - int(self.starts[first]), stop - start).combine_chunks()
        flat = column.flatten() if hasattr(column, "flatten") else column
        values = flat.to_numpy(zero_copy_only=False).astype(self.dtype, copy=False)
        if values.size != (stop - start) * self.width:
            raise ValueError(f"column `{self.name}` must hold {self.width} numbers in every row; rows {start} to {stop} hold {values.size}")
        block = values.reshape(stop - start, self.width)
        if self.members is None:
            return np.asarray(block)
        return np.asarray(block.reshape(stop - start, self.members, -1).transpose(1, 0, 2))


def _parquet(path: Path) -> Source:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError('.parquet files need pyarrow; install it with: pip install "labelwise[dask]"') from error
    if not path.is_file():
        raise FileNotFoundError(f"there are no predictions {str(path)!r}")
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path.name} is not a readable .parquet file: {error}") from error
    schema = file.schema_arrow
    kind = "probs" if "probs" in schema.names else "alpha"
    if kind not in schema.names:
        raise ValueError(f"{path.name} must have a column `probs` or `alpha`; it has {', '.join(schema.names[:8])}")
    field = schema.field(kind)
    if not (pa.types.is_list(field.type) or pa.types.is_fixed_size_list(field.type) or pa.types.is_large_list(field.type)):
        raise TypeError(f"{path.name}: column `{kind}` must hold lists of numbers; got {field.type}")
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items() if not key.startswith((b"ARROW", b"pandas"))}
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    largest = max((g.total_byte_size for g in groups), default=0)
    if largest > LARGEST_BLOCK:
        raise ValueError(f"{path.name}: a row group takes {largest:,} bytes; write it with a smaller row_group_size")
    starts = np.cumsum([0, *(g.num_rows for g in groups)])
    n = int(starts[-1])
    width = field.type.list_size if pa.types.is_fixed_size_list(field.type) else _first_length(file, kind)
    members = None
    if kind == "probs":
        if not metadata.get("members", "").isdigit() or int(metadata["members"]) < 1 or width % int(metadata["members"]):
            raise ValueError(
                f"{path.name}: the metadata of its schema must say how many `members` the {width} numbers of `probs` belong to"
            )
        members = int(metadata["members"])
    dtype = np.dtype({pa.float64(): "f8", pa.float32(): "f4", pa.float16(): "f2"}.get(field.type.value_type, "O"))
    if dtype.kind != "f":
        raise TypeError(f"{path.name}: column `{kind}` must hold floating-point numbers; got {field.type}")
    column = _ParquetColumn(file, kind, width, members, starts, dtype)
    names = metadata.get("class_names", "").split("\n") if metadata.get("class_names") else None
    shape = (n, width) if members is None else (members, n, width // members)
    ids = np.asarray(file.read(columns=["ids"]).column(0).to_pylist()) if "ids" in schema.names else None
    truth = np.asarray(file.read(columns=["y_true"]).column(0).to_pylist()) if "y_true" in schema.names else None
    return _checked(path, kind, shape, dtype, names, ids, truth, column, None)


def _first_length(file: Any, name: str) -> int:
    if file.metadata.num_rows == 0:
        return 0
    first = next(file.iter_batches(batch_size=1, columns=[name])).column(0)
    return len(first[0].as_py() or ())


def _checked(path: Path, kind: str, shape: Any, dtype: Any, names: Any, ids: Any, y_true: Any, values: Any, weights: Any) -> Source:
    """A source whose shapes fit together: the same checks as for any prediction file, on an empty block."""
    shape = tuple(int(n) for n in shape)
    if len(shape) != (3 if kind == "probs" else 2):
        words = "(members, instances, classes)" if kind == "probs" else "(instances, classes)"
        raise ValueError(f"{path.name}: `{kind}` must have the axes {words}; got shape {shape}")
    named = None if names is None else tuple(str(name) for name in names)
    if weights is not None and weights.shape not in ((shape[0],), shape[:2]):
        raise ValueError(f"{path.name}: `weights` must have shape (M,) or (M, N) of `probs` {shape}; got {weights.shape}")
    Predictions(**{kind: np.empty((*shape[:-2], 0, shape[-1]), dtype)}, class_names=named)
    return Source(path, kind, shape, np.dtype(dtype), named, ids, y_true, values, weights)
