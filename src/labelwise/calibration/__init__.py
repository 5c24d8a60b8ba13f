"""Calibration of probabilities and of uncertainty: errors, curves, recalibration, and people's
votes against claims.
"""

from __future__ import annotations

from .check import CalibrationCheck, check_calibration
from .disentanglement import disentanglement_error
from .errors import CalibrationErrors, calibration_errors
from .first_order import Calibration, fit_calibration
from .members import HeldOutScores, MemberCalibration, calibrate_members
from .norms import CalibrationNorms, calibration_norms
from .reliability import ReliabilityCurve, reliability_curves
from .temperature import Temperature, fit_temperature
from .votes_check import VoteCheck, check_votes
from .votes_reliability import EntropyBounds, VoteReliability, vote_reliability
from .votes_repair import VoteCalibration, fit_vote_calibration
from .votes_scores import VoteScore, score_votes

__all__ = [
    "Calibration",
    "CalibrationCheck",
    "CalibrationErrors",
    "CalibrationNorms",
    "EntropyBounds",
    "HeldOutScores",
    "MemberCalibration",
    "ReliabilityCurve",
    "Temperature",
    "VoteCalibration",
    "VoteCheck",
    "VoteReliability",
    "VoteScore",
    "calibrate_members",
    "calibration_errors",
    "calibration_norms",
    "check_calibration",
    "check_votes",
    "disentanglement_error",
    "fit_calibration",
    "fit_temperature",
    "fit_vote_calibration",
    "reliability_curves",
    "score_votes",
    "vote_reliability",
]
