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
from .labels import LabelThresholds, fit_labels

__all__ = [
    "Coverage",
    "LabelAnswers",
    "LabelEvaluation",
    "LabelThresholds",
    "PredictionSets",
    "SetEvaluation",
    "SetPredictor",
    "fit_labels",
    "fit_sets",
    "load_sets",
]
