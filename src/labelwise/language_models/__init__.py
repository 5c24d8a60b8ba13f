"""Outputs of language models that chose among labels, as members of an ensemble: log-likelihoods
of options, log-probabilities of tokens, and plain answers.

`harness`, `completions` and `tables` read their layouts, `answers` turns answers into
probabilities, `members` puts them side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from .answers import Outputs, readings_of_answers
from .completions import answers_of_completions, case_of, has_completion
from .harness import answers_of_samples, has_options, is_sample, readings_of_options
from .members import fields_of_readings
from .tables import answers_of_table

__all__ = ["Outputs", "outputs_of_lines", "outputs_of_table", "read_outputs"]


def outputs_of_lines(path: Path, rows: list[dict[str, Any]]) -> Outputs | None:
    """The lines of a file, if they are outputs of a language model."""
    if not rows:
        return None
    if has_options(rows[0]):
        return Outputs(path, samples=rows)
    if is_sample(rows[0]):
        return Outputs(path, answers_of_samples(path, rows))
    if has_completion(rows[0]):
        numbered = case_of(rows[0]) is None
        return Outputs(path, answers_of_completions(path, rows), numbered=numbered)
    return None


def outputs_of_table(
    path: Path, columns: Mapping[str, Sequence[str]], class_names: Sequence[str] | None
) -> Outputs | None:
    """The answers in a table of texts, if it has any."""
    cells = zip(*columns.values(), strict=True)
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    answers = answers_of_table(path, rows, class_names)
    return Outputs(path, answers) if answers else None


def read_outputs(
    files: Sequence[Outputs], class_names: Sequence[str] | None, notes: list[str]
) -> dict[str, Any]:
    """The fields of predictions in all files together: one is for one member, or has several."""
    if files[0].samples:
        readings, class_names = readings_of_options(files, notes)
    else:
        answers = list(chain.from_iterable(file.answers for file in files))
        readings, class_names = readings_of_answers(answers, class_names, notes)
    if len(files) > 1 and files[0].numbered:
        notes.append("rows matched by number: the lines have no `custom_id`")
    return fields_of_readings(readings, class_names, notes)
