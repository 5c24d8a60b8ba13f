"""Calibration of probabilities and of uncertainty: errors, curves, recalibration, and people's
votes against claims.
"""

from __future__ import annotations

from .check import check_calibration
from .errors import calibration_errors
from .first_order import fit_calibration
from .reliability import reliability_curves
from .votes_check import check_votes
from .votes_reliability import vote_reliability
from .votes_repair import fit_vote_calibration
from .votes_scores import score_votes

__all__ = [
    "calibration_errors",
    "check_calibration",
    "check_votes",
    "fit_calibration",
    "fit_vote_calibration",
    "reliability_curves",
    "score_votes",
    "vote_reliability",
]
