"""Types of results are found in one place, and nowhere beside the functions that return them."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import labelwise as lw

MODULES = ["axioms", "calibration", "decisions", "demo", "evaluation", "joint", "report", "sets"]


def test_each_type_has_one_home() -> None:
    assert lw.typing.__all__ == sorted(lw.typing.__all__)
    for module in (lw, *(importlib.import_module(f"labelwise.{name}") for name in MODULES)):
        assert not {*lw.typing.__all__} & {*module.__all__}, module.__name__


def test_they_are_what_functions_return() -> None:
    q = lw.Ensemble([[[0.9, 0.1], [0.5, 0.5]], [[0.7, 0.3], [0.5, 0.5]]])
    u = lw.decompose(q)
    assert isinstance(u, lw.typing.Uncertainty)
    assert isinstance(u.sum(), lw.typing.Components)
    assert isinstance(lw.joint.decompose(q), lw.typing.JointUncertainty)
    assert isinstance(lw.evaluation.by_class(u), lw.typing.ByClass)


PARTS_OF_RESULTS = {
    "Criterion",
    "Band",
    "ClassMeans",
    "Coverage",
    "ECGEnsemble",
    "Estimate",
    "FashionEnsemble",
    "Finding",
    "JointLoss",
    "Report",
}


def test_every_result_is_a_table_and_short() -> None:
    for name in set(lw.typing.__all__) - PARTS_OF_RESULTS:
        result = getattr(lw.typing, name)
        for method in ("to_frame", "_repr_html_"):
            assert hasattr(result, method), f"{name} has no {method}"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_results_have_a_row_for_each_class_curve_point_or_score(library: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    q = lw.Ensemble(rng.dirichlet(np.ones(3), size=(4, 60)), class_names=["<a>", "b", "c"])
    u = lw.decompose(q)
    right = q.mean().argmax(-1) == y
    votes = rng.multinomial(4, [0.5, 0.3, 0.2], size=60)
    rows = {
        lw.evaluation.by_class(u, y, intervals=True): 3,
        lw.evaluation.rejection_curve(u.sum().total, correct=right): 60,
        lw.evaluation.detection_scores(rng.normal(size=30), rng.normal(size=20)): 1,
        lw.evaluation.uncertainty_intervals(q): 3,
        lw.evaluation.check_ensemble(np.concatenate([q.probs, q.probs[:1]])): 1,
        lw.calibration.calibration_errors(q, y): 3,
        lw.calibration.check_calibration(q, y, n_bootstrap=20, rng=0): 1,
        lw.calibration.fit_calibration(q, y): 3,
        lw.calibration.vote_reliability(q, votes): 3,
        lw.calibration.fit_vote_calibration(q, votes): 3,
        lw.calibration.check_votes(q, votes, n_bootstrap=20, rng=0): 3,
        lw.calibration.score_votes(lw.decompose(q, "squared").aleatoric, q, votes): 3,
        lw.sets.fit_sets(q, y): 3,
        lw.sets.fit_labels(q, np.eye(3, dtype=int)[y]): 3,
        lw.decisions.choose_threshold(u.sum().total, right, target=0.9, confidence=0.5): 1,
        lw.check_proper(lw.ZeroOneLoss()): 1,
    }
    for result, expected in rows.items():
        assert len(result.to_frame(library=library)) == expected, type(result)
        assert len(repr(result)) < 2500, type(result)
        assert "<a>" not in result._repr_html_(), type(result)
