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
from .._errors import did_you_mean
from .._tables import enumerated
from .._validation.labels import check_names, integer_names
from ..language_models import Outputs, outputs_of_table, read_outputs
from ..sources import varying_factors
from .arrange import arrange_axes, as_two_classes
from .arrow import ArrowTable
from .class_names import match_class_names, say_positions
from .columns import class_columns
from .csv import read_csv
from .files import check_regular, check_there, find_files, format_of, reading
from .jsonl import read_jsonl
from .labels import (
    Labels,
    arrange_labels,
    labels_of_array,
    labels_of_arrays,
    labels_of_table,
    match_labels,
)
from .members import combine_files
from .npz import NpzArrays, read_npy
from .on_disk import OnDisk
from .predictions import FACTOR, KEYS, KINDS, Fields, Predictions
from .pt import read_pt
from .sums import divide_out_rounding, normalize_probabilities
from .table import Table, TextTable
from .tables import read_tables
from .zarr import read_zarr

READERS: dict[str, Callable[[Path], Table | Outputs | Mapping[str, Any]]] = {
    ".npz": NpzArrays,
    ".npy": lambda path: {"probs": read_npy(path)},
    ".zarr": read_zarr,
    ".pt": read_pt,
    ".parquet": ArrowTable,
    ".feather": ArrowTable,
    ".arrow": ArrowTable,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_jsonl,
}
FORMATS = tuple(READERS)
_NAMES = ("class_names", "member_names")
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
) -> Predictions:
    """Open predictions: .npz, .npy, .zarr, .pt, .parquet, .feather, .arrow, or .csv, .tsv and
    .jsonl.

    Arrays that are stored uncompressed in .npy and .npz files are mapped; of .zarr and .parquet
    files only the instances that are asked for are read. Rows, classes and labels are matched by
    ids and names where there are any, else by number. What was assumed is in ``notes``; surprising
    assumptions are warnings.

    Parameters
    ----------
    path : path, or sequence of paths
        Several files, or a folder of them, are the members of an ensemble. Their cases are matched
        by a column of ids, whatever its name, if all files have the same ones; files of which only
        some have ids are refused.
    logits : bool
        The numbers are network outputs before softmax, whatever they are called.
    class_names : sequence of str, or mapping, optional
        The classes in the order that you want; also ``id2label``. Where the file names its classes
        they must be the same ones, in any order; else these are the names of its positions. In a
        table, columns with these names are the classes.
    labels : array or path, optional
        True labels: .npy, .npz or a table; also a column of 0 and 1 for each class. Matched
        by id, and by number if the labels have no ids; refused if only the labels have ids, or if
        members have their cases in different orders and the labels have no ids.
    member_axis, class_axis : int, optional
        Where members and classes are, if not first and last. Arrays of four axes or more, such as
        images (M, N, height, width, K), are read as predictions of N · height · width instances.
    normalize : bool
        Divide probabilities by their sums over the classes, and say how far those were off.
    multilabel : bool, optional
        The labels may occur together; by default ``y_true`` (N, K) says so.

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
    ...     for i, rows in enumerate(["a,0.9,0.1\\nb,0.4,0.6", "b,0.2,0.8\\na,0.7,0.3"]):
    ...         _ = pathlib.Path(folder, f"model{i}.csv").write_text(f"id,cat,dog\\n{rows}")
    ...     p = lw.load_predictions(folder)
    >>> p.shape, p.class_names, p.distribution().mean()[:, 0]
    ((2, 2, 2), ('cat', 'dog'), array([0.8, 0.3]))
    >>> p.notes
    ('rows matched by `id`',)
    """
    files = find_files(path, FORMATS)
    given = None
    if class_names is not None:
        given = check_names(class_names, len(class_names))
    notes: list[str] = []
    parts: list[Any] = [_open_prediction_file(file, given) for file in files]
    is_table = isinstance(parts[0], Table)
    named = files[0]
    if len(files) > 1:
        named = named.parent
    with reading(named):
        # what columns and labels mean is decided for all files together
        if len(parts) > 1:
            kinds = {part.kind if isinstance(part, Outputs) else "numbers" for part in parts}
            if len(kinds) > 1:
                both = enumerated(sorted(kinds))
                raise ValueError(f"the members must be of one kind; got {both}")
        if isinstance(parts[0], Outputs):
            parts = [read_outputs(parts, given, notes)]
        elif is_table:
            parts = read_tables(parts, given, notes)
        for part in parts:
            if logits and "probs" in part:
                part["logits"] = part.pop("probs")
        found = parts[0]
        if len(parts) > 1:
            found = combine_files(files, parts, notes)
        if "factors" in found:
            found["factors"] = varying_factors(found["factors"]) or None
        kind = next(filter(found.__contains__, KINDS))
        if given is not None and "class_names" not in found:
            found["class_names"] = given
            say_positions("classes", given, notes)
        if labels is not None:
            given_labels = _open_labels(labels, found)
            found["y_true"] = match_labels(given_labels, found, files[0].name, notes)
        found.pop("reordered", None)
        members_first = is_table or len(files) > 1 or bool(multilabel) or "member_names" in found
        found = arrange_axes(found, kind, member_axis, class_axis, members_first=members_first)
        if given is not None:
            match_class_names(found, kind, given, named.name, notes)
        if normalize:
            found[kind] = normalize_probabilities(found[kind], kind)
        elif kind == "probs" and is_table and not multilabel:
            found[kind] = divide_out_rounding(found[kind], notes)
        if found[kind].shape[-1] == 1 and kind in ("probs", "logits") and not multilabel:
            as_two_classes(found, kind)
        if "y_true" in found:
            y = found["y_true"] = arrange_labels(found["y_true"], found, multilabel)
            if multilabel is None and y.ndim == 2:
                notes.append("labels may occur together: `y_true` has a column for each class")
            names = found.get("class_names")
            if names and y.ndim == 1 and y.dtype.kind in "iu" and integer_names(names) is None:
                say_positions("labels", names, notes)
        return Predictions(**found, multilabel=multilabel, path=named, notes=tuple(notes))


