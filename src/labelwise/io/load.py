"""Prediction files of every format, opened: what is read later is read a block of instances at a time.

A prediction file holds ``probs``, ``logits`` or ``log_probs`` (M, N, K), or ``alpha`` or ``evidence`` ((M,) N, K), and optionally the other
arrays of `Predictions`; or it is a table with a column for each class. Several files, or a folder of them, are the members.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import ClassNames, names_by_position, to_numpy
from .._suggestions import suggest
from .arrange import arrange_axes, arrange_labels, normalized, read_labels, two_classes
from .arrow import read_arrow
from .csv import read_csv
from .files import reading
from .jsonl import read_jsonl
from .members import combine, find_files, look_alike, same_order
from .npz import read_npy, read_npz
from .parquet import read_parquet
from .predictions import KEYS, KINDS, Predictions
from .pt import read_pt
from .zarr import read_zarr

__all__ = ["FORMATS", "load_predictions"]

SMALL_BLOCK, LARGEST_BLOCK = 1 << 24, 1 << 29  # bytes: what a file's own chunking may always, and never, make us hold
READERS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    ".npz": lambda path, largest: read_npz(path, partial(_pick, path.name)),
    ".npy": lambda path, largest: {"probs": read_npy(path)},
    ".zarr": lambda path, largest: read_zarr(path, partial(_pick, path.name), largest),
    ".pt": lambda path, largest: read_pt(path, partial(_pick, path.name)),
    ".parquet": lambda path, largest: read_parquet(path, partial(_pick, path.name), largest),
    ".feather": lambda path, largest: read_arrow(path),
    ".arrow": lambda path, largest: read_arrow(path),
    ".csv": lambda path, largest: read_csv(path),
    ".tsv": lambda path, largest: read_csv(path),
    ".jsonl": lambda path, largest: read_jsonl(path),
}
FORMATS = tuple(READERS)
_TABLES = (".parquet", ".feather", ".arrow", ".csv", ".tsv", ".jsonl")
_MEANT = {
    "label": "y_true", "labels": "y_true", "y": "y_true", "target": "y_true", "targets": "y_true", "truth": "y_true",
    "names": "class_names", "classes": "class_names", "classnames": "class_names", "labels_names": "class_names",
    "id": "ids", "group": "groups", "image": "images", "weight": "weights",
}  # fmt: skip
"""Keys that are not read, and what they probably mean."""


def load_predictions(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    logits: bool = False,
    class_names: ClassNames | None = None,
    labels: Any = None,
    member_axis: int | None = None,
    class_axis: int | None = None,
    normalize: bool = False,
    multilabel: bool | None = None,
    memory: int = 1 << 30,
) -> Predictions:
    """Open predictions: .npz, .npy, .zarr, .pt, .parquet, .feather, .arrow, .csv, .tsv or .jsonl.

    Arrays that are stored uncompressed in .npy and .npz files are mapped; of .zarr and .parquet files only the instances that are asked
    for are read. Whatever had to be assumed about a file is said in a warning.

    Parameters
    ----------
    path : path, or sequence of paths
        Several files, or a folder of them, are the members of an ensemble: their cases are aligned by id where they have any. In a
        folder, a file called ``y_true`` or ``labels`` holds the labels.
    logits : bool
        The numbers are network outputs before softmax, whatever they are called.
    class_names : sequence of str, optional
        Instead of those in the file.
    labels : array or path, optional
        True labels: .npy, .npz, .csv, .tsv or .txt; aligned by id where both have any.
    member_axis, class_axis : int, optional
        Where members and classes are, if not first and last. Arrays of four axes or more, such as images (M, N, height, width, K), are
        read as predictions of N · height · width instances.
    normalize : bool
        Divide probabilities by their sums over the classes, and say how far those were off.
    multilabel : bool, optional
        The labels may occur together; by default ``y_true`` (N, K) says so.
    memory : int
        A chunk or page of the file that takes more than half of so many bytes (and more than 16 MiB) is refused: it could only be
        decoded whole.

    Raises
    ------
    ValueError, TypeError
        If a file is damaged, holds Python objects (they would have to be unpickled), or its arrays do not fit together.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, text in enumerate(["id,cat,dog\\na,0.9,0.1\\nb,0.4,0.6\\n", "id,cat,dog\\nb,0.2,0.8\\na,0.7,0.3\\n"]):
    ...         _ = pathlib.Path(folder, f"model{i}.csv").write_text(text)
    ...     p = lw.load_predictions(folder)
    >>> p.shape, p.class_names, p.distribution().mean()[:, 0]
    ((2, 2, 2), ('cat', 'dog'), array([0.8, 0.3]))
    """
    files, beside = find_files(path, FORMATS)
    largest = min(max(memory // 2, SMALL_BLOCK), LARGEST_BLOCK)
    parts = [_read(file, largest, logits) for file in files]
    found = parts[0] if len(files) == 1 else combine(files, parts)
    named = files[0] if len(files) == 1 else files[0].parent
    table = len(files) > 1 or named.suffix.lower() in _TABLES
    with reading(named):
        if class_names is not None:
            given = names_by_position(class_names, len(class_names)) if isinstance(class_names, Mapping) else class_names
            found["class_names"] = tuple(str(name) for name in given)
        truth = _labels(beside if labels is None and "y_true" not in found else labels, found)
        found = arrange_axes(
            found if truth is None else found | {"y_true": truth}, member_axis, class_axis, table=table or bool(multilabel)
        )
        return Predictions(**_in_units(found, normalize, multilabel), multilabel=multilabel, path=named)


def _read(path: Path, largest: int, logits: bool) -> dict[str, Any]:
    """The fields in one file."""
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty (0 bytes)")
    with reading(path):
        found = READERS[path.suffix.lower()](path, largest)
        for name in list(found):
            if name not in KEYS:  # the only array there
                found["probs"] = found.pop(name)
        if logits and "probs" in found:
            found["logits"] = found.pop("probs")
        if "class_names" in found:
            found["class_names"] = _text(found["class_names"])
    return found


def _pick(file: str, names: Sequence[str]) -> list[str]:
    """Which of the arrays in a file to read; warns of what is not, and of the only array there if it has no known name."""
    unknown = [name for name in names if name not in KEYS]
    chosen = [name for name in names if name in KEYS]
    if not any(kind in names for kind in KINDS):
        candidates = [name for name in unknown if name.lower() not in _MEANT]
        if len(candidates) != 1:
            there = ", ".join(names[:8]) or "nothing"
            raise ValueError(f"{file} must hold `probs` (M, N, K) or `alpha` (N, K); it holds {there}. Save with np.savez(path, probs=...)")
        warnings.warn(f"{file}: `{candidates[0]}` is the only array and is taken for `probs`", stacklevel=2)
        chosen.append(candidates[0])
        unknown.remove(candidates[0])
    for name in unknown[:8]:
        meant = _MEANT.get(name.lower())
        hint = suggest(name, [key for key in KEYS if key not in names])
        words = f". Did you mean `{meant}`?" if meant else hint if "mean" in hint else ""
        warnings.warn(f"{file}: `{name}` is not read{words}", stacklevel=2)
    return chosen


def _text(names: Any) -> tuple[str, ...]:
    array = np.atleast_1d(np.asarray(names))
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise TypeError(f"`class_names` must be text; got {array.dtype} of shape {array.shape}")
    return tuple(array.astype(str).tolist())


def _labels(labels: Any, found: dict[str, Any]) -> Any:
    """Labels from an array or a file, in the order of the cases."""
    if not isinstance(labels, str | os.PathLike):
        return None if labels is None else np.asarray(to_numpy(labels))
    path = Path(labels)
    if not path.exists():
        raise FileNotFoundError(f"there is no file of labels {str(path)!r}{look_alike(path)}")
    with reading(path):
        y, ids = read_labels(path)
    if ids is None or "ids" not in found:
        return y
    return np.asarray(y)[same_order("the predictions", np.asarray(found["ids"][:]).astype(str), path.name, np.asarray(ids).astype(str))]


def _in_units(found: dict[str, Any], normalize: bool, multilabel: bool | None) -> dict[str, Any]:
    """Probabilities as such, and labels as they are meant; bytes and percentages are refused, as nothing later would know what they are."""
    kind = next(kind for kind in KINDS if kind in found)
    values = found[kind]
    if normalize:
        found[kind] = normalized(values, kind)
    elif kind == "probs" and not multilabel:
        if values.dtype == np.uint8:
            raise TypeError("`probs` must be floating point; got uint8. If 255 stands for 1, divide by 255, or use normalize=True")
        if values.dtype.kind == "f" and 0 not in values.shape:
            with np.errstate(all="ignore"):  # damaged values, which have their sentence where they are used
                sums = np.asarray(values[:, :64]).sum(axis=-1, dtype=float)
            if np.allclose(sums, 100, atol=2):
                raise ValueError(
                    "`probs` must sum to 1 over the classes; they sum to 100. Percentages? Divide by 100, or use normalize=True"
                )
    if kind in ("probs", "logits") and values.shape[-1] == 1 and not multilabel and not np.all(np.asarray(values[:, :64]) == 1):
        found = two_classes(values, kind, found)
    if "y_true" in found:
        found["y_true"] = arrange_labels(found["y_true"], found, multilabel)
    return found
