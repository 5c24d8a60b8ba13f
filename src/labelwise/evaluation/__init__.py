"""Evaluate uncertainty: rejection, out-of-distribution detection, classes, agreement, and
confidence intervals.
"""

from __future__ import annotations

from .classes import by_class
from .comparison import compare_measures
from .correlation import rank_agreement
from .detection import compare_detection, detection_scores
from .ensemble_health import check_ensemble
from .evidence import vacuity
from .groups import clustered_mean
from .intervals import uncertainty_intervals
from .ranking import ranking_scores
from .rejection import rejection_curve
from .scores import brier_score, log_loss

__all__ = [
    "brier_score",
    "by_class",
    "check_ensemble",
    "clustered_mean",
    "compare_detection",
    "compare_measures",
    "detection_scores",
    "log_loss",
    "rank_agreement",
    "ranking_scores",
    "rejection_curve",
    "uncertainty_intervals",
    "vacuity",
]
