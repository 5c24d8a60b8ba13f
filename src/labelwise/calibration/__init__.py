"""Calibration of probabilities and of uncertainty: errors, curves, recalibration, and people's
votes against claims.
"""

from __future__ import annotations

from .check import CalibrationCheck, check_calibration
from .errors import CalibrationErrors, calibration_errors
from .first_order import Calibration, fit_calibration
from .reliability import ReliabilityCurve, reliability_curves
from .votes_check import VoteCheck, check_votes
from .votes_reliability import VoteReliability, vote_reliability
from .votes_repair import VoteCalibration, fit_vote_calibration
from .votes_scores import VoteScore, score_votes

__all__ = [
    "Calibration",
    "CalibrationCheck",
    "CalibrationErrors",
    "ReliabilityCurve",
    "VoteCalibration",
    "VoteCheck",
    "VoteReliability",
    "VoteScore",
    "calibration_errors",
    "check_calibration",
    "check_votes",
    "fit_calibration",
    "fit_vote_calibration",
    "reliability_curves",
    "score_votes",
    "vote_reliability",
]
