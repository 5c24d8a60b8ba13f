"""Several files, or a folder of them, as the members of one ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InputError
from .._labels import as_labels, integer_names
from .files import format_of
from .on_disk import stacked
from .predictions import KINDS

__all__ = [
    "are_positions",
    "check_unique",
    "combine",
    "combine_files",
    "labels_in_order",
    "same_order",
]


def combine(names: Sequence[str], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of one ensemble from those of its members, which messages call ``names``: cases
    aligned by ``ids``, classes by name.
    """
    first, name = parts[0], names[0]
    kind = _kind(first)
    for owner, part in zip(names, parts, strict=True):
        shape = tuple(part[_kind(part)].shape)
        if len(shape) not in (2, 3):
            raise ValueError(
                f"{owner}: `{_kind(part)}` must have the axes (instances, classes); got shape "
                f"{shape}"
            )
        if _kind(part) != kind:
            raise ValueError(
                f"{name} holds `{kind}` and {owner} `{_kind(part)}`; all members must be given in "
                "the same way"
            )
        if "weights" in part and len(parts) > 1:
            raise ValueError(
                f"{owner}: `weights` of members in several files have no meaning; put the members "
                "into one file"
            )
    _check_ids(names, parts)
    whole = dict(first)
    owners = dict.fromkeys(first, name)  # who said it first
    reordered = next((part["reordered"] for part in parts if "reordered" in part), None)
    for owner, part in zip(names[1:], parts[1:], strict=True):
        _align_classes(name, whole, owner, part, kind)
        if _align_cases(name, first, owner, part, kind) and reordered is None:
            reordered = (name, owner)
        for key in ("y_true", "groups", "images"):
            if key not in part:
                continue
            if key not in whole:
                whole[key], owners[key] = part[key], owner
            elif key != "images":
                _check_agreement(key, owners[key], whole, owner, part)
    arrays = [part[kind] for part in parts]
    for owner, x in zip(names, arrays, strict=True):
        if x.shape[-2:] != arrays[0].shape[-2:]:
            raise ValueError(
                f"{owner}: `{kind}` has shape {tuple(x.shape)}; {name} has "
                f"{tuple(arrays[0].shape)}. All need the same cases"
            )
    if reordered is not None:  # by the number of the row, a label would belong to several cases
        whole["reordered"] = reordered
    return whole | {kind: stacked(arrays)}


def combine_files(
    files: Sequence[Path], parts: list[dict[str, Any]], notes: list[str]
) -> dict[str, Any]:
    """The fields of one ensemble from those of its files; says how cases and classes were
    matched.
    """
    names = [file.name for file in files]
    if any("class_names" in part and not are_positions(part["class_names"]) for part in parts):
        for part in parts:  # beside real names, 0, 1, … are none
            if are_positions(part.get("class_names", ())):
                part.pop("class_names", None)
    nameless = [name for name, part in zip(names, parts, strict=True) if "class_names" not in part]
    if 0 < len(nameless) < len(parts):
        notes.append(f"classes of {nameless[0]} matched by position: it has no class names")
    whole = combine(names, parts)
    if "ids" not in whole:
        notes.append("rows matched by number: the files have no ids")
    elif not any(note.startswith("rows matched") for note in notes):
        notes.append("rows matched by `ids`")
    return whole | _member_names(files, parts)


def are_positions(names: Sequence[str], *, in_order: bool = False) -> bool:
    """Whether classes are called 0, 1, …, in this or any order."""
    positions = [str(k) for k in range(len(names))]
    return list(names) == positions if in_order else sorted(names) == sorted(positions)


