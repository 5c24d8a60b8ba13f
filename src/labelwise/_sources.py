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
from ._parquet import open_parquet
from ._reading import reading
from ._zarr import check_size, open_group
from .io import Predictions, load_predictions

FORMATS = (".npz", ".npy", ".zarr", ".parquet")
SMALL_BLOCK, LARGEST_BLOCK = 1 << 24, 1 << 29  # bytes: what a file's own chunking may always, and never, make us hold


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


def open_source(path: str | Path, *, memory: int = 1 << 30) -> Source:
    """The predictions in a file, not yet read.

    A chunk or page of the file that takes more than half of ``memory`` (and more than 16 MiB) is refused: it could only be decoded whole.
    """
    path = Path(path)
    largest = min(max(memory // 2, SMALL_BLOCK), LARGEST_BLOCK)
    if path.suffix not in FORMATS:
        raise ValueError(f"predictions are read from {', '.join(FORMATS)}; got {path.name!r}")
    with reading(path):
        if path.suffix == ".zarr":
            return _zarr(path, largest)
        if path.suffix == ".parquet":
            column = open_parquet(path, largest)
            return _checked(path, column.name, column.shape, column.dtype, column.class_names, column.ids, column.y_true, column, None)
        return _npz(path)


def _npz(path: Path) -> Source:
    stored = load_predictions(path)
    kind = "alpha" if stored.probs is None else "probs"
    values = getattr(stored, kind)
    return Source(path, kind, values.shape, values.dtype, stored.class_names, stored.ids, stored.y_true, values, stored.weights)


def _zarr(path: Path, largest: int) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"there are no predictions {str(path)!r}")
    group = open_group(path)
    kind = "probs" if "probs" in group else "alpha"
    arrays = {name: array for name in (kind, "class_names", "weights", "ids", "y_true") if (array := group.array(name)) is not None}
    if kind not in arrays:
        raise ValueError(f"{path.name} must hold `probs` (M, N, K) or `alpha` (N, K); it holds {', '.join(group.names()[:8]) or 'nothing'}")
    values = arrays[kind]
    if values.dtype.kind != "f":
        raise TypeError(f"{path.name}: `{kind}` must be floating point; got {values.dtype}")
    for name, array in arrays.items():
        if array.chunk_nbytes > largest:
            raise ValueError(
                f"{path.name}: a chunk of `{name}` takes {array.chunk_nbytes:,} bytes, where {largest:,} are allowed; store it in smaller "
                "chunks, or allow more memory"
            )
    check_size(path, list(arrays.values()))
    names = arrays["class_names"][:].tolist() if "class_names" in arrays else group.attributes.get("class_names")
    weights, y_true = (arrays[name][:] if name in arrays else None for name in ("weights", "y_true"))
    return _checked(path, kind, values.shape, values.dtype, names, arrays.get("ids"), y_true, values, weights)


def _checked(path: Path, kind: str, shape: Any, dtype: Any, names: Any, ids: Any, y_true: Any, values: Any, weights: Any) -> Source:
    """A source whose shapes fit together: the same checks as for any prediction file, on an empty block."""
    shape = tuple(int(n) for n in shape)
    if len(shape) != (3 if kind == "probs" else 2):
        words = "(members, instances, classes)" if kind == "probs" else "(instances, classes)"
        raise ValueError(f"{path.name}: `{kind}` must have the axes {words}; got shape {shape}")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise TypeError(f"{path.name}: `class_names` must be a list of texts; got {names!r:.200}")
    named = None if names is None else tuple(names)
    if weights is not None and weights.shape not in ((shape[0],), shape[:2]):
        raise ValueError(f"{path.name}: `weights` must have shape (M,) or (M, N) of `probs` {shape}; got {weights.shape}")
    for name, rows in (("ids", ids), ("y_true", y_true)):
        if rows is not None and tuple(rows.shape[:1]) != (shape[-2],):
            raise ValueError(
                f"{path.name}: `{name}` must have one entry for each of the {shape[-2]} instances; got shape {tuple(rows.shape)}"
            )
    try:
        Predictions(**{kind: np.empty((*shape[:-2], 0, shape[-1]), dtype)}, class_names=named)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    return Source(path, kind, shape, np.dtype(dtype), named, ids, y_true, values, weights)
