"""Sets in the report."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.report import build_report
from labelwise.sets import fit_labels, fit_sets


def cases(seed: int) -> tuple[lw.Ensemble, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=200)
    probs = rng.dirichlet([1, 1, 1], (3, 200)) + np.eye(3)[y]
    return lw.Ensemble(
        probs / probs.sum(axis=-1, keepdims=True), class_names=["nevus", "melanoma", "lentigo"]
    ), y


def test_mistakes_with_sets() -> None:
    q, y = cases(0)
    with pytest.raises(ValueError, match="need the true classes"):
        build_report(q, sets=fit_sets(q, y))
    with pytest.raises(TypeError, match="must be fitted prediction sets"):
        build_report(q, y_true=y, sets=fit_labels(q, y))


def test_the_report_says_the_coverage() -> None:
    q, y = cases(0)
    new, truth = cases(1)
    fitted = fit_sets(q, y)
    said = build_report(new, y_true=truth, sets=fitted).data["exact"]["sets"]
    evaluation = fitted.evaluate(new, truth)
    coverage = evaluation["all classes"].coverage
    assert said.startswith(f"The truth is in {100 * coverage:.1f} % of the sets (95 % interval ")
    assert said.endswith(evaluation.guarantee)
    assert build_report(new, y_true=truth).data["exact"]["sets"] is None
