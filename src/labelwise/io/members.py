"""Several files, or a folder of them, as the members of one ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InputError
from .._frames import repeated
from ..sources import name_members
from .class_names import reorder_classes
from .ids import check_unique_ids, order_by_ids
from .on_disk import stack_members
from .predictions import Fields, kind_of

_PER_CASE = ("y_true", "groups", "images")


def combine_files(files: Sequence[Path], parts: list[Fields], notes: list[str]) -> Fields:
    """The fields of one ensemble from those of its files; says how cases and classes were
    matched.
    """
    nameless = []
    for file, part in zip(files, parts, strict=True):
        if "class_names" not in part:
            nameless.append(file.name)
    names, factors = name_members(_known_about_members(files, parts))
    if 0 < len(nameless) < len(parts):
        notes.append(f"classes of {nameless[0]} matched by position: it has no class names")
    whole = combine_members([file.name for file in files], parts)
    whole["member_names"], whole["factors"] = names, factors
    if "ids" not in whole:
        notes.append("rows matched by number: the files have no ids")
    elif not any(note.startswith("rows matched") for note in notes):
        notes.append("rows matched by `ids`")
    return whole


def _known_about_members(files: Sequence[Path], parts: list[Fields]) -> list[dict[str, str]]:
    """The levels and the file of each member."""
    known = []
    for stem, part in zip(_distinct_stems(files), parts, strict=True):
        factors = part.get("factors", {})
        shape = part[kind_of(part)].shape
        n_members = shape[0] if len(shape) == 3 else 1
        names = part.get("member_names", range(n_members))
        for i in range(n_members):
            member = {key: levels[i] for key, levels in factors.items()}
            member["file"] = stem
            if n_members > 1 and not factors:
                member["file"] = f"{stem} / {names[i]}"
            known.append(member)
    return known


def _distinct_stems(files: Sequence[Path]) -> list[str]:
    """File names without their endings, and with their folders as far as they are needed."""
    for depth in range(1, max(len(file.parts) for file in files) + 1):
        stems = ["/".join(file.with_suffix("").parts[-depth:]) for file in files]
        if repeated(stems) is None:
            return stems
    return [f"{i + 1}: {file.stem}" for i, file in enumerate(files)]  # a file that is named twice


def combine_members(names: Sequence[str], parts: list[Fields]) -> Fields:
    """The fields of one ensemble from those of its members, which messages call ``names``: cases
    aligned by ``ids``, classes by name.
    """
    first, kind = names[0], kind_of(parts[0])
    whole = dict(parts[0])
    if "ids" in whole:  # those of the others are the same, or compared with these
        check_unique_ids(first, _ids_as_text(whole))
    for name, part in zip(names, parts, strict=True):
        _check_member(name, part, first, whole, kind)
        if "class_names" in part:
            class_names: Any = whole.setdefault("class_names", part["class_names"])
            if class_names != part["class_names"]:
                reorder_classes(part, kind, class_names, name)
        _align_cases(first, whole, name, part, kind)
        if "reordered" in part:  # by the number of the row, a label would belong to several cases
            whole.setdefault("reordered", part["reordered"])
        for key in _PER_CASE:
            if key in part and key not in whole:
                whole[key] = part[key]
            elif key in part and key != "images":
                _check_agreement(key, whole, name, part)
    whole[kind] = stack_members([part[kind] for part in parts])
    return whole


def _check_member(name: str, part: Fields, first: str, whole: Fields, kind: str) -> None:
    """Refuse a member that is given in another way than the first, or has no ids where that has
    any.
    """
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
    if ("ids" in part) != ("ids" in whole):
        having, lacking = first, name
        if "ids" in part:
            having, lacking = name, first
        raise InputError(
            f"{having} has ids and {lacking} has none, so that their rows cannot be matched. "
            "Give all files the same ids, or none if their rows are in the same order"
        )
    if "ids" in part and part["ids"].shape[0] != shape[-2]:
        raise ValueError(f"{name}: `ids` must name each of the {shape[-2]:,} cases")
    if "weights" in part:
        raise ValueError(f"{name}: `weights` of members must be in one file with all of them")


def _ids_as_text(part: Fields) -> np.ndarray:
    return np.asarray(part["ids"]).astype(str)


def _align_cases(first: str, whole: Fields, name: str, part: Fields, kind: str) -> None:
    """The cases of ``part`` in the order of the first file's ``ids``; then there must be as
    many.
    """
    if "ids" in whole:
        ids, own_ids = _ids_as_text(whole), _ids_as_text(part)
        if not np.array_equal(ids, own_ids):
            order = order_by_ids(first, ids, name, own_ids)
            part[kind] = np.take(np.asarray(part[kind]), order, axis=-2)
            for key in part.keys() & _PER_CASE:
                part[key] = np.asarray(part[key])[order]
            part["reordered"] = first, name
    wanted, shape = whole[kind].shape[-2:], part[kind].shape[-2:]
    if wanted != shape:
        raise ValueError(
            f"{first} has {wanted[0]:,} cases × {wanted[1]:,} classes and {name} {shape[0]:,} × "
            f"{shape[1]:,}; all members need the same ones (a column `id` would align the cases)"
        )


def _check_agreement(key: str, whole: Fields, name: str, part: Fields) -> None:
    """Refuse members that disagree about the label or group of a case."""
    known, own = np.asarray(whole[key]).astype(str), np.asarray(part[key]).astype(str)
    if known.shape == own.shape and (known != own).any():
        row = np.argwhere(known != own)[0, 0]
        case = f"number {row}"
        if "ids" in whole:
            case = str(whole["ids"][row])
        raise ValueError(f"{name} disagrees with others about `{key}` of case {case!r}")
