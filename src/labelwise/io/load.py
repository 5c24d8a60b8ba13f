"""Prediction files of every format, opened: what is read later is read a block of instances at a
time.

A prediction file holds ``probs``, ``logits`` or ``log_probs`` (M, N, K), or ``alpha`` or
``evidence`` ((M,) N, K), and optionally the other arrays of `Predictions`; or it is a table with a
column for each class. Several files, or a folder of them, are the members.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import ClassNames
from .._errors import InputError, suggest
from .arrange import arrange_axes, two_classes
from .arrow import read_arrow
from .class_names import as_class_names, check_positions, name_classes, say_positions
from .csv import read_csv
from .files import check_regular, find_files, format_of, look_alike, reading
from .jsonl import read_jsonl
from .labels import (
    arrange_labels,
    labels_of_array,
    labels_of_table,
    match_labels,
    read_label_arrays,
)
from .members import are_positions, combine_files
from .npz import NpzArrays, read_npy
from .on_disk import OnDisk, select_classes
from .predictions import KEYS, KINDS, Fields, Predictions
from .pt import read_pt
from .table import Table
from .tables import read_tables
from .units import check_logits, normalized, unrounded
from .zarr import read_zarr

__all__ = ["FORMATS", "load_predictions", "readable_files"]

TABLE_READERS: dict[str, Callable[[Path], Table]] = {
    ".parquet": read_arrow,
    ".feather": read_arrow,
    ".arrow": read_arrow,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_jsonl,
    ".csv.gz": read_csv,
    ".tsv.gz": read_csv,
    ".jsonl.gz": read_jsonl,
}
READERS: dict[str, Callable[[Path], Table | Mapping[str, Any]]] = {
    ".npz": NpzArrays,
    ".npy": lambda path: {"probs": read_npy(path)},
    ".zarr": read_zarr,
    ".pt": read_pt,
    **TABLE_READERS,
}
FORMATS = tuple(READERS)
_ALWAYS_ALLOWED = 1 << 24  # bytes of a chunk, however little memory there is
_READ_WHOLE = ("y_true", "groups", "weights", "class_names")
_MEANT = {
    "label": "y_true",
    "labels": "y_true",
    "y": "y_true",
    "target": "y_true",
    "targets": "y_true",
    "truth": "y_true",
    "names": "class_names",
    "classes": "class_names",
    "classnames": "class_names",
    "labels_names": "class_names",
    "id": "ids",
    "group": "groups",
    "image": "images",
    "weight": "weights",
}
"""Keys that are not read, and what they probably mean."""
_ELSEWHERE = ("votes", "annotators")
"""Keys that other functions read from the same file."""


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
    """Open predictions: .npz, .npy, .zarr, .pt, .parquet, .feather, .arrow, or .csv, .tsv and
    .jsonl, also as .gz.

    Arrays that are stored uncompressed in .npy and .npz files are mapped; of .zarr and .parquet
    files only the instances that are asked for are read. Rows, classes and labels are matched by
    ids and names where there are any, else by number. What was assumed is in ``notes``; surprising
    assumptions are warnings.

    Parameters
    ----------
    path : path, or sequence of paths
        Several files, or a folder of them, are the members of an ensemble. Their cases are matched
        by a column of ids, whatever its name, if all files have the same ones; files of which only
        some have ids are refused. In a folder, a file called ``y_true`` or ``labels`` holds the
        labels.
    logits : bool
        The numbers are network outputs before softmax, whatever they are called.
    class_names : sequence of str, or mapping, optional
        The classes in the order that you want; also ``id2label``. Where the file names its classes
        they must be the same ones, in any order; else these are the names of its positions. In a
        table, columns with these names are the classes.
    labels : array or path, optional
        True labels: .npy, .npz, .txt or a table; also a column of 0 and 1 for each class. Matched
        by id, and by number if the labels have no ids; refused if only the labels have ids, or if
        members have their cases in different orders and the labels have no ids.
    member_axis, class_axis : int, optional
        Where members and classes are, if not first and last. Arrays of four axes or more, such as
        images (M, N, height, width, K), are read as predictions of N · height · width instances.
    normalize : bool
        Divide probabilities by their sums over the classes, and say how far those were off.
    multilabel : bool, optional
        The labels may occur together; by default ``y_true`` (N, K) says so.
    memory : int
        A chunk of a .zarr array that takes more than half of so many bytes (and more than 16 MiB)
        is refused: it can only be decoded whole.

    Raises
    ------
    ValueError, TypeError
        If a file is damaged, holds Python objects (they would have to be unpickled), or its arrays
        do not fit together.
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
    >>> p.notes
    ('rows matched by `id`',)
    """  # noqa: E501
    files, label_file = find_files(path, FORMATS)
    named = files[0] if len(files) == 1 else files[0].parent
    given = None if class_names is None else as_class_names(class_names)
    notes: list[str] = []
    parts: list[Any] = []
    tables: list[Table] = []
    for file in files:
        with reading(file):
            check_regular(file)
            if file.stat().st_size == 0:
                raise ValueError(f"{file.name} is empty (0 bytes)")
            content = READERS[format_of(file)](file)
            if isinstance(content, Table):
                tables.append(content)
                parts.append(content)
            else:
                parts.append(_fields(content, _choose(file.name, list(content)), memory))
    first = parts[0] if isinstance(parts[0], Table) else files[0].name
    with reading(named):
        if tables:  # what their columns mean is decided for all of them together
            exclusive = not logits and not multilabel
            read = iter(read_tables(tables, class_names=given, exclusive=exclusive, notes=notes))
            parts = [next(read) if isinstance(part, Table) else part for part in parts]
        only_tables = len(tables) == len(files)
        for part in parts:
            if logits and "probs" in part:
                part["logits"] = part.pop("probs")
        found = parts[0] if len(files) == 1 else combine_files(files, parts, notes)
        in_file = found.get("class_names", ())
        if given is None and only_tables and are_positions(in_file, in_order=True):
            found.pop("class_names", None)  # a header of 0, 1, … names nothing
            in_file = ()
        class_order = None
        if given is not None:
            found, class_order = name_classes(found, given, named.name, notes)
        if labels is None and "y_true" not in found:
            labels = label_file
        if labels is not None:
            found["y_true"] = _matched_labels(labels, found, first, notes)
            if class_order is not None:
                check_positions(found["y_true"], in_file, found["class_names"])
        found.pop("reordered", None)
        flat = only_tables or len(files) > 1 or bool(multilabel)
        found = arrange_axes(found, member_axis, class_axis, table=flat)
        kind = next(kind for kind in KINDS if kind in found)
        if class_order is not None:
            found[kind] = select_classes(found[kind], class_order)
        found = _in_units(found, kind, normalize, multilabel, notes if only_tables else None)
        if "y_true" in found:
            if multilabel is None and found["y_true"].ndim == 2:
                notes.append("labels may occur together: `y_true` has a column for each class")
            # labels of the file are positions among the file's classes, whatever order these were
            # asked for in
            by_file = labels is None and class_order is not None and not are_positions(in_file)
            say_positions(found["y_true"], in_file if by_file else found.get("class_names"), notes)
        return Predictions(**found, multilabel=multilabel, path=named, notes=tuple(notes))


def readable_files(path: str | os.PathLike[str]) -> list[Path]:
    """A prediction file, or the files of a folder that may be read as predictions or labels; others
    may lie beside them.
    """
    path = Path(path)
    if not path.is_dir() or path.suffix == ".zarr":
        return [path]
    return [file for file in path.iterdir() if format_of(file) in FORMATS]


def _choose(file: str, names: list[str]) -> dict[str, str]:
    """Which of the arrays in a file are read, and as what; warns of what is not, and of the only
    array there if it has no known name.
    """
    unknown = [name for name in names if name not in KEYS and name not in _ELSEWHERE]
    chosen = {name: name for name in names if name in KEYS}
    if not any(kind in chosen for kind in KINDS):
        candidates = [name for name in unknown if name.lower() not in _MEANT]
        if len(candidates) != 1:
            there = ", ".join(names[:8]) or "nothing"
            raise ValueError(
                f"{file} must hold `probs` (M, N, K) or `alpha` (N, K); it holds {there}. Save "
                "with np.savez(path, probs=...)"
            )
        (only,) = candidates
        warnings.warn(f"{file}: `{only}` is the only array and is taken for `probs`", stacklevel=3)
        chosen[only] = "probs"
        unknown.remove(only)
    for name in unknown[:8]:
        hint = suggest(name, [key for key in KEYS if key not in names])
        if name.lower() in _MEANT:
            hint = f". Did you mean `{_MEANT[name.lower()]}`?"
        warnings.warn(f"{file}: `{name}` is not read{hint if 'mean' in hint else ''}", stacklevel=3)
    return chosen


def _fields(arrays: Mapping[str, Any], chosen: dict[str, str], memory: int) -> Fields:
    """The fields of predictions in a file of arrays; large ones stay there."""
    fields = {}
    for name, key in chosen.items():
        array = arrays[name]
        if isinstance(array, OnDisk):
            largest = max(memory // 2, _ALWAYS_ALLOWED)
            if array.chunk_bytes > largest:
                raise ValueError(
                    f"a chunk of `{name}` takes {array.chunk_bytes:,} bytes, where {largest:,} are "
                    "allowed; store it in smaller chunks, or allow more memory"
                )
            if key in _READ_WHOLE:
                array = array[:]
        if key == "class_names":
            array = np.atleast_1d(array)
            if array.ndim != 1 or array.dtype.kind not in "US":
                raise TypeError(
                    f"`class_names` must be text; got {array.dtype} of shape {array.shape}"
                )
            array = tuple(array.astype(str).tolist())
        fields[key] = array
    return fields


def _matched_labels(labels: Any, found: Fields, first: Table | str, notes: list[str]) -> np.ndarray:
    """Labels from an array or a file, in the order of the cases."""
    if not isinstance(labels, str | os.PathLike):
        return match_labels(labels_of_array(labels, found), found, "`labels`", first, notes)
    path = Path(labels)
    if not path.exists():
        raise FileNotFoundError(f"there is no file of labels {str(path)!r}{look_alike(path)}")
    if format_of(path) not in (*TABLE_READERS, ".npy", ".npz", ".txt"):
        raise ValueError(
            f"labels are read from .npy, .npz, .txt and tables ({', '.join(TABLE_READERS)}); got "
            f"{path.name!r}"
        )
    with reading(path):
        check_regular(path)
        if format_of(path) in TABLE_READERS:
            labels = labels_of_table(TABLE_READERS[format_of(path)](path), found)
        else:
            labels = read_label_arrays(path)
        return match_labels(labels, found, path.name, first, notes)


def _in_units(
    found: Fields,
    kind: str,
    normalize: bool,
    multilabel: bool | None,
    rounding_notes: list[str] | None,
) -> Fields:
    """Probabilities as such, and labels as they are meant; bytes and percentages are refused, as
    nothing later would know what they are.

    Rounded probabilities are expected in tables alone; that they are is added to
    ``rounding_notes``.
    """
    values = found[kind]
    if normalize:
        found[kind] = normalized(values, kind)
    elif kind == "probs" and not multilabel:
        _check_scale(values)
        if rounding_notes is not None and values.shape[-1] > 1:
            found[kind] = unrounded(values, rounding_notes)
    if kind == "logits":
        check_logits(values, multilabel)
    one_number = kind in ("probs", "logits") and values.shape[-1] == 1 and not multilabel
    if one_number and not np.all(np.asarray(values[:, :64]) == 1):  # else there is only one class
        found = two_classes(values, kind, found)
    if "y_true" in found:
        found["y_true"] = arrange_labels(found["y_true"], found, multilabel)
    return found


def _check_scale(probs: Any) -> None:
    """Refuse bytes and percentages."""
    if probs.dtype == np.uint8:
        raise InputError("`probs` must be floating point; got uint8", fix="integers")
    if probs.dtype.kind != "f" or 0 in probs.shape:
        return
    with np.errstate(all="ignore"):  # damaged values have their sentence where they are used
        sums = np.asarray(probs[:, :64]).sum(axis=-1, dtype=float)
    if np.allclose(sums, 100, atol=2):
        raise InputError(
            "`probs` must sum to 1 over the classes; they sum to 100", fix="file_percentages"
        )
