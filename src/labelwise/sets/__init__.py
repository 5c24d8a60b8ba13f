"""Prediction sets and thresholds with guarantees for each class, event, label and group: conformal
prediction.
"""

from __future__ import annotations

from ._fit import fit_sets
from ._storage import load_sets
from .labels import fit_labels

__all__ = [
    "fit_labels",
    "fit_sets",
    "load_sets",
]
