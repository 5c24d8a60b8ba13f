"""Decisions: the bars count the actions, the dots are the values."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
def test_decisions_by_class(case, task) -> None:
    q, _, _ = case
    costs = lw.decisions.Costs(
        missed=2, false_alarm={q.class_names[0]: 1}, abstain=0.3, ask=0.25, expert_error=0.05
    )
    plan = lw.decisions.decide(q, costs, task=task)
    ax = lw.plots.plot_decisions(plan)
    paid = (
        plan.expected_cost.sum(0)
        if task == "per_label"
        else np.bincount(q.mean().argmax(-1), plan.expected_cost, minlength=4)
    )
    order = np.argsort(-paid)[::-1]
    assert [tick.get_text().replace("\\", "") for tick in ax.get_yticklabels()] == [
        q.class_names[k] for k in order
    ]
    likely = q.mean().argmax(-1)
    for bars in ax.containers:
        word = bars.get_label()
        for bar, k in zip(bars, order, strict=True):
            of_class = (
                plan.action_names[likely == k] if task == "multiclass" else plan.action_names[:, k]
            )
            hits = ~np.isin(of_class, ["ask", "abstain"]) if word == "predict" else of_class == word
            assert bar.get_width() == np.sum(hits)
    assert sum(bar.get_width() for bars in ax.containers for bar in bars) == plan.action.size
    ax = lw.plots.plot_values(plan)
    drawn = np.concatenate([dots.get_offsets() for dots in ax.collections])
    expected = np.stack([plan.value_of_knowledge.ravel(), plan.value_of_label.ravel()], axis=-1)
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])
    assert ax.lines[0].get_ydata()[0] == 0.25
