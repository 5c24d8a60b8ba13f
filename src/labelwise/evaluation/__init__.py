"""Evaluate uncertainty: rejection, out-of-distribution detection, classes, agreement, and
confidence intervals.
"""

from __future__ import annotations

from .._resampling import Estimate
from .classes import ByClass, ClassMeans, by_class
from .correlation import rank_agreement
from .detection import DetectionComparison, DetectionScores, compare_detection, detection_scores
from .ensemble_health import EnsembleCheck, check_ensemble
from .evidence import vacuity
from .groups import clustered_mean
from .intervals import UncertaintyIntervals, bootstrap_uncertainty
from .member_faults import Finding
from .ranking import ranking_scores
from .rejection import Band, RejectionCurve, rejection_curve
from .scores import brier_score, log_loss

__all__ = [
    "Band",
    "ByClass",
    "ClassMeans",
    "DetectionComparison",
    "DetectionScores",
    "EnsembleCheck",
    "Estimate",
    "Finding",
    "RejectionCurve",
    "UncertaintyIntervals",
    "bootstrap_uncertainty",
    "brier_score",
    "by_class",
    "check_ensemble",
    "clustered_mean",
    "compare_detection",
    "detection_scores",
    "log_loss",
    "rank_agreement",
    "ranking_scores",
    "rejection_curve",
    "vacuity",
]
