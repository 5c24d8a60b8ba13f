"""Outputs of language models that chose among labels, as members of an ensemble: log-likelihoods
of options, log-probabilities of tokens, and plain answers.

`harness`, `completions` and `tables` read their layouts, `answers` turns answers into
probabilities, `members` puts them side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .answers import Answer, readings_of_answers
from .completions import answers_of_completion, case_of, has_completion
from .harness import answer_of_sample, has_options, is_sample, readings_of_options
from .members import Outputs, fields_of_readings
from .tables import TABLE, answers_of_table, outputs_of_table

__all__ = ["Outputs", "outputs_of_lines", "outputs_of_table", "read_outputs"]

_OPTIONS, _SAMPLES, _COMPLETIONS = "log-likelihoods of options", "samples", "completions"


def outputs_of_lines(path: Path, rows: list[dict[str, Any]]) -> Outputs | None:
    """The lines of a file, if they are outputs of a language model."""
    layouts = {_OPTIONS: has_options, _SAMPLES: is_sample, _COMPLETIONS: has_completion}
    for layout, is_layout in layouts.items():
        if rows and is_layout(rows[0]):
            return Outputs(path, rows, layout)
    return None


def read_outputs(
    files: Sequence[Outputs], class_names: Sequence[str] | None, notes: list[str]
) -> dict[str, Any]:
    """The fields of predictions in all files together: one is for one member, or has several."""
    if files[0].layout == _OPTIONS:
        readings, class_names = readings_of_options(files, notes)
        return fields_of_readings(readings, class_names, notes)
    answers: list[Answer] = []
    for file in files:
        if file.layout == TABLE:
            answers += answers_of_table(file, class_names)
            continue
        for i, row in enumerate(file.rows):
            if file.layout == _SAMPLES:
                answers.append(answer_of_sample(file, row))
            else:
                answers += answers_of_completion(file, i, row)
    if files[0].layout == _COMPLETIONS and len(files) > 1 and case_of(files[0].rows[0]) is None:
        notes.append("rows matched by number: the lines have no `custom_id`")
    readings, class_names = readings_of_answers(answers, class_names, notes)
    return fields_of_readings(readings, class_names, notes)
