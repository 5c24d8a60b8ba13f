"""Second-order distributions: what a predictor believes about the class probabilities of one
instance.

Each knows its ``mean`` and how to ``sample``. ``marginal(events)`` gives the law of each event,
which splits a loss into its aleatoric and epistemic part.
"""

from __future__ import annotations

from .base import Distribution
from .dirichlet import Dirichlet, DirichletMixture
from .ensemble import Ensemble
from .intervals import Intervals
from .logistic_normal import LogisticNormal
from .multilabel import MultiLabelEnsemble

__all__ = [
    "Dirichlet",
    "DirichletMixture",
    "Distribution",
    "Ensemble",
    "Intervals",
    "LogisticNormal",
    "MultiLabelEnsemble",
]
