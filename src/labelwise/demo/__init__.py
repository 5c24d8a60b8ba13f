"""Predictions that come with the package, to try things on."""

from __future__ import annotations

from .ecg import ECGEnsemble, load_ecg_ensemble
from .fashion import FashionEnsemble, load_fashion_ensemble

__all__ = ["ECGEnsemble", "FashionEnsemble", "load_ecg_ensemble", "load_fashion_ensemble"]
