"""Plans and choices as data frames."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from optional_libraries import optional

NAMES = ["nevus", "keratosis", "melanoma"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_plans_and_choices_are_tables(library):
    optional(library)
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (4, 20)), class_names=NAMES)
    plan = lw.decisions.decide(q, lw.decisions.Costs(1 - np.eye(3), ask=0.3), task="multiclass")
    y, ids = np.arange(20) % 3, [f"case {i}" for i in range(20)]
    frame = plan.to_frame(ids=ids, y_true=y, library=library)
    values = ["expected_cost", "value_of_label", "value_of_knowledge"]
    assert list(frame.columns) == [
        "id",
        "y_true",
        "most_probable",
        "probability",
        "action",
        *values,
    ]
    assert list(frame["action"]) == plan.action_names.tolist()
    assert list(frame["most_probable"]) == [NAMES[k] for k in q.mean().argmax(-1)]
    np.testing.assert_allclose(np.asarray(frame["expected_cost"]), plan.expected_cost)
    each = lw.decisions.decide(q, lw.decisions.Costs(false_alarm=1, missed=5), task="per_label")
    frame = each.to_frame(y_true=y, library=library)
    assert list(frame.columns) == ["instance", "label", "y_true", "probability", "action", *values]
    assert list(frame["y_true"]) == (y[:, None] == np.arange(3)).ravel().tolist()
    np.testing.assert_allclose(np.asarray(frame["value_of_label"]), each.value_of_label.ravel())
    choice = lw.decisions.acquire(q, budget=5)
    frame = choice.to_frame(ids=ids, library=library)
    assert list(frame.columns) == ["rank", "id", "score", "label"]
    assert list(frame["id"]) == [ids[i] for i in choice.indices]
    assert list(frame["label"]) == list(choice.label)
