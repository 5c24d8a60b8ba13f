"""Several files, or a folder of them, as the members of one ensemble."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .predictions import KINDS

__all__ = ["Stacked", "combine", "find_files", "look_alike", "same_order"]

LABEL_FILES = ("y_true", "labels", "label")
"""A file of a folder with such a name holds the true labels."""
_MOST_FILES = 10_000


@dataclass(frozen=True, eq=False)
class Stacked:
    """Predictions (N, K) or (M, N, K) of several files as one array, still in their files."""

    parts: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, key: Any) -> np.ndarray:
        rows = key[1] if isinstance(key, tuple) and len(key) > 1 else slice(None)
        if not isinstance(key, tuple) or key[0] != slice(None) or not isinstance(rows, slice):
            raise IndexError("predictions in several files are sliced by instance")
        blocks = [np.asarray(x[rows])[None] if len(x.shape) == 2 else np.asarray(x[:, rows]) for x in self.parts]
        return np.concatenate(blocks, dtype=self.dtype)


def find_files(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], formats: Collection[str]) -> tuple[list[Path], Path | None]:
    """The files of the members, and that of the labels if a folder has one."""
    paths = [Path(path)] if isinstance(path, str | os.PathLike) else [Path(one) for one in path]
    if not paths:
        raise ValueError("there are no prediction files; name at least one")
    if len(paths) > 1 or not paths[0].is_dir() or paths[0].suffix == ".zarr":
        for one in paths:
            if one.suffix.lower() not in formats:
                raise ValueError(f"predictions are read from {', '.join(formats)}, or a folder of such files; got {one.name or str(one)!r}")
            if not one.exists():
                raise FileNotFoundError(f"there is no prediction file {str(one)!r}{look_alike(one)}")
        return paths, None
    inside = sorted((one for one in paths[0].iterdir() if one.suffix.lower() in formats and not one.name.startswith(".")), key=_natural)
    labels = [one for one in inside if one.stem in LABEL_FILES]
    files = [one for one in inside if one.stem not in LABEL_FILES]
    if not files:
        raise ValueError(f"the folder {str(paths[0])!r} holds no prediction files ({', '.join(formats)})")
    if len(files) > _MOST_FILES:
        raise ValueError(f"the folder {str(paths[0])!r} holds {len(files):,} files; at most {_MOST_FILES:,} members are read")
    kinds = sorted({one.suffix.lower() for one in files})
    if len(kinds) > 1:
        raise ValueError(f"the folder {str(paths[0])!r} holds files of several formats ({', '.join(kinds)}); name those of the members")
    return files, labels[0] if labels else None


def _natural(path: Path) -> list[Any]:
    """model2 before model10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]{1,18})", path.name)]


def look_alike(path: Path) -> str:
    """The end of a message about a missing file: the file that was probably meant."""
    try:
        there = sorted(os.listdir(path.parent))[:_MOST_FILES]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, there, n=1, cutoff=0.6)
    return f". Did you mean {str(path.with_name(close[0]))!r}?" if close else ""


