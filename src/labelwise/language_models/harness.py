"""Samples of lm-evaluation-harness, ``samples_TASK_DATE.jsonl`` in the folder of a model, as
version 0.4.13 writes them with ``--log_samples``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._arrays import softmax
from .._errors import InputError
from .answers import Answer, Outputs
from .members import Reading

_DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.\-:]+$")
Row = dict[str, Any]


def is_sample(row: Row) -> bool:
    """Whether a line is a sample of the harness."""
    return {"doc_id", "arguments", "filtered_resps", "target"} <= row.keys()


def has_options(row: Row) -> bool:
    """Whether a line is a sample with the log-likelihoods of options, not a generated answer."""
    responses = row.get("filtered_resps")
    return is_sample(row) and not (responses and isinstance(responses[0], str))


def answers_of_samples(path: Path, rows: Sequence[Row]) -> list[Answer]:
    """Generated answers; through several filters they are of several members."""
    answers = []
    for row in rows:
        factors = {**_model_and_task(path), "filter": row.get("filter", "")}
        answers.append(Answer(factors, str(row["doc_id"]), row["filtered_resps"][0], row["target"]))
    return answers


class Question(NamedTuple):
    """A line with the log-likelihoods of options."""

    row: Row
    options: list[str]
    scores: np.ndarray


def readings_of_options(
    files: Sequence[Outputs], notes: list[str]
) -> tuple[list[Reading], list[str] | None]:
    """All readings, and the class names: the options, if all questions have the same ones; else the
    classes are positions.
    """
    members = [list(map(_read_question, file.samples)) for file in files]
    every = list(chain.from_iterable(members))
    documents = {(question.row["doc_id"], question.row.get("doc_hash")) for question in every}
    if len(documents) > len({doc_id for doc_id, _ in documents}):
        notes.append("files may be of different documents: their `doc_hash` differ")
    names: list[str] | None = every[0].options
    different = {tuple(sorted(question.options)) for question in every}
    # some have the same text twice, such as the same end of two sentences
    if len(different) > 1 or len({*every[0].options}) < len(every[0].options):
        names = None
        notes.append("questions have different options: classes are their positions")
    notes.append("probabilities: softmax of the options' log-likelihoods, as for `acc`")
    n_options = max(len(question.options) for question in every)
    readings = []
    for file, questions in zip(files, members, strict=True):
        factors, targets = _model_and_task(file.path), _true_options(questions)
        if targets is None:
            notes.append(f"{file.path.name}: `target` is not one of the options and is not read")
        for i, (row, options, log_likelihoods) in enumerate(questions):
            order = list(range(len(options)))
            if names is not None:
                order = list(map(options.index, names))
            scores = np.full(n_options, -np.inf)  # an option that this question does not have
            scores[: len(order)] = log_likelihoods[order]
            label: Any = None
            if targets is not None:
                label = targets[i] if names is None else options[targets[i]]
            readings.append(Reading(factors, str(row["doc_id"]), softmax(scores), label))
    return readings, names


def _model_and_task(path: Path) -> dict[str, str]:
    task = _DATE.sub("", path.stem.removeprefix("samples_"))
    return {"model": path.absolute().parent.name, "task": task, "file": path.stem}


def _read_question(row: Row) -> Question:
    requests = row["arguments"]
    if isinstance(requests, dict):  # since 0.4.3
        requests = [list(request.values()) for request in requests.values()]
    # for `acc_mutual_info` every option is scored a second time, without the question
    asked = [request for request in requests if request[0] != ""] or requests
    options = [str(request[1]).strip() for request in asked]
    n_options, responses = len(options), row["filtered_resps"]
    if n_options < 2 or len(responses) < n_options:
        raise InputError(
            f"doc_id {row['doc_id']} must have log-likelihoods of at least two options, or one "
            f"answer; it has {len(responses)} for {n_options}"
        )
    scores = np.array([float(response[0]) for response in responses[:n_options]])
    if not np.isfinite(scores.max()):
        raise InputError(
            f"the log-likelihoods of doc_id {row['doc_id']} must be numbers, and not all −∞; got "
            f"{scores.tolist()}"
        )
    return Question(row, options, scores)


def _true_options(questions: Sequence[Question]) -> list[int] | None:
    """The positions of the true options: `target` is a position or a text, whichever agrees with
    the accuracy that the harness found.
    """
    for is_position in (True, False):
        targets = []
        for row, options, scores in questions:
            if is_position:
                options = list(map(str, range(len(options))))
            target = str(row["target"]).strip()
            best = options[scores.argmax()]
            if target in options and row.get("acc", best == target) == (best == target):
                targets.append(options.index(target))
        if len(targets) == len(questions):
            return targets
    return None
