"""Classes by name: in the order that the user gave, or as the names of positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._errors import InputError, listed
from .._frames import order_of_names
from .._tables import first_names
from .._validation.labels import integer_names
from .on_disk import change_when_read
from .predictions import Fields


def match_class_names(
    found: Fields, kind: str, wanted: tuple[str, ...], file: str, notes: list[str]
) -> None:
    """Put the classes of a file, and its labels, in the order of the names that the user gave."""
    there = found["class_names"]
    if there == wanted:
        return
    if len(there) == 1 and len(wanted) == 2 and there[0] == wanted[1]:
        found["class_names"] = wanted  # the file has the probability of the second of two classes
        return
    if sorted(there) != sorted(wanted):
        unknown = [name for name in wanted if name not in there] or wanted
        raise InputError(
            f"the class name {unknown[0]!r} is none of the file's: {listed(there, 8)}. Give "
            "the same names, in any order; to rename classes, rename them in the file",
            where=file,
        )
    notes.append("classes matched by name, in the order that was given")
    reorder_classes(found, kind, wanted, file)


def reorder_classes(found: Fields, kind: str, wanted: Sequence[str], file: str) -> None:
    """Put predictions and labels of a ``file`` in the order of the classes ``wanted``, which must
    be the same; labels that are positions are refused, because those of either order may be meant.
    """
    there = found["class_names"]
    order = order_of_names(there, wanted, file)
    found["class_names"] = tuple(wanted)
    found[kind] = change_when_read(found[kind], lambda block: block[..., order], found[kind].dtype)
    if "y_true" not in found:
        return
    y = np.asarray(found["y_true"])
    if y.ndim == 2:  # 0 or 1 for each class
        found["y_true"] = y[:, order]
    elif y.dtype.kind in "iuf" and integer_names(wanted) is None:
        raise InputError(
            f"labels are positions, and whether 0 is {there[0]!r} or {wanted[0]!r} cannot be "
            "known, because the classes are in different orders. Give labels as class names"
        )


def say_positions(what: str, names: Sequence[str], notes: list[str]) -> None:
    """Note what the positions of classes or labels mean: 0, 1, 2 = cat, dog, fox."""
    notes.append(f"{what} {first_names(range(len(names)), 8)} = {first_names(names, 8)}")
