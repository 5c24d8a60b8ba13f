"""Members that answered, each perhaps not everywhere, as one array."""

from __future__ import annotations

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
    answered: dict[str, bool] = {}
    for member in members:
        for case, row in member.probs.items():
            answered[case] = answered.get(case, False) or row is not None
    ids = [case for case, by_some in answered.items() if by_some]
    silent = [case for case, by_some in answered.items() if not by_some]
    if silent:
        notes.append(f"left out, because no member names a class: {listed(silent, 3)}")
    answers = [[member.probs.get(case) for case in ids] for member in members]
    weights = np.array([[row is not None for row in rows] for rows in answers], float)
    n_answers = int(weights.sum())
    if 2 * n_answers < weights.size or not ids:
        raise InputError(
            f"the members must have answered the same cases; {len(members)} members have "
            f"{n_answers:,} answers to {len(ids):,} cases. Do all use the same ids?"
        )
    if n_answers < weights.size:
        n_missing = weights.size - n_answers
        notes.append(f"{n_missing:,} of {weights.size:,} answers are missing: no weight")
    first = next(row for rows in answers for row in rows if row is not None)
    probs = np.full((*weights.shape, len(first)), 1 / len(first))  # any, where there is no weight
    for m, i in np.argwhere(weights):
        probs[m, i] = answers[m][i]
    names, factors = name_members([member.factors for member in members])
    fields: dict[str, Any] = {
        "probs": probs,
        "ids": np.array(ids),
        "weights": weights if n_answers < weights.size else None,
        "class_names": class_names and tuple(class_names),
        "factors": factors,
        "member_names": names,
    }
    labels = _common_labels(members)
    if labels.keys() >= set(ids):
        fields["y_true"] = np.array([labels[case] for case in ids])
    return {key: value for key, value in fields.items() if value is not None}


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
