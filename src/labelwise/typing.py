"""What functions return: the types of results, for annotations and `isinstance`."""

from __future__ import annotations

from ._resampling import Estimate
from .axioms.table import AxiomResult, AxiomTable, Counterexample
from .calibration.check import CalibrationCheck
from .calibration.errors import CalibrationErrors
from .calibration.first_order import Calibration
from .calibration.reliability import ReliabilityCurve
from .calibration.votes_check import VoteCheck
from .calibration.votes_reliability import VoteReliability
from .calibration.votes_repair import VoteCalibration
from .calibration.votes_scores import VoteScore
from .decisions.acquisition import Acquisition
from .decisions.policy import Decisions
from .decisions.summary import DecisionSummary
from .decisions.thresholds import Threshold
from .decomposition import Components, Uncertainty
from .decomposition.results import Top
from .demo.ecg import ECGEnsemble
from .demo.fashion import FashionEnsemble
from .evaluation.classes import ByClass, ClassMeans
from .evaluation.comparison import Criterion, MeasureComparison
from .evaluation.detection import DetectionScores
from .evaluation.ensemble_health import EnsembleCheck
from .evaluation.intervals import UncertaintyIntervals
from .evaluation.member_faults import Finding
from .evaluation.rejection import Band, RejectionCurve
from .joint import JointUncertainty
from .joint.losses import JointLoss
from .losses import ProperCheck
from .report.write import Report
from .sets._evaluation import Coverage, SetEvaluation
from .sets._label_results import LabelAnswers, LabelEvaluation
from .sets._predictor import SetPredictor
from .sets._result import PredictionSets
from .sets.labels import LabelThresholds
from .sources import Sources

__all__ = [
    "Acquisition",
    "AxiomResult",
    "AxiomTable",
    "Band",
    "ByClass",
    "Calibration",
    "CalibrationCheck",
    "CalibrationErrors",
    "ClassMeans",
    "Components",
    "Counterexample",
    "Coverage",
    "Criterion",
    "DecisionSummary",
    "Decisions",
    "DetectionScores",
    "ECGEnsemble",
    "EnsembleCheck",
    "Estimate",
    "FashionEnsemble",
    "Finding",
    "JointLoss",
    "JointUncertainty",
    "LabelAnswers",
    "LabelEvaluation",
    "LabelThresholds",
    "MeasureComparison",
    "PredictionSets",
    "ProperCheck",
    "RejectionCurve",
    "ReliabilityCurve",
    "Report",
    "SetEvaluation",
    "SetPredictor",
    "Sources",
    "Threshold",
    "Top",
    "Uncertainty",
    "UncertaintyIntervals",
    "VoteCalibration",
    "VoteCheck",
    "VoteReliability",
    "VoteScore",
]
