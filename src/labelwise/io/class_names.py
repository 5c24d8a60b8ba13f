"""Classes by name: those of the file in the order that the user gave, or the names of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import InputError
from .._frames import names_by_position
from .._validation.labels import integer_names
from .members import are_positions, labels_in_order
from .predictions import kind_of

__all__ = [
    "as_class_names",
    "check_positions",
    "known_names",
    "name_classes",
    "say_positions",
]


def as_class_names(names: Any) -> tuple[str, ...]:
    """Class names in their order: a sequence, or a dictionary such as ``id2label`` of Hugging Face,
    or its inverse.

    >>> as_class_names({"1": "dog", "0": "cat"})
    ('cat', 'dog')
    """
    if not isinstance(names, Mapping):
        return tuple(str(name) for name in names)
    in_order = names_by_position(names)
    if in_order is None:
        raise InputError(
            "`class_names` as a dictionary must give a name to each position 0 … "
            f"{len(names) - 1}; got {str(names)[:100]}"
        )
    return in_order


def known_names(found: dict[str, Any]) -> list[str]:
    """The names of the classes, or their positions as text."""
    n_classes = int(found[kind_of(found)].shape[-1])
    return [str(name) for name in found.get("class_names", range(n_classes))]


def name_classes(
    found: dict[str, Any], given: Sequence[str] | None, file: str, notes: list[str]
) -> tuple[dict[str, Any], list[int] | None]:
    """The class names that the user gave: matched by name where the file has names, else by
    position.

    Labels of the file are already in the new order; where each class is in the file comes second,
    for the predictions.
    """
    there, wanted = list(found.get("class_names", ())), list(given or ())
    if given is None or there == wanted:
        return found, None
    if len(there) == 1 and len(wanted) == 2:  # the probability of the second of two classes
        if there[0] == wanted[0]:
            raise InputError(
                f"column {there[0]!r} would be the second of the classes {wanted[0]!r} and "
                f"{wanted[1]!r}",
                where=file,
            )
        return found | {"class_names": tuple(wanted)}, None

    found = found | {"class_names": tuple(wanted)}
    if sorted(there) == sorted(wanted) and not are_positions(there):
        notes.append("classes matched by name, in the order that was given")
        order = [there.index(name) for name in wanted]
        if "y_true" in found:
            found["y_true"] = labels_in_order(np.asarray(found["y_true"]), there, order)
    elif are_positions(there) and len(there) in (0, len(wanted)):
        if not are_positions(wanted, in_order=True):
            notes.append(f"classes {_numbered(wanted)}")
        order = [there.index(str(k)) for k in range(len(there))]
    else:
        other = next((name for name in wanted if name not in there), wanted[0])
        listed = ", ".join(there[:8]) + (", …" if len(there) > 8 else "")
        raise InputError(
            f"the class name {other!r} is none of the file's: {listed}. Give the same names, "
            "in any order; to rename classes, rename them in the file",
            where=file,
        )
    return found, None if order == sorted(order) else order


def check_positions(y: np.ndarray, there: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse labels that are positions, if classes named in the file ``there`` are ``wanted`` in
    another order: either may be meant.
    """
    if list(there) == list(wanted) or are_positions(there):
        return
    if y.ndim == 1 and y.dtype.kind in "iuf" and integer_names(wanted) is None:
        raise InputError(
            f"labels are positions, and whether 0 is {there[0]!r}, as in the file, or "
            f"{wanted[0]!r}, as in the class names that were given, cannot "
            "be known. Give labels as class names, or leave out the class names"
        )


def say_positions(y: np.ndarray, names: Sequence[str] | None, notes: list[str]) -> None:
    """A note on labels that are positions of classes that have names."""
    if names is not None and y.ndim == 1 and y.dtype.kind in "iu" and integer_names(names) is None:
        notes.append(f"labels {_numbered(names)}")


def _numbered(names: Sequence[str]) -> str:
    """0, 1, 2 = cat, dog, fox."""
    more = ", …" if len(names) > 8 else ""
    shown = names[:8]
    return f"{', '.join(map(str, range(len(shown))))}{more} = {', '.join(shown)}{more}"
