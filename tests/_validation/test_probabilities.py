"""Probabilities and logits are told apart; range and sums are checked with the type's tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._validation.probabilities import (
    check_probabilities,
    rows_that_sum_to_one,
    sum_to_one_everywhere,
)
from wrong_input import LOGITS, refused


def test_rows_that_sum_to_one() -> None:
    rows = np.array([[0.5, 0.5], [0.2, 0.8], [0.3, 0.3], [1.0, 0.0], [0.7, 0.3]])
    assert rows_that_sum_to_one(rows) == 4
    assert not sum_to_one_everywhere(rows)
    assert sum_to_one_everywhere(np.delete(rows, 2, axis=0))
    assert not sum_to_one_everywhere(rows[:2])  # by chance


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[0.5, 0.4]], "must sum to 1 over the class axis (K = 2 classes) within 1e-06"),
        ([[0.5, 0.5], [0.5, 0.6], [1, 0]], "1 of 3 rows does not, the first at index (0, 1)"),
        ([[0.5, 1.5]], "must lie between 0 and 1; values range from 0.5 to 1.5"),
        ([[40.0, 60.0]], "They sum to 100. Percentages?"),
        ([[0.5, np.nan]], "must be finite; got NaN at index (0, 0, 1)"),
    ],
)
def test_what_is_wrong_is_said(values: list[list[float]], sentence: str) -> None:
    with refused(ValueError, sentence):
        check_probabilities(np.array([values]), "probs", sum_to_one=True)


def test_labels_that_may_occur_together_need_no_sum(lib: Any) -> None:
    check_probabilities(lib.array(np.array([[[0.5, 0.9]]])), "probs", sum_to_one=False)


def test_logits_may_rule_a_class_out_but_not_all(lib: Any) -> None:
    logits = LOGITS.copy()
    logits[0, 0, 1] = -np.inf
    assert float(lw.Ensemble.from_logits(lib.array(logits)).probs[0, 0, 1]) == 0
    logits[0, 0, :] = -np.inf
    with refused(ValueError, "`logits` must leave at least one class possible"):
        lw.Ensemble.from_logits(lib.array(logits))
    for bad, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        logits[0, 0, 2] = bad
        with refused(ValueError, f"`logits` must be finite; got {word} at index (0, 0, 2)"):
            lw.Ensemble.from_logits(lib.array(logits))
