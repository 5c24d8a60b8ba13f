"""Predictions that come with the package, to try things on."""

from __future__ import annotations

from .fashion import FashionEnsemble, load_fashion_ensemble

__all__ = ["FashionEnsemble", "load_fashion_ensemble"]
