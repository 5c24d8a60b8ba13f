"""People's votes: published data sets with votes, and all comparisons with them."""

from __future__ import annotations

from .benchmark import benchmark_votes
from .disentanglement import disentanglement_error
from .members import HeldOutScores, MemberCalibration, calibrate_members

__all__ = [
    "HeldOutScores",
    "MemberCalibration",
    "benchmark_votes",
    "calibrate_members",
    "disentanglement_error",
]
