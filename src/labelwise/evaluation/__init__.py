"""Evaluate uncertainty: rejection, out-of-distribution detection, classes, agreement, and confidence intervals."""

from __future__ import annotations

from .._resampling import Estimate
from .classes import ByClass, ClassMeans, by_class
from .correlation import Agreement, RankAgreement, agreement, rank_agreement
from .detection import DetectionComparison, DetectionScores, compare_detection, detection_scores
from .intervals import UncertaintyIntervals, bootstrap_uncertainty
from .members import MembersNeeded, members_needed
from .rejection import Band, RejectionCurve, rejection_curve
from .runs import ClassCurves, MeanCurve, mean_curve, mean_over_runs, rejection_curves_by_class

__all__ = [
    "Agreement",
    "Band",
    "ByClass",
    "ClassCurves",
    "ClassMeans",
    "DetectionComparison",
    "DetectionScores",
    "Estimate",
    "MeanCurve",
    "MembersNeeded",
    "RankAgreement",
    "RejectionCurve",
    "UncertaintyIntervals",
    "agreement",
    "bootstrap_uncertainty",
    "by_class",
    "compare_detection",
    "detection_scores",
    "mean_curve",
    "mean_over_runs",
    "members_needed",
    "rank_agreement",
    "rejection_curve",
    "rejection_curves_by_class",
]
