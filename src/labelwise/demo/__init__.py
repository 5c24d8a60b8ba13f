"""Predictions that come with the package, to try things on."""

from __future__ import annotations

from .ecg import load_ecg_ensemble
from .fashion import load_fashion_ensemble

__all__ = ["load_ecg_ensemble", "load_fashion_ensemble"]
