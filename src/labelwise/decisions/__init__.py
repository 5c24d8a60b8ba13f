"""Decisions under uncertainty: costs, actions, rejection thresholds with a guarantee, and active
learning.
"""

from __future__ import annotations

from .acquisition import Acquisition, acquire
from .costs import Costs
from .policy import Decisions, decide
from .problem import ABSTAIN, ASK
from .summary import DecisionSummary
from .thresholds import Threshold, choose_threshold

__all__ = [
    "ABSTAIN",
    "ASK",
    "Acquisition",
    "Costs",
    "DecisionSummary",
    "Decisions",
    "Threshold",
    "acquire",
    "choose_threshold",
    "decide",
]
