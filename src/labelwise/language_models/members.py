"""Members that answered, each perhaps not everywhere, as one array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InputError, listed
from ..sources import name_members


@dataclass(frozen=True)
class Outputs:
    """The lines of a file with outputs of a language model, or the rows of a table of answers."""

    path: Path
    rows: list[dict[str, Any]]


@dataclass
class Member:
    """What one member, such as a model with a prompt, said about each case."""

    factors: Mapping[str, str]
    """What tells it from the others, such as its model and its prompt."""
    probs: dict[str, np.ndarray | None] = field(default_factory=dict)
    """For each case the probabilities of the classes (K,); ``None``: it named no class."""
    labels: dict[str, str] = field(default_factory=dict)
    """The true labels that its file has."""

    @property
    def name(self) -> str:
        return " / ".join(self.factors.values())

    def add(self, case: str, probs: np.ndarray | None, label: Any) -> None:
        """Keep the answer to one case."""
        if case in self.probs:
            raise InputError(
                f"the case {case!r} is there more than once for {self.name}. Name what tells its "
                "answers apart in a column `prompt`, or leave one out"
            )
        self.probs[case] = probs
        if label is not None and label != "":
            self.labels[case] = str(label)


def fields_of_members(
    members: Sequence[Member], class_names: Sequence[str] | None, notes: list[str]
) -> dict[str, Any]:
    """The predictions of all members; where one has no answer, it has no weight."""
    answered: Counter[str] = Counter()
    for member in members:
        for case, row in member.probs.items():
            answered[case] += row is not None
    ids = [case for case, n in answered.items() if n]
    silent = [case for case, n in answered.items() if not n]
    if silent:
        notes.append(f"left out, because no member names a class: {listed(silent, 3)}")
    n_answers, n_asked = sum(answered.values()), len(members) * len(ids)
    if not ids or 2 * n_answers < n_asked:
        raise InputError(
            f"the members must have answered the same cases; {len(members)} members have "
            f"{n_answers:,} answers to {len(ids):,} cases. Do all use the same ids?"
        )
    place = {case: i for i, case in enumerate(ids)}
    weights = np.zeros((len(members), len(ids)))
    rows = [row for row in members[0].probs.values() if row is not None]
    n_classes = len(class_names or rows[0])
    probs = np.full((*weights.shape, n_classes), 1 / n_classes)  # any, where there is no weight
    for m, member in enumerate(members):
        for case, row in member.probs.items():
            if row is not None:
                probs[m, place[case]] = row
                weights[m, place[case]] = 1
    fields: dict[str, Any] = {"probs": probs, "ids": np.array(ids)}
    if n_answers < n_asked:
        notes.append(f"{n_asked - n_answers:,} of {n_asked:,} answers are missing: no weight")
        fields["weights"] = weights
    if class_names is not None:
        fields["class_names"] = tuple(class_names)
    labels = _common_labels(members)
    if labels.keys() >= place.keys():
        fields["y_true"] = np.array([labels[case] for case in ids])
    names, fields["factors"] = name_members([member.factors for member in members])
    return fields | {"member_names": names}


def _common_labels(members: Sequence[Member]) -> dict[str, str]:
    """The true labels of the cases, about which the members must agree."""
    labels: dict[str, str] = {}
    for member in members:
        for case, label in member.labels.items():
            if labels.setdefault(case, label) != label:
                raise InputError(
                    f"the members must have the same true labels; for {case!r} one has "
                    f"{labels[case]!r}, {member.name} has {label!r}"
                )
    return labels