def readable_files(path: str | os.PathLike[str]) -> list[Path]:
    """A prediction file, or the files of a folder that may be read as predictions or labels; others
    may lie beside them.
    """
    path = Path(path)
    if not path.is_dir() or path.suffix == ".zarr":
        return [path]
    return [file for file in path.iterdir() if format_of(file) in FORMATS]


def _open_prediction_file(
    file: Path, class_names: Sequence[str] | None
) -> Table | Outputs | Fields:
    """A table, outputs of language models, or the fields of predictions in a file of arrays; large
    ones stay there.
    """
    with reading(file):
        check_regular(file)
        if file.stat().st_size == 0:
            raise ValueError(f"{file.name} is empty (0 bytes)")
        content = READERS[format_of(file)](file)
        if isinstance(content, TextTable) and content.listed is None and not class_columns(content):
            columns = {name: column.texts or [] for name, column in content.columns.items()}
            return outputs_of_table(file, columns, class_names) or content
        if isinstance(content, Table | Outputs):
            return content
        fields: Fields = {}
        factors = {}
        for name, key in _choose_arrays(file.name, list(content)).items():
            array = content[name]
            if isinstance(array, OnDisk) and key not in (*KINDS, "images"):
                array = array[:]
            if key.startswith(FACTOR):
                factors[key.removeprefix(FACTOR)] = _names_of_array(array, key)
            elif key in _NAMES:
                fields[key] = _names_of_array(array, key)
            else:
                fields[key] = array
        if factors:
            fields["factors"] = factors
        return fields


def _names_of_array(array: Any, key: str) -> tuple[str, ...]:
    names = np.atleast_1d(array)
    if names.ndim != 1 or names.dtype.kind not in "US":
        raise TypeError(f"`{key}` must be text; got {names.dtype} of shape {names.shape}")
    return tuple(names.astype(str).tolist())


def _choose_arrays(file: str, names: list[str]) -> dict[str, str]:
    """Which of the arrays in a file are read, and as what; warns of what is not, and of the only
    array there if it has no known name.
    """
    chosen = {name: name for name in names if name in KEYS or name.startswith(FACTOR)}
    unknown = [name for name in names if name not in chosen and name not in _ELSEWHERE]
    if not set(KINDS) & set(chosen):
        if len(unknown) != 1:
            raise ValueError(
                f"{file} must hold `probs` (M, N, K) or `alpha` (N, K); it holds "
                f"{', '.join(names[:8]) or 'nothing'}. Save with np.savez(path, probs=...)"
            )
        only = unknown.pop()
        warnings.warn(f"{file}: `{only}` is the only array and is taken for `probs`", stacklevel=4)
        chosen[only] = "probs"
    for name in unknown[:8]:
        warnings.warn(f"{file}: `{name}` is not read{did_you_mean(name, KEYS)}", stacklevel=4)
    return chosen


def _open_labels(labels: Any, found: Fields) -> Labels:
    """Labels from an array or a file, in the order that they have there."""
    if not isinstance(labels, str | os.PathLike):
        return labels_of_array(labels, found)
    path = Path(labels)
    check_there(path, "labels")
    if format_of(path) not in FORMATS:
        raise ValueError(f"labels are read from {', '.join(FORMATS)}; got {path.name!r}")
    with reading(path):
        check_regular(path)
        content = READERS[format_of(path)](path)
        if isinstance(content, Table):
            return labels_of_table(content, found)
        if isinstance(content, Outputs):
            raise ValueError(f"{path.name} holds outputs of a language model, not labels")
        return labels_of_arrays(path.name, content, found)