def combine(files: Sequence[Path], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of one ensemble from those of its members' files: cases aligned by ``ids``, classes by name."""
    first, name = parts[0], files[0].name
    kind = _kind(first)
    whole = dict(first)
    for file, part in zip(files, parts, strict=True):
        shape = tuple(part[_kind(part)].shape)
        if len(shape) not in (2, 3):
            raise ValueError(f"{file.name}: `{_kind(part)}` must have the axes (instances, classes); got shape {shape}")
    for file, part in zip(files[1:], parts[1:], strict=True):
        if _kind(part) != kind:
            raise ValueError(f"{name} holds `{kind}` and {file.name} `{_kind(part)}`; all members must be given in the same way")
        if "weights" in part or "weights" in first:
            raise ValueError(f"{file.name}: `weights` of members in several files have no meaning; put the members into one file")
        _align_classes(name, first, file.name, part, kind)
        _align_cases(name, first, file.name, part, kind)
        for key in ("y_true", "groups", "images"):
            if key in part and key not in whole:
                whole[key] = part[key]
    arrays = [part[kind] for part in parts]
    count = sum(1 if len(x.shape) == 2 else int(x.shape[0]) for x in arrays)
    shape = (count, *(int(n) for n in arrays[0].shape[-2:]))
    for file, x in zip(files, arrays, strict=True):
        if tuple(x.shape[-2:]) != shape[1:]:
            raise ValueError(
                f"{file.name}: `{kind}` has shape {tuple(x.shape)}; {name} has {tuple(arrays[0].shape)}. All need the same cases"
            )
    stacked = Stacked(tuple(arrays), shape, np.result_type(*(x.dtype for x in arrays)))
    in_memory = all(type(x) is np.ndarray for x in arrays)
    return whole | {kind: stacked[:, :] if in_memory else stacked}


def _kind(part: dict[str, Any]) -> str:
    return next(kind for kind in KINDS if kind in part)


def _align_classes(name: str, first: dict[str, Any], file: str, part: dict[str, Any], kind: str) -> None:
    """The classes of ``part`` in the order of the first file's."""
    if "class_names" not in part or "class_names" not in first:
        return
    wanted, there = list(first["class_names"]), list(part["class_names"])
    if wanted == there:
        return
    if sorted(wanted) != sorted(there):
        missing = [word for word in wanted if word not in there] or [word for word in there if word not in wanted]
        raise ValueError(f"{name} and {file} have different classes; only one of them has {missing[0]!r}")
    part[kind] = np.asarray(part[kind][:, :] if len(part[kind].shape) == 3 else part[kind][:])[..., [there.index(word) for word in wanted]]


def _align_cases(name: str, first: dict[str, Any], file: str, part: dict[str, Any], kind: str) -> None:
    """The cases of ``part`` in the order of the first file's ``ids``; without any, there must be as many."""
    n, m = int(first[kind].shape[-2]), int(part[kind].shape[-2])
    if "ids" not in first or "ids" not in part:
        if n != m:
            raise ValueError(f"{name} has {n:,} cases and {file} {m:,}; all members need the same ones (a column `id` would align them)")
    else:
        wanted, there = np.asarray(first["ids"][:]).astype(str), np.asarray(part["ids"][:]).astype(str)
        if not np.array_equal(wanted, there):
            order = same_order(name, wanted, file, there)
            axis = len(part[kind].shape) - 2
            part[kind] = np.take(np.asarray(part[kind][:, :] if axis else part[kind][:]), order, axis=axis)
            for key in ("y_true", "groups"):
                if key in part:
                    part[key] = np.asarray(part[key])[order]
    if "y_true" in first and "y_true" in part:
        a, b = np.asarray(first["y_true"]), np.asarray(part["y_true"])
        if a.shape == b.shape and (a != b).any():
            at = int(np.flatnonzero((a != b).reshape(len(a), -1).any(axis=-1))[0])
            case = str(first["ids"][:][at]) if "ids" in first else f"number {at}"
            raise ValueError(f"{name} and {file} disagree about the true label of case {case!r}")


def same_order(name: str, wanted: np.ndarray, file: str, there: np.ndarray) -> np.ndarray:
    """Where the ids ``wanted`` are among those that are ``there``; the first that is missing on one side is named."""
    for owner, ids in ((name, wanted), (file, there)):
        values, counts = np.unique(ids, return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"{owner} has the id {str(values[counts > 1][0])!r} more than once; cases cannot be aligned by it")
    for one, other, ids, others in ((name, file, wanted, there), (file, name, there, wanted)):
        missing = np.flatnonzero(~np.isin(ids, others))
        if missing.size:
            raise ValueError(f"{one} and {other} have different cases; the first to differ is {str(ids[missing[0]])!r}, only in {one}")
    place = np.argsort(there, kind="stable")
    return np.asarray(place[np.searchsorted(there, wanted, sorter=place)])
