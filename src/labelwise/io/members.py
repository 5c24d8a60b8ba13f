"""Several files, or a folder of them, as the members of one ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InputError
from .._validation.labels import as_labels, integer_names
from .files import format_of
from .on_disk import select_classes, stacked
from .predictions import Fields, kind_of

__all__ = [
    "are_positions",
    "check_unique",
    "combine",
    "combine_files",
    "labels_in_order",
    "same_order",
]


def combine_files(files: Sequence[Path], parts: list[Fields], notes: list[str]) -> Fields:
    """The fields of one ensemble from those of its files; says how cases and classes were
    matched.
    """
    names = [file.name for file in files]
    named = [part for part in parts if "class_names" in part]
    by_position = [part for part in named if are_positions(part["class_names"])]
    if len(by_position) < len(named):
        for part in by_position:  # beside real names, 0, 1, … are none
            del part["class_names"]
    nameless = [name for name, part in zip(names, parts, strict=True) if "class_names" not in part]
    if 0 < len(nameless) < len(parts):
        notes.append(f"classes of {nameless[0]} matched by position: it has no class names")
    whole = combine(names, parts)
    if "ids" not in whole:
        notes.append("rows matched by number: the files have no ids")
    elif not any(note.startswith("rows matched") for note in notes):
        notes.append("rows matched by `ids`")
    whole["member_names"] = tuple(_member_names(files, parts))
    factors = [part.get("factors") or {} for part in parts]
    same = all(list(one) == list(factors[0]) for one in factors)
    whole["factors"] = None
    if same and factors[0]:
        whole["factors"] = {
            name: tuple(level for one in factors for level in one[name]) for name in factors[0]
        }
    return whole


def _member_names(files: Sequence[Path], parts: Sequence[Fields]) -> list[str]:
    """What the members are called, by their files."""
    names = []
    for file, part in zip(files, parts, strict=True):
        stem = file.name[: -len(format_of(file))]
        shape = part[kind_of(part)].shape
        if "member_names" in part:
            names += [f"{stem} / {name}" for name in part["member_names"]]
        elif len(shape) == 2 or shape[0] == 1:
            names.append(stem)
        else:
            names += [f"{stem} / {number}" for number in range(shape[0])]
    return names


def are_positions(names: Sequence[str], *, in_order: bool = False) -> bool:
    """Whether classes are called 0, 1, …, in this or any order."""
    positions = [str(k) for k in range(len(names))]
    return list(names) == positions if in_order else sorted(names) == sorted(positions)


def combine(names: Sequence[str], parts: list[Fields]) -> Fields:
    """The fields of one ensemble from those of its members, which messages call ``names``: cases
    aligned by ``ids``, classes by name.
    """
    first, kind = names[0], kind_of(parts[0])
    for name, part in zip(names, parts, strict=True):
        _check_member(name, part, first, kind)
    _check_ids(names, parts)
    whole = dict(parts[0])
    owners = dict.fromkeys(whole, first)  # who said it first
    for name, part in zip(names[1:], parts[1:], strict=True):
        _align_classes(first, whole, name, part, kind)
        if _align_cases(first, whole, name, part, kind):
            part.setdefault("reordered", (first, name))
        if "reordered" in part:  # by the number of the row, a label would belong to several cases
            whole.setdefault("reordered", part["reordered"])
        for key in ("y_true", "groups", "images"):
            if key in part and key not in whole:
                whole[key], owners[key] = part[key], name
            elif key in part and key != "images":
                _check_agreement(key, owners[key], whole, name, part)
    arrays = [part[kind] for part in parts]
    for name, x in zip(names, arrays, strict=True):
        if x.shape[-2:] != arrays[0].shape[-2:]:
            raise ValueError(
                f"{name}: `{kind}` has shape {tuple(x.shape)}; {first} has "
                f"{tuple(arrays[0].shape)}. All need the same cases"
            )
    whole[kind] = stacked(arrays)
    return whole


def _check_member(name: str, part: Fields, first: str, kind: str) -> None:
    own = kind_of(part)
    shape = tuple(part[own].shape)
    if len(shape) not in (2, 3):
        raise ValueError(
            f"{name}: `{own}` must have the axes (instances, classes); got shape {shape}"
        )
    if own != kind:
        raise ValueError(
            f"{first} holds `{kind}` and {name} `{own}`; all members must be given in the same way"
        )
    if "weights" in part:
        raise ValueError(
            f"{name}: `weights` of members in several files have no meaning; put the members "
            "into one file"
        )


def _check_ids(names: Sequence[str], parts: Sequence[Fields]) -> None:
    """Refuse ids that are repeated, and members of which only some have ids."""
    with_ids = [name for name, part in zip(names, parts, strict=True) if "ids" in part]
    without = [name for name in names if name not in with_ids]
    if with_ids and without:
        raise InputError(
            f"{with_ids[0]} has ids and {without[0]} has none, so that their rows cannot be "
            "matched. "
            "Give all files the same ids, or none if their rows are in the same order"
        )
    if with_ids:  # those of the others are the same, or compared with these
        check_unique(names[0], _ids(parts[0]))


def _ids(part: Fields) -> np.ndarray:
    return np.asarray(part["ids"]).astype(str)


def check_unique(owner: str, ids: np.ndarray) -> None:
    """Refuse an id that is there more than once."""
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(
            f"{owner} has the id {str(values[counts > 1][0])!r} more than once; cases cannot be "
            "aligned by it"
        )


def _align_classes(first: str, whole: Fields, name: str, part: Fields, kind: str) -> None:
    """The classes of ``part``, and labels that are positions among them, in the order of the first
    file that names any.
    """
    if "class_names" not in part:
        return
    there = list(part["class_names"])
    whole.setdefault("class_names", part["class_names"])
    wanted = list(whole["class_names"])
    if wanted == there:
        return
    if sorted(wanted) != sorted(there):
        missing = [word for word in wanted if word not in there]
        missing += [word for word in there if word not in wanted]
        raise ValueError(
            f"{first} and {name} have different classes; only one of them has {missing[0]!r}"
        )
    order = [there.index(word) for word in wanted]
    part[kind] = select_classes(part[kind], order)
    if "y_true" in part:
        part["y_true"] = labels_in_order(np.asarray(part["y_true"]), there, order)


def labels_in_order(y: np.ndarray, names: Sequence[str], order: Sequence[int]) -> np.ndarray:
    """Labels of the classes ``names`` after these were put into another order; only positions
    change.
    """
    if y.ndim == 2 and y.shape[1] == len(names):  # 0 or 1 for each class
        return np.asarray(y[:, list(order)])
    whole = y.dtype.kind in "iu" or (y.dtype.kind == "f" and bool(np.all(y == np.floor(y))))
    if not whole or not y.size or integer_names(names) is not None:
        return y
    if y.min() < 0 or y.max() >= len(names):
        return y
    return np.asarray(np.argsort(order)[y.astype(np.int64)])


def _align_cases(first: str, whole: Fields, name: str, part: Fields, kind: str) -> bool:
    """The cases of ``part`` in the order of the first file's ``ids``, and whether they had another;
    without ids, there must be as many.
    """
    n, m = whole[kind].shape[-2], part[kind].shape[-2]
    if "ids" not in whole:
        if n != m:
            raise ValueError(
                f"{first} has {n:,} cases and {name} {m:,}; all members need the same ones (a "
                "column `id` would align them)"
            )
        return False
    wanted, there = _ids(whole), _ids(part)
    if np.array_equal(wanted, there):
        return False
    order = same_order(first, wanted, name, there)
    part[kind] = np.take(np.asarray(part[kind]), order, axis=-2)
    for key in ("y_true", "groups", "images"):
        if key in part:
            part[key] = np.asarray(part[key])[order]
    return True


def same_order(name: str, wanted: np.ndarray, file: str, there: np.ndarray) -> np.ndarray:
    """Where the ids ``wanted`` are among those that are ``there``; the first that is missing on one
    side is named.
    """
    check_unique(name, wanted)
    check_unique(file, there)
    for one, other, ids, others in ((name, file, wanted, there), (file, name, there, wanted)):
        missing = ids[~np.isin(ids, others)]
        if missing.size:
            raise ValueError(
                f"{one} and {other} have different cases; the first to differ is "
                f"{str(missing[0])!r}, only in {one}"
            )
    place = np.argsort(there, kind="stable")
    return np.asarray(place[np.searchsorted(there, wanted, sorter=place)])


def _check_agreement(key: str, first: str, whole: Fields, name: str, part: Fields) -> None:
    """Refuse members that disagree about the label or group of a case."""
    a, b = (_comparable(one[key], key, whole.get("class_names")) for one in (whole, part))
    if a.shape == b.shape and (a != b).any():
        row = int(np.argwhere(a != b)[0, 0])
        case = str(whole["ids"][row]) if "ids" in whole else f"number {row}"
        word = "true label" if key == "y_true" else "group"
        raise ValueError(f"{first} and {name} disagree about the {word} of case {case!r}")


def _comparable(values: Any, key: str, class_names: Sequence[str] | None) -> np.ndarray:
    """Labels as positions where the class names tell them, so that 'cat' and 0 can be the same;
    else text.
    """
    values = np.asarray(values)
    if key == "y_true" and class_names is not None and values.ndim == 1:
        return np.asarray(as_labels(values, key, class_names, values.shape))
    return np.asarray(values.astype(str))
