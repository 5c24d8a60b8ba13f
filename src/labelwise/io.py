"""Prediction files: the only module that opens files of the user's.

A prediction file holds ``probs`` (M, N, K) or ``alpha`` (N, K), and optionally ``y_true`` (N,), ``class_names`` (K,), ``ids`` (N,),
``weights`` (M,) or (M, N) and ``images`` (N, H, W) or (N, H, W, C). Labels are positions 0 … K − 1; where all class names are integers,
such as 3, 4 and 5, they are these. For labels that may occur together ``y_true`` is (N, K), 0 or 1.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array, check_names, to_numpy
from ._atomic import replacing
from ._files import open_regular
from ._labels import positions
from ._npz import opened_archive, read_npy, read_npz, release, write_npy, write_npz

if TYPE_CHECKING:
    from .distributions import Dirichlet, Ensemble, MultiLabelEnsemble


@dataclass(frozen=True, eq=False)
class Predictions:
    """The content of a prediction file; large arrays may be read-only memory maps.

    Shapes and types are checked here; that the probabilities are probabilities is checked where they are used,
    by :meth:`distribution`, so that a file larger than memory can be worked through in blocks.

    Examples
    --------
    >>> p = Predictions(probs=np.full((5, 3, 2), 0.5), class_names=("healthy", "ill"))
    >>> len(p), p.n_classes, p.distribution().n_members
    (3, 2, 5)
    """

    probs: Array | None = None
    """Class probabilities of M members, (M, N, K)."""
    alpha: Array | None = None
    """Parameters of a Dirichlet distribution for each instance, (N, K)."""
    y_true: Array | None = None
    """Labels, (N,): positions 0 … K − 1, or the classes' own numbers where all ``class_names`` are integers (see `true_class`). For
    labels that may occur together 0 or 1 for each, (N, K)."""
    class_names: tuple[str, ...] | None = None
    ids: Array | None = None
    """What the user calls the instances, (N,)."""
    weights: Array | None = None
    """Weights of the members, (M,) or (M, N)."""
    images: Array | None = None
    """(N, H, W) or (N, H, W, C)."""

    def __post_init__(self) -> None:
        if (self.probs is None) == (self.alpha is None):
            raise ValueError(f"predictions have either `probs` (M, N, K) or `alpha` (N, K); got {'both' if self.n_classes else 'none'}")
        name, axes = ("probs", 3) if self.alpha is None else ("alpha", 2)
        values = self._values
        if values.dtype.kind != "f":
            raise TypeError(f"`{name}` must be floating point; got {values.dtype}")
        if values.ndim != axes:
            words = "(members, instances, classes)" if axes == 3 else "(instances, classes)"
            raise ValueError(f"`{name}` must have {axes} axes {words}; got shape {values.shape}")
        n = len(self)
        for key in ("y_true", "ids", "images"):
            rows = getattr(self, key)
            if rows is not None and (rows.ndim < 1 or len(rows) != n):
                raise ValueError(f"`{key}` must have one entry for each of the N = {n} instances of `{name}`; got shape {rows.shape}")
        if self.images is not None and self.images.ndim not in (3, 4):
            raise ValueError(f"`images` must have shape (N, H, W) or (N, H, W, C); got {self.images.shape}")
        if self.weights is not None and (self.probs is None or self.weights.shape not in ((len(self.probs),), (len(self.probs), n))):
            raise ValueError(f"`weights` must have shape (M,) or (M, N) of `probs` (M, N, K); got {self.weights.shape} for {values.shape}")
        object.__setattr__(self, "class_names", check_names(self.class_names, self.n_classes))
        self._check_labels()

    def _check_labels(self) -> None:
        if self.y_true is None:
            return
        y = self.y_true
        if self.multilabel:
            if y.shape[1] != self.n_classes or y.dtype.kind not in "biu" or (y.size and (y.min() < 0 or y.max() > 1)):
                raise ValueError(
                    f"`y_true` (N, K) must say 0 or 1 for each of the K = {self.n_classes} labels; got {y.dtype} of shape {y.shape}"
                )
            if self.probs is None:
                raise ValueError(
                    "labels that may occur together, `y_true` (N, K), need `probs`: a Dirichlet is about classes that exclude each other"
                )
            return
        if y.ndim != 1 or y.dtype.kind not in "iu":
            raise TypeError(f"`y_true` must be one integer label 0 … K − 1 for each instance; got {y.dtype} of shape {y.shape}")
        for start in range(0, len(y), 1 << 20):  # of mapped files little is held at once
            positions(y[start : start + (1 << 20)], "y_true", self._names)
        release(y)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.class_names or tuple(str(k) for k in range(self.n_classes))

    @property
    def true_class(self) -> np.ndarray:
        """The positions 0 … K − 1 of the true classes, (N,); needs ``y_true`` (N,)."""
        if self.y_true is None or self.multilabel:
            raise ValueError("`true_class` needs one label for each instance, `y_true` (N,)")
        return positions(np.asarray(self.y_true), "y_true", self._names)

    @property
    def _values(self) -> Array:
        return self.probs if self.alpha is None else self.alpha

    def __len__(self) -> int:
        return int(self._values.shape[-2])

    @property
    def n_classes(self) -> int:
        return 0 if self._values is None else int(self._values.shape[-1])

    @property
    def multilabel(self) -> bool:
        """Whether the labels may occur together, as ``y_true`` (N, K) says."""
        return self.y_true is not None and self.y_true.ndim == 2

    def rows(self, start: int, stop: int) -> Predictions:
        """The instances from ``start`` to before ``stop``, as views."""
        part = slice(start, stop)
        arrays = {key: None if (x := getattr(self, key)) is None else x[part] for key in ("alpha", "y_true", "ids", "images")}
        arrays["probs"] = None if self.probs is None else self.probs[:, part]
        arrays["weights"] = self.weights[:, part] if self.weights is not None and self.weights.ndim == 2 else self.weights
        return Predictions(**arrays, class_names=self.class_names)

    def distribution(self) -> Ensemble | Dirichlet | MultiLabelEnsemble:
        """The second-order distribution of each instance; its values are checked."""
        from .distributions import Dirichlet, Ensemble, MultiLabelEnsemble

        if self.alpha is not None:
            return Dirichlet(self.alpha, class_names=self.class_names)
        if self.multilabel:
            return MultiLabelEnsemble(self.probs, weights=self.weights, member_axis=0, class_names=self.class_names)
        return Ensemble(self.probs, weights=self.weights, member_axis=0, class_names=self.class_names)


KEYS = tuple(field.name for field in fields(Predictions))


def save_predictions(path: str | os.PathLike[str], predictions: Predictions | None = None, **arrays: Any) -> Path:
    """Write a prediction file; when that fails, a file that was there before is still there, unchanged.

    Parameters
    ----------
    path : path
        Ending in .npz, or in .npy for ``probs`` alone. Arrays are stored uncompressed, so that :func:`load_predictions` can
        map large ones; memory maps are copied in pieces.
    predictions : Predictions, optional
        What to write; or give its fields by name.
    **arrays
        ``probs``, ``alpha``, ``y_true``, ``class_names``, ``ids``, ``weights``, ``images``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_predictions(pathlib.Path(folder, "preds.npz"), probs=np.full((5, 3, 2), 0.5), class_names=["no", "yes"])
    ...     load_predictions(path).class_names
    ('no', 'yes')
    """
    path = Path(path)
    kind = check_format(path)
    if predictions is None:
        unknown = [key for key in arrays if key not in KEYS]
        if unknown:
            raise TypeError(f"a prediction file has no `{unknown[0]}`; it has {', '.join(f'`{key}`' for key in KEYS)}")
        host: dict[str, Any] = {key: x if x is None or key == "class_names" else to_numpy(x) for key, x in arrays.items()}
        predictions = Predictions(**host)
    elif arrays:
        raise TypeError(f"give `predictions` or its fields by name, not both; got {', '.join(arrays)} as well")
    present = {key: np.asanyarray(x) for key in KEYS if (x := getattr(predictions, key)) is not None}
    for key, array in present.items():
        if array.dtype.hasobject:
            raise TypeError(f"`{key}` must be numbers or text, not Python objects; convert it first, e.g. np.asarray({key}, dtype=str)")
    if kind == ".npy" and set(present) != {"probs"}:
        raise ValueError(f"a .npy file holds `probs` alone; got {', '.join(present)}. Save to .npz instead")
    with replacing(path) as file:
        if kind == ".npz":
            write_npz(file, present)
        else:
            write_npy(file, present["probs"])
    return path


def load_predictions(path: str | os.PathLike[str]) -> Predictions:
    """Read a prediction file (.npz or .npy); large arrays that are stored uncompressed are mapped, not read.

    Raises
    ------
    ValueError, TypeError
        If the file is damaged, holds Python objects (they would have to be unpickled), or its arrays do not fit together.
    OSError
        If it cannot be opened.
    """
    path = Path(path)
    kind = check_format(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no prediction file {str(path)!r}")
    found: dict[str, Any] = {"probs": read_npy(path)} if kind == ".npy" else read_npz(path, KEYS)
    if "probs" not in found and "alpha" not in found:
        with open_regular(path) as file, opened_archive(file, path.name) as archive:
            there = ", ".join(name.removesuffix(".npy") for name in archive.namelist()[:8]) or "nothing"
        raise ValueError(
            f"{path.name} must hold `probs` (M, N, K) or `alpha` (N, K); it holds {there}. Save with np.savez(path, probs=...)"
        )
    try:
        if "class_names" in found:
            names = np.atleast_1d(found["class_names"])
            if names.dtype.kind not in "US":
                raise TypeError(f"`class_names` must be text; got {names.dtype}")
            found["class_names"] = tuple(names.astype(str).tolist())
        return Predictions(**found)
    except TypeError as error:
        raise TypeError(f"{path.name}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def check_format(path: Path) -> str:
    """The ending of a prediction file, if it is one that can be read and written."""
    if path.suffix not in (".npz", ".npy"):
        raise ValueError(f"a prediction file must end in .npz or .npy; got {path.name!r}")
    return path.suffix
