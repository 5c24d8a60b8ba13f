"""What type checkers know of ordinary uses; `make types` checks it with mypy and pyright. Not
run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import torch
from numpy.typing import NDArray

import labelwise as lw
from labelwise.decisions import Costs
from labelwise.io import Predictions
from labelwise.typing import (
    ByClass,
    Decisions,
    DetectionScores,
    Estimate,
    JointUncertainty,
    RejectionCurve,
)

probs = np.full(
    (3, 5, 4), 0.25
)  # NumPy knows its type with the number of axes, which is not that of the results
y_true = np.zeros(5, int)


def ensembles(single: NDArray[np.float32], anything: Any) -> None:
    q = lw.Ensemble(probs, class_names=["a", "b", "c", "d"], weights=[1, 2, 1])
    assert_type(q, lw.Ensemble[np.ndarray])
    assert_type(lw.Ensemble(single), lw.Ensemble[NDArray[np.float32]])
    assert_type(lw.Ensemble([[[0.5, 0.5]]]), lw.Ensemble)
    assert_type(lw.Ensemble.from_logits(probs), lw.Ensemble)
    assert_type(lw.MultiLabelEnsemble(probs), lw.MultiLabelEnsemble[np.ndarray])
    assert_type(lw.MultiLabelEnsemble.from_logits(probs), lw.MultiLabelEnsemble)
    assert_type(lw.Ensemble(torch.ones(3, 5, 4)).mean(), torch.Tensor)
    assert_type(q[2:], lw.Ensemble[np.ndarray])
    assert_type(q.mean(), np.ndarray)
    assert_type(q.probs, np.ndarray)
    assert_type(q.sample(10, rng=0), np.ndarray)
    assert_type(q.n_members, int)
    lw.decompose(lw.Ensemble(anything)).sum()


def other_distributions() -> None:
    assert_type(lw.Dirichlet(probs), lw.Dirichlet[np.ndarray])
    assert_type(lw.DirichletMixture(probs, [1, 1, 2]).mean(), np.ndarray)
    assert_type(lw.LogisticNormal(probs, probs, points=64).sample(3), np.ndarray)
    assert_type(lw.Dirichlet(torch.ones(5, 4)), lw.Dirichlet[torch.Tensor])


def decompositions(
    q: lw.Ensemble[np.ndarray], tensors: lw.Dirichlet[torch.Tensor], own: lw.Distribution
) -> None:
    u = lw.decompose(q, "squared", events={"either": ["a", "b"]}, correction="jackknife")
    assert_type(u, lw.typing.Uncertainty[np.ndarray])
    assert_type(u.epistemic, np.ndarray)
    _instances, _classes = u.epistemic.shape
    assert_type(u["a"], lw.typing.Components[np.ndarray])
    assert_type(u["a"].total, np.ndarray)
    assert_type(u[0], lw.typing.Uncertainty[np.ndarray])
    assert_type(u.normalized().sum({"a": 2.0}).aleatoric, np.ndarray)
    assert_type(u.class_names, tuple[str, ...])
    assert_type(lw.decompose(tensors, lw.CostLoss(1, 5)).total, torch.Tensor)
    lw.decompose(own, "zero_one").top(3, by="total").values.tolist()
    accumulator = lw.Accumulator("brier")
    accumulator.update(probs[0])
    accumulator.result().sum()


def all_classes(q: lw.Ensemble[np.ndarray], tensors: lw.Dirichlet[torch.Tensor]) -> None:
    assert_type(lw.joint.decompose(q), JointUncertainty[np.ndarray])
    assert_type(lw.joint.decompose(q, lw.joint.CostMatrix(np.eye(4))).epistemic, np.ndarray)
    assert_type(lw.joint.mutual_information(tensors), torch.Tensor)


def evaluations(u: lw.typing.Uncertainty[np.ndarray]) -> None:
    score = u.sum().total
    curve = lw.evaluation.rejection_curve(score, correct=y_true == 0)
    assert_type(curve, RejectionCurve)
    assert_type(curve.area, float)
    found = lw.evaluation.detection_scores(score, score)
    assert_type(found, DetectionScores)
    assert_type(found.auroc, Estimate)
    assert_type(lw.evaluation.by_class(u, y_true), ByClass)


def decisions(q: lw.Ensemble[np.ndarray]) -> None:
    costs = lw.decisions.Costs(default=1, missed={"a": 20}, ask=0.5)
    assert_type(costs, Costs)
    plan = lw.decisions.decide(q, costs, task="per_label")
    assert_type(plan, Decisions)
    assert_type(plan.explain(0, label="a"), str)


def files_and_models(path: Path, models: list[torch.nn.Module]) -> None:
    stored = lw.load_predictions(path)
    assert_type(stored, Predictions)
    lw.decompose(lw.Ensemble(stored.probs))
    lw.decompose(stored.distribution())
    lw.quantify(path, "u.npz", losses=["log", "squared"])
    q: lw.Ensemble = lw.from_models(models, probs, batch_size=3)
    lw.decompose(q)
    q, _labels = lw.from_models(models, probs, return_labels=True)
    lw.decompose(q)
    assert_type(lw.kernel_info(), dict[str, Any])
