"""Decisions: the dots are the values."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
def test_values(case, task) -> None:
    q, _, _ = case
    costs = lw.decisions.Costs(
        missed=2, false_alarm={q.class_names[0]: 1}, abstain=0.3, ask=0.25, expert_error=0.05
    )
    plan = lw.decisions.decide(q, costs, task=task)
    ax = lw.plots.plot_values(plan)
    drawn = np.concatenate([dots.get_offsets() for dots in ax.collections])
    expected = np.stack([plan.value_of_knowledge.ravel(), plan.value_of_label.ravel()], axis=-1)
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])
    assert ax.lines[0].get_ydata()[0] == 0.25
