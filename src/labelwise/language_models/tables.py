"""Tables of answers: a row for each answer, or a column of answers for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .._column_words import columns_called, id_rank, is_called_id, is_called_measurement
from .._errors import InputError
from .answers import Answer, label_key, may_be_answers


def _answer_columns(
    rows: Sequence[Mapping[str, str]], class_names: Sequence[str] | None
) -> list[str]:
    """The columns of answers: one that is called so, or several that repeat few texts, each of a
    model; none if there are no answers.
    """
    names = list(rows[0])
    called = columns_called(names, "answer")[:1]
    if called:
        return called
    known = set()
    for role in ("y_true", "groups", "member", "further"):
        known.update(columns_called(names, role))
    found = []
    for name in names:
        texts = [label_key(row[name]) for row in rows if row[name]]
        is_other = name in known or is_called_id(name) or is_called_measurement(name)
        if is_other or not texts or not may_be_answers(set(texts), texts):
            continue
        if class_names is None or set(texts) & set(map(label_key, class_names)):
            found.append(name)
    return found if len(found) > 1 else []


def answers_of_table(
    path: Path, rows: Sequence[Mapping[str, str]], class_names: Sequence[str] | None
) -> list[Answer]:
    """All answers of a table, if it has any; an empty cell is a missing one."""
    names = list(rows[0])
    asked = _answer_columns(rows, class_names)
    ids = sorted(filter(is_called_id, names), key=id_rank)
    if asked and not ids:
        raise InputError(f"{path.name} must have a column `id` to match the answers by")
    labels = columns_called(names, "y_true")
    keys = [*columns_called(names, "member"), *columns_called(names, "further")]
    answers = []
    for row in rows:
        label = row[labels[0]] if labels else None
        for name in asked:
            factors = {key: row[key] for key in keys}
            if len(asked) > 1:
                factors["model"] = name
            factors["file"] = path.stem
            answers.append(Answer(factors, row[ids[0]], row[name], label))
    return answers
