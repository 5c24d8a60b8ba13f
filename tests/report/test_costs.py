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


def test_the_parts_give_the_matrix() -> None:
    rng = np.random.default_rng(0)
    missed, alarm = rng.random(4) + 1, rng.random(4)
    matrix = (missed[:, None] + alarm) * (1 - np.eye(4))
    table = given(Costs(matrix, ask=0.2))["tables"]["multiclass"]
    np.testing.assert_allclose(
        (table["missed"][:, None] + table["alarm"]) * (1 - np.eye(4)), matrix
    )
    assert np.min(table["alarm"]) == 0
    two = given(Costs([[0, 1], [20, 0]]), lw.Ensemble(np.full((2, 5, 2), 0.5)))
    assert two["tables"]["multiclass"]["missed"].tolist() == [1, 20]


def test_defaults_are_for_both_tasks_and_follow_the_classes() -> None:
    found = given(Costs(default=1, missed={"c": 20}, abstain=0.5))
    assert found["task"] == "multiclass"
    assert found["tables"]["multiclass"]["missed"].tolist() == [1, 1, 20, 1]
    assert found["tables"]["multiclass"]["alarm"].tolist() == [0, 0, 0, 0]
    assert found["tables"]["per_label"]["alarm"].tolist() == [1, 1, 1, 1]
    assert (found["abstain"], found["ask"], found["error"]) == (0.5, None, 0)


def test_costs_of_labels() -> None:
    labels = lw.MultiLabelEnsemble(np.random.default_rng(0).random((3, 20, 4)), class_names=NAMES)
    found = given(Costs(default=1, missed={"c": 20}), labels)
    assert found["task"] == "per_label"
    assert list(found["tables"]) == ["per_label"]
    with pytest.raises(ValueError, match="the labels may occur together"):
        given(Costs(1 - np.eye(4)), labels)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (
            Costs(np.arange(16).reshape(4, 4) ** 2 * (1 - np.eye(4))),
            "this `matrix` is not of that form",
        ),
        (Costs(np.ones((4, 4))), "not of that form"),  # right predictions cost something
        (Costs(missed={"aa": 2}), "Did you mean 'a'?"),
    ],
)
def test_costs_that_the_page_cannot_hold_are_refused(costs: Costs, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        given(costs)
    with pytest.raises(TypeError, match=r"`costs` must be lw.decisions.Costs"):
        lw.report.build_report(Q, costs={"ask": 1})
