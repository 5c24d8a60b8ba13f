"""Decisions under uncertainty: costs, actions, rejection thresholds with a guarantee, and active
learning.
"""

from __future__ import annotations

from .acquisition import acquire
from .costs import Costs
from .policy import decide
from .problem import ABSTAIN, ASK
from .thresholds import choose_threshold

__all__ = [
    "ABSTAIN",
    "ASK",
    "Costs",
    "acquire",
    "choose_threshold",
    "decide",
]
