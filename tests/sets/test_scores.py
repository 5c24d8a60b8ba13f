"""LAC and APS against their definitions, whatever the order of the classes."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from labelwise.sets import fit_sets
from labelwise.sets._scores import class_scores
from set_cases import cases


def strangeness(score: str, row: np.ndarray, k: int) -> float:
    return float(
        1 - row[k] if score == "lac" else sum(x for x in sorted(row, reverse=True) if x >= row[k])
    )


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_a_class_is_in_the_set_by_the_definition_of_lac_and_aps(score: str) -> None:
    p, y = cases()
    new, _ = cases(50, seed=1)
    member = fit_sets(p, y, coverage=0.85, score=score).predict(new).member
    for k in range(4):
        own = sorted(strangeness(score, p[j], k) for j in np.flatnonzero(y == k))
        threshold = own[ceil(Fraction("0.85") * (len(own) + 1)) - 1]
        assert member[:, k].tolist() == [strangeness(score, row, k) <= threshold for row in new]


def test_aps_does_not_depend_on_the_order_of_classes_and_counts_ties_together() -> None:
    p = np.array([[0.25, 0.5, 0.25, 0.0], [0.25, 0.25, 0.25, 0.25]])
    scores = class_scores("aps", p)
    np.testing.assert_array_equal(scores, [[1, 0.5, 1, 1], [1, 1, 1, 1]])
    half = class_scores("aps", p, np.array([0.5, 0.5]))
    np.testing.assert_allclose(half, [[0.75, 0.25, 0.75, 1], [0.5, 0.5, 0.5, 0.5]])
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(class_scores("aps", p[:, order]), scores[:, order])
