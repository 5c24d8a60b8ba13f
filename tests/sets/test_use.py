"""Sets in decisions and in the report."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.decisions import ABSTAIN, ASK, Costs, decide
from labelwise.report import build_report
from labelwise.sets import fit_labels, fit_sets


def cases(seed: int) -> tuple[lw.Ensemble, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=200)
    probs = rng.dirichlet([1, 1, 1], (3, 200)) + np.eye(3)[y]
    return lw.Ensemble(
        probs / probs.sum(axis=-1, keepdims=True), class_names=["nevus", "melanoma", "lentigo"]
    ), y


def test_one_class_is_predicted_and_the_rest_is_asked_about() -> None:
    q, y = cases(0)
    new, truth = cases(1)
    sets = fit_sets(q, y).predict(new)
    costs = Costs(default=1, missed={"melanoma": 20}, ask=0.3)
    plan = decide(new, costs, task="multiclass", sets=sets)
    single = sets.size == 1
    assert 0 < single.sum() < len(single)
    assert [plan.action_names[i] for i in np.flatnonzero(single)] == [
        sets[i][0] for i in np.flatnonzero(single)
    ]
    assert (plan.action[~single] == ASK).all()
    np.testing.assert_allclose(plan.expected_cost[~single], 0.3)
    best = decide(new, costs, task="multiclass")
    assert (plan.expected_cost >= best.expected_cost - 1e-12).all()
    assert plan.summary(truth).after.asked.sum() == np.sum(~single)
    assert "ask an expert" in plan.explain(int(np.argmin(single)))
    without = decide(new, Costs(default=1, abstain=0.3), task="multiclass", sets=sets)
    assert (without.action[~single] == ABSTAIN).all()


def test_mistakes_with_sets() -> None:
    q, y = cases(0)
    sets = fit_sets(q, y).predict(q)
    with pytest.raises(ValueError, match="must have a price of asking"):
        decide(q, Costs(default=1), task="multiclass", sets=sets)
    with pytest.raises(ValueError, match="use task='multiclass'"):
        decide(q, Costs(default=1, ask=1), task="per_label", sets=sets)
    with pytest.raises(ValueError, match="same cases and classes"):
        decide(q[:5], Costs(default=1, ask=1), task="multiclass", sets=sets)
    with pytest.raises(TypeError, match=r"made by lw\.sets\.fit_sets"):
        decide(q, Costs(default=1, ask=1), task="multiclass", sets=fit_sets(q, y))
    with pytest.raises(ValueError, match="need the true classes"):
        build_report(q, sets=fit_sets(q, y))
    with pytest.raises(TypeError, match="must be fitted prediction sets"):
        build_report(q, y_true=y, sets=fit_labels(q, y))


def test_the_report_has_coverage_and_sizes() -> None:
    q, y = cases(0)
    new, truth = cases(1)
    fitted = fit_sets(q, y)
    data = build_report(new, y_true=truth, sets=fitted).data["sets"]
    evaluation = fitted.evaluate(new, truth)
    assert [row["name"] for row in data["rows"]] == ["all classes", "nevus", "melanoma", "lentigo"]
    assert data["rows"][2]["coverage"] == evaluation["melanoma"].coverage
    assert data["size_counts"] == evaluation.size_counts.tolist()
    assert build_report(new, y_true=truth).data["sets"] is None
