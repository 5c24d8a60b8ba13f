"""Calibration of probabilities, on which expected costs depend: errors, reliability curves, temperature scaling."""

from __future__ import annotations

from .check import CalibrationCheck, check_calibration
from .errors import CalibrationErrors, calibration_errors
from .norms import CalibrationNorms, calibration_norms
from .reliability import ReliabilityCurve, reliability_curves
from .temperature import Temperature, fit_temperature

__all__ = [
    "CalibrationCheck",
    "CalibrationErrors",
    "CalibrationNorms",
    "ReliabilityCurve",
    "Temperature",
    "calibration_errors",
    "calibration_norms",
    "check_calibration",
    "fit_temperature",
    "reliability_curves",
]
