"""Members that answered, each perhaps not everywhere, as one array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._errors import InputError, listed
from ..sources import name_members


class Reading(NamedTuple):
    """What one member, such as a model with a prompt, said about one case."""

    factors: Mapping[str, str]
    """What tells the member from the others, such as its model and its prompt."""
    case: str
    probs: np.ndarray | None
    """The probabilities of the classes (K,); ``None``: it named no class."""
    label: Any = None
    """The true label, if the file has it."""


def fields_of_readings(
    readings: Iterable[Reading], class_names: Sequence[str] | None, notes: list[str]
) -> dict[str, Any]:
    """The predictions of all members; where one has no answer, it has no weight."""
    members: dict[tuple[str, ...], Mapping[str, str]] = {}
    answers: dict[tuple[tuple[str, ...], str], np.ndarray | None] = {}
    labels: dict[str, str] = {}
    for factors, case, row, label in readings:
        key = tuple(factors.values())
        if (key, case) in answers:
            raise InputError(
                f"the case {case!r} is there more than once for {' / '.join(key)}. Name what tells "
                "its answers apart in a column `prompt`, or leave one out"
            )
        members[key], answers[key, case] = factors, row
        if label is None or label == "":
            continue
        if labels.setdefault(case, str(label)) != str(label):
            raise InputError(
                f"the members must have the same true labels; for {case!r} one has "
                f"{labels[case]!r}, {' / '.join(key)} has {str(label)!r}"
            )
    given = {place: row for place, row in answers.items() if row is not None}
    answered = {case for _, case in given}
    cases = dict.fromkeys(case for _, case in answers)
    ids = [case for case in cases if case in answered]
    silent = [case for case in cases if case not in answered]
    if silent:
        notes.append(f"left out, because no member names a class: {listed(silent, 3)}")
    weights = np.array([[(key, case) in given for case in ids] for key in members], float)
    if not given or 2 * len(given) < weights.size:
        raise InputError(
            f"the members must have answered the same cases; {len(members)} members have "
            f"{len(given):,} answers to {len(ids):,} cases. Do all use the same ids?"
        )
    n_classes = len(next(iter(given.values())))
    anything = np.full(n_classes, 1 / n_classes)  # where there is no weight
    probs = np.array([[given.get((key, case), anything) for case in ids] for key in members])
    fields: dict[str, Any] = {"probs": probs, "ids": np.array(ids)}
    if len(given) < weights.size:
        n_missing = weights.size - len(given)
        notes.append(f"{n_missing:,} of {weights.size:,} answers are missing: no weight")
        fields["weights"] = weights
    if class_names is not None:
        fields["class_names"] = tuple(class_names)
    if labels.keys() >= answered:
        fields["y_true"] = np.array([labels[case] for case in ids])
    fields["member_names"], fields["factors"] = name_members(list(members.values()))
    return fields