def _member_names(files: Sequence[Path], parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the members are called, by their files, and their factors if all files have the same
    ones.
    """
    names: list[str] = []
    for file, part in zip(files, parts, strict=True):
        stem = file.name[: -len(format_of(file))]
        values = part[_kind(part)]
        if "member_names" in part:
            names += [f"{stem} / {name}" for name in part["member_names"]]
        elif len(values.shape) == 2 or values.shape[0] == 1:
            names.append(stem)
        else:
            names += [f"{stem} / {number}" for number in range(values.shape[0])]
    found: dict[str, Any] = {"member_names": tuple(names), "factors": None}
    factors = [part.get("factors") or {} for part in parts]
    if factors[0] and all(list(one) == list(factors[0]) for one in factors):
        found["factors"] = {
            name: tuple(level for one in factors for level in one[name]) for name in factors[0]
        }
    return found


def _kind(part: dict[str, Any]) -> str:
    return next(kind for kind in KINDS if kind in part)


def _check_ids(names: Sequence[str], parts: Sequence[dict[str, Any]]) -> None:
    """Refuse ids that are repeated, and members of which only some have ids."""
    for owner, part in zip(names, parts, strict=True):
        if "ids" in part:
            check_unique(owner, np.asarray(part["ids"][:]).astype(str))
    with_ids = [owner for owner, part in zip(names, parts, strict=True) if "ids" in part]
    without = [owner for owner, part in zip(names, parts, strict=True) if "ids" not in part]
    if with_ids and without:
        raise InputError(
            f"{with_ids[0]} has ids and {without[0]} has none, so that their rows cannot be "
            "matched. "
            "Give all files the same ids, or none if their rows are in the same order"
        )


def check_unique(owner: str, ids: np.ndarray) -> None:
    """Refuse an id that is there more than once."""
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(
            f"{owner} has the id {str(values[counts > 1][0])!r} more than once; cases cannot be "
            "aligned by it"
        )


def _align_classes(
    name: str, whole: dict[str, Any], file: str, part: dict[str, Any], kind: str
) -> None:
    """The classes of ``part``, and labels that are positions among them, in the order of the first
    file that names any.
    """
    if "class_names" not in part:
        return
    if "class_names" not in whole:
        whole["class_names"] = part["class_names"]
        return
    wanted, there = list(whole["class_names"]), list(part["class_names"])
    if wanted == there:
        return
    if sorted(wanted) != sorted(there):
        missing = [word for word in wanted if word not in there] or [
            word for word in there if word not in wanted
        ]
        raise ValueError(
            f"{name} and {file} have different classes; only one of them has {missing[0]!r}"
        )
    order = [there.index(word) for word in wanted]
    values = part[kind][:, :] if len(part[kind].shape) == 3 else part[kind][:]
    part[kind] = np.asarray(values)[..., order]
    part["class_names"] = tuple(wanted)
    if "y_true" in part:
        part["y_true"] = labels_in_order(np.asarray(part["y_true"]), there, order)


def labels_in_order(y: np.ndarray, names: Sequence[str], order: Sequence[int]) -> np.ndarray:
    """Labels of the classes ``names`` after these were put into another order; only positions
    change.
    """
    if y.ndim == 2 and y.shape[1] == len(names):  # 0 or 1 for each class
        return np.asarray(y[:, list(order)])
    whole = y.dtype.kind in "iu" or (y.dtype.kind == "f" and bool(np.all(y == np.floor(y))))
    if (
        not whole
        or not y.size
        or integer_names(names) is not None
        or y.min() < 0
        or y.max() >= len(names)
    ):
        return y
    return np.asarray(np.argsort(order)[y.astype(np.int64)])


def _align_cases(
    name: str, first: dict[str, Any], file: str, part: dict[str, Any], kind: str
) -> bool:
    """The cases of ``part`` in the order of the first file's ``ids``, and whether they had another;
    without ids, there must be as many.
    """
    n, m = int(first[kind].shape[-2]), int(part[kind].shape[-2])
    if "ids" not in first:
        if n != m:
            raise ValueError(
                f"{name} has {n:,} cases and {file} {m:,}; all members need the same ones (a "
                "column `id` would align them)"
            )
        return False
    wanted, there = np.asarray(first["ids"][:]).astype(str), np.asarray(part["ids"][:]).astype(str)
    if np.array_equal(wanted, there):
        return False
    order = same_order(name, wanted, file, there)
    axis = len(part[kind].shape) - 2
    part[kind] = np.take(np.asarray(part[kind][:, :] if axis else part[kind][:]), order, axis=axis)
    for key in ("y_true", "groups", "images"):
        if key in part:
            part[key] = np.asarray(part[key][:])[order]
    return True


def _check_agreement(
    key: str, name: str, whole: dict[str, Any], file: str, part: dict[str, Any]
) -> None:
    """Refuse members that disagree about the label or group of a case."""
    class_names = whole.get("class_names")
    a, b = (_comparable(one[key], key, class_names) for one in (whole, part))
    if a.shape == b.shape and (a != b).any():
        row = int(np.flatnonzero((a != b).reshape(len(a), -1).any(axis=-1))[0])
        case = str(whole["ids"][:][row]) if "ids" in whole else f"number {row}"
        word = "true label" if key == "y_true" else "group"
        raise ValueError(f"{name} and {file} disagree about the {word} of case {case!r}")


def _comparable(values: Any, key: str, class_names: Sequence[str] | None) -> np.ndarray:
    """Labels as positions where the class names tell them, so that 'cat' and 0 can be the same;
    else text.
    """
    values = np.asarray(values[:])
    if key == "y_true" and class_names is not None and values.ndim == 1:
        return np.asarray(as_labels(values, key, class_names, values.shape))
    return np.asarray(values.astype(str))


def same_order(name: str, wanted: np.ndarray, file: str, there: np.ndarray) -> np.ndarray:
    """Where the ids ``wanted`` are among those that are ``there``; the first that is missing on one
    side is named.
    """
    for owner, ids in ((name, wanted), (file, there)):
        check_unique(owner, ids)
    for one, other, ids, others in ((name, file, wanted, there), (file, name, there, wanted)):
        missing = np.flatnonzero(~np.isin(ids, others))
        if missing.size:
            raise ValueError(
                f"{one} and {other} have different cases; the first to differ is "
                f"{str(ids[missing[0]])!r}, only in {one}"
            )
    place = np.argsort(there, kind="stable")
    return np.asarray(place[np.searchsorted(there, wanted, sorter=place)])
