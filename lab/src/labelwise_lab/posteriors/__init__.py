"""Second-order predictions of one network: evidential training, and a Laplace approximation of the
last layer.
"""

from __future__ import annotations

from .evidential import Evidence, annealing, evidential_loss, fit_evidential, predict_evidential
from .laplace import LastLayerLaplace, fit_laplace

__all__ = [
    "Evidence",
    "LastLayerLaplace",
    "annealing",
    "evidential_loss",
    "fit_evidential",
    "fit_laplace",
    "predict_evidential",
]
