"""Calibration of probabilities and of uncertainty: errors, curves, recalibration, and people's votes against claims."""

from __future__ import annotations

from .check import CalibrationCheck, check_calibration
from .errors import CalibrationErrors, calibration_errors
from .norms import CalibrationNorms, calibration_norms
from .reliability import ReliabilityCurve, reliability_curves
from .temperature import Temperature, fit_temperature
from .votes_reliability import EntropyBounds, VoteReliability, vote_reliability

__all__ = [
    "CalibrationCheck",
    "CalibrationErrors",
    "CalibrationNorms",
    "EntropyBounds",
    "ReliabilityCurve",
    "Temperature",
    "VoteReliability",
    "calibration_errors",
    "calibration_norms",
    "check_calibration",
    "fit_temperature",
    "reliability_curves",
    "vote_reliability",
]
