"""Outputs of the APIs of OpenAI and vLLM: chat completions, completions and responses, as they are
or as the lines of a batch.

The layouts are those of openai 3.51.0 (``types/chat``, ``types/completion_choice.py``,
``types/responses``) and of ``entrypoints/openai/run_batch.py`` in vLLM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from pathlib import Path
from typing import Any

from .._column_words import columns_called
from .answers import Answer, Token

UNLISTED = -9999.0  # stands for the log-probability of a token that is not among the likeliest


def has_completion(row: dict[str, Any]) -> bool:
    """Whether a line holds what a model answered, or the error of a batch."""
    return bool(_completion_in(row)) or {"custom_id", "response"} <= row.keys()


def answers_of_completions(path: Path, rows: Sequence[dict[str, Any]]) -> list[Answer]:
    """The answers of all lines, each of a member; their case is `custom_id`, an id that was added
    to the line, or its number.
    """
    models = [_completion_in(row).get("model") for row in rows]
    answers = []
    for number, row in enumerate(rows):
        completion = _completion_in(row)
        # a request that failed has no model: it is the other lines'
        factors = {"model": str(models[number] or next(filter(None, models), ""))}
        for role in ("member", "further"):
            for name in columns_called(list(row), role):
                factors[name] = str(row[name])
        case = case_of(row)
        if case is None:
            case = number
        label = next((row[name] for name in columns_called(list(row), "y_true")), None)
        for i, choice in enumerate(_choices(completion)):
            text = (choice.get("message") or choice).get("content") or choice.get("text") or ""
            tokens = list(_tokens(choice.get("logprobs")))
            of_member = {**factors, "choice": str(i), "file": path.stem}
            answers.append(Answer(of_member, str(case), text, label, tokens))
    return answers


def case_of(row: dict[str, Any]) -> Any:
    """What a line calls its case; ``None``: nothing. The `id` of a completion is its own."""
    case = row.get("custom_id")
    if case is None and _completion_in(row) is not row:
        case = row.get("id")
    return case


def _completion_in(row: dict[str, Any]) -> dict[str, Any]:
    """What the model returned: the line, its `response`, or the `body` of that in a batch."""
    response = row.get("response")
    if not isinstance(response, dict):
        response = {}
    for candidate in (row, response, response.get("body") or {}):
        if isinstance(candidate.get("choices", candidate.get("output")), list):
            return candidate
    return {}


def _choices(completion: dict[str, Any]) -> list[dict[str, Any]]:
    """All choices (several with ``n``), or the texts of a response; an empty one if there is
    none.
    """
    choices = completion.get("choices") or []
    for message in completion.get("output", ()):
        choices = [*choices, *(message.get("content") or ())]
    return choices or [{}]


def _tokens(logprobs: Any) -> Iterator[Token]:
    """The tokens with the likeliest ones at their places."""
    if isinstance(logprobs, dict) and "top_logprobs" in logprobs:  # completions
        for text, values in zip(logprobs["tokens"], logprobs["top_logprobs"] or (), strict=False):
            if values:
                yield Token(text, {token: exp(value) for token, value in values.items()})
        return
    if isinstance(logprobs, dict):  # chat completions; responses have the list itself
        logprobs = logprobs.get("content")
    for place in logprobs or ():
        likeliest = {}
        for entry in place.get("top_logprobs") or ():
            if entry["logprob"] > UNLISTED:
                likeliest[entry["token"]] = exp(entry["logprob"])
        if likeliest:
            yield Token(place["token"], likeliest)
