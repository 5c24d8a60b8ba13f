"""Prediction files of every format, opened: what is read later is read a block of instances at a
time.

A prediction file holds ``probs``, ``logits`` or ``log_probs`` (M, N, K), or ``alpha`` or
``evidence`` ((M,) N, K), and optionally the other arrays of `Predictions`; or it is a table with a
column for each class. Several files, or a folder of them, are the members.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import ClassNames
from .._errors import InputError
from .._suggestions import suggest
from .arrange import arrange_axes, two_classes
from .arrow import read_arrow
from .class_names import (
    as_class_names,
    check_positions,
    name_classes,
    say_positions,
    select_classes,
)
from .csv import read_csv
from .files import format_of, reading
from .jsonl import read_jsonl
from .labels import (
    arrange_labels,
    labels_of_array,
    labels_of_table,
    match_labels,
    read_label_arrays,
)
from .members import are_positions, combine_files, find_files, look_alike
from .npz import read_npy, read_npz
from .parquet import read_parquet
from .predictions import KEYS, KINDS, Predictions
from .pt import read_pt
from .table import Table
from .tables import read_tables
from .units import check_logits, normalized, unrounded
from .zarr import read_zarr

__all__ = ["FORMATS", "load_predictions"]

SMALL_BLOCK, LARGEST_BLOCK = (
    1 << 24,
    1 << 29,
)  # bytes: what a file's own chunking may always, and never, make us hold
READERS: dict[str, Callable[[Path, int], Table | dict[str, Any]]] = {
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
    ".csv.gz": lambda path, largest: read_csv(path),
    ".tsv.gz": lambda path, largest: read_csv(path),
    ".jsonl.gz": lambda path, largest: read_jsonl(path),
}
FORMATS = tuple(READERS)
TABLES = (
    ".parquet",
    ".feather",
    ".arrow",
    ".csv",
    ".tsv",
    ".jsonl",
    ".csv.gz",
    ".tsv.gz",
    ".jsonl.gz",
)
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
        A chunk or page of the file that takes more than half of so many bytes (and more than 16
        MiB) is refused: it could only be decoded whole.

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
    files, beside = find_files(path, FORMATS)
    largest = min(max(memory // 2, SMALL_BLOCK), LARGEST_BLOCK)
    given = None if class_names is None else as_class_names(class_names)
    notes: list[str] = []
    parts, first = _read(
        files,
        largest,
        logits,
        exclusive=not logits and not multilabel,
        class_names=given,
        notes=notes,
    )
    named = files[0] if len(files) == 1 else files[0].parent
    tables = all(format_of(file) in TABLES for file in files)
    with reading(named):
        found = parts[0] if len(files) == 1 else combine_files(files, parts, notes)
        if given is None and tables and are_positions(found.get("class_names", ()), in_order=True):
            found.pop("class_names", None)  # a header of 0, 1, … names nothing
        names_in_file = found.get("class_names", ())
        found, class_order = name_classes(found, given, named.name, notes)
        truth = _labels(
            beside if labels is None and "y_true" not in found else labels,
            found,
            largest,
            first,
            notes,
        )
        found.pop("reordered", None)
        if truth is not None and class_order is not None:
            check_positions(truth, names_in_file, found["class_names"])
        found = found if truth is None else found | {"y_true": truth}
        found = arrange_axes(
            found, member_axis, class_axis, table=tables or len(files) > 1 or bool(multilabel)
        )
        if class_order is not None:
            kind = next(kind for kind in KINDS if kind in found)
            found[kind] = select_classes(found[kind], class_order)
        found = _in_units(found, normalize, multilabel, notes if tables else None)
        if "y_true" in found:
            if multilabel is None and found["y_true"].ndim == 2:
                notes.append("labels may occur together: `y_true` has a column for each class")
            # labels of the file are positions among the file's classes, whatever order these were
            # asked for in
            by_file = truth is None and class_order is not None and not are_positions(names_in_file)
            say_positions(
                found["y_true"], names_in_file if by_file else found.get("class_names"), notes
            )
        return Predictions(**found, multilabel=multilabel, path=named, notes=tuple(notes))


def readable_files(path: str | os.PathLike[str]) -> list[Path]:
    """A prediction file, or the files of a folder that may be read as predictions or labels; others
    may lie beside them.
    """
    path = Path(path)
    if not path.is_dir() or path.suffix == ".zarr":
        return [path]
    return [file for file in path.iterdir() if format_of(file) in FORMATS]


def _read(
    files: Sequence[Path],
    largest: int,
    logits: bool,
    *,
    exclusive: bool,
    class_names: Sequence[str] | None,
    notes: list[str],
) -> tuple[list[dict[str, Any]], Table | str]:
    """The fields in each file, and the first file, as a table if it is one."""
    opened = [_open(file, largest) for file in files]
    tables = [one for one in opened if isinstance(one, Table)]
    named = files[0] if len(files) == 1 else files[0].parent
    with reading(named):
        from_tables = iter(
            read_tables(tables, class_names=class_names, exclusive=exclusive, notes=notes)
            if tables
            else ()
        )
    parts = []
    for one in opened:
        fields = next(from_tables) if isinstance(one, Table) else one
        if logits and "probs" in fields:
            fields["logits"] = fields.pop("probs")
        parts.append(fields)
    return parts, opened[0] if isinstance(opened[0], Table) else files[0].name


def _open(path: Path, largest: int) -> Table | dict[str, Any]:
    """A table whose columns are to be understood, or the fields in a file of arrays."""
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty (0 bytes)")
    with reading(path):
        found = READERS[format_of(path)](path, largest)
        if isinstance(found, Table):
            return found
        for name in list(found):
            if name not in KEYS:  # the only array there
                found["probs"] = found.pop(name)
        if "class_names" in found:
            found["class_names"] = _text(found["class_names"])
    return found


def _pick(file: str, names: Sequence[str]) -> list[str]:
    """Which of the arrays in a file to read; warns of what is not, and of the only array there if
    it has no known name.
    """
    unknown = [name for name in names if name not in KEYS and name not in _ELSEWHERE]
    chosen = [name for name in names if name in KEYS]
    if not any(kind in names for kind in KINDS):
        candidates = [name for name in unknown if name.lower() not in _MEANT]
        if len(candidates) != 1:
            there = ", ".join(names[:8]) or "nothing"
            raise ValueError(
                f"{file} must hold `probs` (M, N, K) or `alpha` (N, K); it holds {there}. Save "
                "with np.savez(path, probs=...)"
            )
        warnings.warn(
            f"{file}: `{candidates[0]}` is the only array and is taken for `probs`", stacklevel=2
        )
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


def _labels(
    labels: Any, found: dict[str, Any], largest: int, first: Table | str, notes: list[str]
) -> Any:
    """Labels from an array or a file, in the order of the cases."""
    if labels is None:
        return None
    if not isinstance(labels, str | os.PathLike):
        given = labels_of_array(labels, found)
        return match_labels(given, found, "`labels`", first, notes)
    path = Path(labels)
    if not path.exists():
        raise FileNotFoundError(f"there is no file of labels {str(path)!r}{look_alike(path)}")
    if format_of(path) not in (*TABLES, ".npy", ".npz", ".txt"):
        raise ValueError(
            f"labels are read from .npy, .npz, .txt and tables ({', '.join(TABLES)}); got "
            f"{path.name!r}"
        )
    with reading(path):
        if format_of(path) not in TABLES:
            return match_labels(read_label_arrays(path), found, path.name, first, notes)
        opened = READERS[format_of(path)](path, largest)
        if not isinstance(opened, Table):
            raise TypeError(f"{path.name} must be a table of labels")
        return match_labels(labels_of_table(opened, found), found, path.name, first, notes)


def _in_units(
    found: dict[str, Any],
    normalize: bool,
    multilabel: bool | None,
    rounding_notes: list[str] | None,
) -> dict[str, Any]:
    """Probabilities as such, and labels as they are meant; bytes and percentages are refused, as
    nothing later would know what they are.

    Rounded probabilities are expected in tables alone; that they are is added to
    ``rounding_notes``.
    """
    kind = next(kind for kind in KINDS if kind in found)
    values = found[kind]
    if normalize:
        found[kind] = normalized(values, kind)
    elif kind == "probs" and not multilabel:
        if values.dtype == np.uint8:
            raise InputError("`probs` must be floating point; got uint8", fix="integers")
        if values.dtype.kind == "f" and 0 not in values.shape:
            with np.errstate(
                all="ignore"
            ):  # damaged values, which have their sentence where they are used
                sums = np.asarray(values[:, :64]).sum(axis=-1, dtype=float)
            if np.allclose(sums, 100, atol=2):
                raise InputError(
                    "`probs` must sum to 1 over the classes; they sum to 100",
                    fix="file_percentages",
                )
    if kind == "logits":
        check_logits(values, multilabel)
    elif (
        kind == "probs"
        and rounding_notes is not None
        and not normalize
        and not multilabel
        and values.shape[-1] > 1
    ):
        found[kind] = unrounded(values, rounding_notes)
    if (
        kind in ("probs", "logits")
        and values.shape[-1] == 1
        and not multilabel
        and not np.all(np.asarray(values[:, :64]) == 1)
    ):
        found = two_classes(values, kind, found)
    if "y_true" in found:
        found["y_true"] = arrange_labels(found["y_true"], found, multilabel)
    return found
