"""Costs in the form of the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

import labelwise as lw
from labelwise.decisions import Costs

NAMES = ["a", "b", "c", "d"]
Q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(4), (3, 20)), class_names=NAMES)


def given(costs: Costs, q: lw.Distribution = Q) -> dict:
    return lw.report.build_report(q, costs=costs).data["costs"]


def test_a_matrix_says_what_missing_each_class_costs() -> None:
    missed = np.arange(1, 5)
    found = given(Costs(missed[:, None] * (1 - np.eye(4)), ask=0.2))
    assert found["missed"].tolist() == missed.tolist()
    assert found["alarm"].tolist() == [0] * 4
    assert found["ask"] == 0.2
    two = given(Costs([[0, 1], [20, 0]]), lw.Ensemble(np.full((2, 5, 2), 0.5)))
    assert two["missed"].tolist() == [1, 20]


def test_costs_follow_the_classes() -> None:
    found = given(Costs(default=1, missed={"c": 20}, abstain=0.5))
    assert found["missed"].tolist() == [1, 1, 20, 1]
    assert found["alarm"].tolist() == [0, 0, 0, 0]
    assert (found["abstain"], found["ask"], found["error"]) == (0.5, None, 0)


def test_costs_of_labels() -> None:
    labels = lw.MultiLabelEnsemble(np.random.default_rng(0).random((3, 20, 4)), class_names=NAMES)
    found = given(Costs(default=1, missed={"c": 20}), labels)
    assert found["missed"].tolist() == [1, 1, 20, 1]
    assert found["alarm"].tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="only a `matrix`, which is for choosing one class"):
        given(Costs(1 - np.eye(4)), labels)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (
            Costs(np.arange(16).reshape(4, 4) ** 2 * (1 - np.eye(4))),
            "the cost of missing a class depends on what is predicted instead",
        ),
        (
            Costs(np.ones((4, 4))),
            "what missing it and a false alarm cost",
        ),  # right predictions cost something
        (Costs(missed={"aa": 2}), "Did you mean 'a'?"),
    ],
)
def test_costs_that_the_page_cannot_hold_are_refused(costs: Costs, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        given(costs)
    with pytest.raises(TypeError, match=r"`costs` must be lw.decisions.Costs"):
        lw.report.build_report(Q, costs={"ask": 1})
