"""Decisions under uncertainty: costs, actions, rejection thresholds with a guarantee, and active
learning.
"""

from __future__ import annotations

from .acquisition import Acquisition, acquire
from .costs import Costs
from .policy import BreakEven, Decisions, decide
from .problem import ABSTAIN, ASK
from .summary import ClassCalls, DecisionSummary
from .thresholds import Threshold, choose_threshold

__all__ = [
    "ABSTAIN",
    "ASK",
    "Acquisition",
    "BreakEven",
    "ClassCalls",
    "Costs",
    "DecisionSummary",
    "Decisions",
    "Threshold",
    "acquire",
    "choose_threshold",
    "decide",
]
