"""Answers for each label in words, and counted."""

from __future__ import annotations

import numpy as np

from labelwise.typing import LabelAnswers

ANSWERS = LabelAnswers(np.array([[1, 0], [-1, 0]]), ("beach", "sunset"), "Misses few.")


def test_answers_in_words() -> None:
    columns = ANSWERS.columns(ids=["x", "y"])
    assert columns["id"].tolist() == ["x", "y"]
    assert columns["beach"].tolist() == ["yes", "unsure"]
    assert columns["sunset"].tolist() == ["no", "no"]


def test_answers_are_counted() -> None:
    lines = [line.split() for line in repr(ANSWERS).splitlines()]
    assert ["beach", "1", "0", "1"] in lines
    assert ["sunset", "0", "2", "0"] in lines
    assert "Misses few." in repr(ANSWERS)
