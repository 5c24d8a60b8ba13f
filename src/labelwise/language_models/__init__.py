"""Outputs of language models that chose among labels, as members of an ensemble: log-likelihoods
of options, log-probabilities of tokens, and plain answers.

`harness`, `completions` and `tables` read their layouts, `answers` turns answers into
probabilities, `members` puts them side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .answers import Answer, readings_of_answers
from .completions import answers_of_completion, has_completion
from .harness import answer_of_sample, has_options, is_sample, readings_of_options
from .members import Outputs, fields_of_readings
from .tables import answers_of_table, outputs_of_table

__all__ = ["Outputs", "are_outputs", "outputs_of_table", "read_outputs"]


def are_outputs(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether lines are outputs of a language model."""
    return bool(rows) and (is_sample(rows[0]) or has_completion(rows[0]))


def read_outputs(
    files: Sequence[Outputs], class_names: Sequence[str] | None, notes: list[str]
) -> dict[str, Any]:
    """The fields of predictions in all files together: one is for one member, or has several."""
    first = files[0].rows[0]
    if has_options(first):
        readings, class_names = readings_of_options(files, notes)
        return fields_of_readings(readings, class_names, notes)
    answers: list[Answer] = []
    for file in files:
        if is_sample(first):
            answers += [answer_of_sample(file, row) for row in file.rows]
        elif has_completion(first):
            for i, row in enumerate(file.rows):
                answers += answers_of_completion(file, i, row)
        else:
            answers += answers_of_table(file, class_names)
    readings, class_names = readings_of_answers(answers, class_names, notes)
    return fields_of_readings(readings, class_names, notes)
