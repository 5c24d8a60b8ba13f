"""The laws of one event's probability: weighted atoms, Beta laws and their mixtures, Gaussian
log-odds.
"""

from __future__ import annotations

from .atoms import Atoms
from .base import Marginal, Split
from .beta import Beta, BetaMixture
from .interval import Interval
from .logit_normal import LogitNormal, Sampled

__all__ = [
    "Atoms",
    "Beta",
    "BetaMixture",
    "Interval",
    "LogitNormal",
    "Marginal",
    "Sampled",
    "Split",
]
