"""Evaluate uncertainty: rejection, out-of-distribution detection, classes, agreement, and
confidence intervals.
"""

from __future__ import annotations

from .._resampling import Estimate
from .baselines import margin, vacuity, variation_ratio, vote_disagreement
from .classes import ByClass, ClassMeans, by_class, epistemic_share
from .correlation import RankAgreement, rank_agreement
from .detection import DetectionComparison, DetectionScores, compare_detection, detection_scores
from .ensemble_health import EnsembleCheck, check_ensemble
from .families import clustered_mean, simultaneous_intervals
from .intervals import UncertaintyIntervals, bootstrap_uncertainty
from .member_faults import Finding
from .members import MembersNeeded, members_needed
from .ranking import ranking_scores
from .rejection import Band, RejectionCurve, rejection_curve
from .runs import MeanCurve, mean_curve, mean_over_runs, rejection_curves_by_class
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
    "MeanCurve",
    "MembersNeeded",
    "RankAgreement",
    "RejectionCurve",
    "UncertaintyIntervals",
    "bootstrap_uncertainty",
    "brier_score",
    "by_class",
    "check_ensemble",
    "clustered_mean",
    "compare_detection",
    "detection_scores",
    "epistemic_share",
    "log_loss",
    "margin",
    "mean_curve",
    "mean_over_runs",
    "members_needed",
    "rank_agreement",
    "ranking_scores",
    "rejection_curve",
    "rejection_curves_by_class",
    "simultaneous_intervals",
    "vacuity",
    "variation_ratio",
    "vote_disagreement",
]
