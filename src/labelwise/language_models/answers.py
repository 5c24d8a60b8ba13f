"""What a model answered, as probabilities of the labels: by the tokens that it might have answered
with, or 1 for the label that it gave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._errors import InputError, listed
from .members import Reading

SHORTEST_PREFIX = 2  # characters of a token that may be the first of a label's tokens


class Token(NamedTuple):
    """A token of an answer, and the probabilities of the likeliest ones at its place."""

    text: str
    likeliest: Mapping[str, float]


class Answer(NamedTuple):
    """What one member said about one case."""

    factors: Mapping[str, str]
    case: str
    text: str
    """Empty: there is no answer."""
    label: Any = None
    tokens: Sequence[Token] = ()


@dataclass(frozen=True)
class Outputs:
    """What language models wrote into a file."""

    path: Path
    answers: Sequence[Answer] = ()
    samples: Sequence[dict[str, Any]] = ()
    """Instead of answers, lines with the log-likelihoods of options."""
    numbered: bool = False
    """Whether cases are only the numbers of their lines."""

    @property
    def kind(self) -> str:
        """What the file holds, which is the same in all files of an ensemble."""
        return "log-likelihoods of options" if self.samples else "answers"


def readings_of_answers(
    answers: Sequence[Answer], class_names: Sequence[str] | None, notes: list[str]
) -> tuple[list[Reading], Sequence[str]]:
    """All readings, and the class names: given, or the answers and true labels that there are."""
    names = class_names or _labels_in_answers(answers)
    reader = LabelReader(names)
    readings = []
    for answer in answers:
        label = answer.label
        position = None if label is None else reader.position(str(label))
        if position is not None:
            label = names[position]
        readings.append(Reading(answer.factors, answer.case, reader.read(answer), label))
    notes.extend(reader.notes())
    return readings, names


def label_key(text: str) -> str:
    """A label as it is compared: without case, blanks and the punctuation around it.

    >>> label_key(" Positive."), label_key("▁no")
    ('positive', 'no')
    """
    return text.strip().strip(".,:;!?()[]\"'*`Ġ▁").strip().casefold()


def may_be_answers(different: Collection[str], texts: Sequence[str]) -> bool:
    """Whether texts are repeated so often that they may be labels."""
    return len(different) <= max(2, len(texts) / 2)


def _labels_in_answers(answers: Sequence[Answer]) -> Sequence[str]:
    """The different answers and true labels, if they are few enough to be labels."""
    texts = [answer.text.strip() for answer in answers if answer.text.strip()]
    labels: dict[str, str] = {}
    for answer in answers:
        for word in (answer.label, answer.text):
            if word is not None and str(word).strip():
                labels.setdefault(label_key(str(word)), str(word).strip())
    if not may_be_answers(labels, texts):
        common = [text for text, _ in Counter(texts).most_common(5)]
        raise InputError(
            f"{len(texts):,} answers have {len(labels):,} different texts, so that the labels "
            f"are not known: {listed(common)}",
            fix="label_names",
        )
    return sorted(labels.values())


class LabelReader:
    """Reads answers as probabilities of labels, and counts what was assumed."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.keys = list(map(label_key, names))
        self.first_tokens: dict[str, str] = {}
        self.on_labels: list[float] = []
        self.filled: list[float] = []
        self.no_label: list[str] = []
        self.certain = 0

    def position(self, text: str, *, token: bool = False) -> int | None:
        """The label that a text is; of a ``token``, also the only label that it begins."""
        key = label_key(text)
        if key in self.keys:
            return self.keys.index(key)
        begun = [i for i, label in enumerate(self.keys) if label.startswith(key)]
        if not token or len(key) < SHORTEST_PREFIX or len(begun) != 1:
            return None
        self.first_tokens[key] = self.names[begun[0]]
        return begun[0]

    def read(self, answer: Answer) -> np.ndarray | None:
        """The probabilities of the labels (K,); ``None``: the answer names none."""
        if answer.tokens:
            token = self._answering_token(answer.tokens)
            if token is not None:
                probs = self._probabilities(token.likeliest)
                if probs is not None:
                    return probs
        else:
            label = self.position(answer.text)
            if label is not None:
                self.certain += 1
                return np.eye(len(self.keys))[label]
        if answer.text.strip():
            self.no_label.append(answer.text)
        return None

    def _answering_token(self, tokens: Sequence[Token]) -> Token | None:
        """The first token that is a label; else the first where a label was listed."""
        for token in tokens:
            if self.position(token.text, token=True) is not None:
                return token
        for token in tokens:
            if any(self.position(text, token=True) is not None for text in token.likeliest):
                return token
        return None

    def _probabilities(self, likeliest: Mapping[str, float]) -> np.ndarray | None:
        """A label that is not listed has at most the smallest listed probability, and all such
        labels together have at most what is left: they share the most that they can have.
        """
        probs = np.zeros(len(self.keys))
        for text, probability in likeliest.items():
            label = self.position(text, token=True)
            if label is not None:
                probs[label] += probability
        on_labels, absent = probs.sum(), probs == 0
        if absent.any():
            left = max(1 - sum(likeliest.values()), 0)
            probs[absent] = min(*likeliest.values(), left / absent.sum())
        if probs.sum() == 0:  # too improbable for a number
            return None
        self.on_labels.append(on_labels)
        if absent.any():
            self.filled.append(probs[absent][0])
        return probs / probs.sum()

    def notes(self) -> Iterator[str]:
        """What was assumed."""
        if self.certain:
            yield f"{self.certain:,} answers without log-probabilities are read as certain"
        if self.on_labels:
            share = np.mean(self.on_labels)
            yield f"probabilities of the labels' tokens, divided by their sum (mean {share:.3g})"
        if self.first_tokens:
            pairs = [f"{token!r} as {name!r}" for token, name in self.first_tokens.items()]
            yield f"labels known by their first token: {', '.join(pairs[:5])}"
        if self.filled:
            yield (
                f"{len(self.filled):,} answers do not list the tokens of all labels: the others "
                f"share the most that they can have, each {max(self.filled):.2g} or less"
            )
        if self.no_label:
            yield (
                f"{len(self.no_label):,} answers name no label and count as missing, such as "
                f"{self.no_label[0][:50]!r}"
            )
