"""Prediction sets and thresholds with guarantees for each class, event, label and group: conformal
prediction.
"""

from __future__ import annotations

from ._evaluation import Coverage, SetEvaluation
from ._fit import fit_sets
from ._label_results import LabelAnswers, LabelEvaluation
from ._predictor import SetPredictor
from ._result import PredictionSets
from ._storage import load_sets
from .clusters import Clusters, cluster_classes
from .labels import LabelThresholds, fit_labels
from .shift import Prevalence, estimate_prevalence

__all__ = [
    "Clusters",
    "Coverage",
    "LabelAnswers",
    "LabelEvaluation",
    "LabelThresholds",
    "PredictionSets",
    "Prevalence",
    "SetEvaluation",
    "SetPredictor",
    "cluster_classes",
    "estimate_prevalence",
    "fit_labels",
    "fit_sets",
    "load_sets",
]
