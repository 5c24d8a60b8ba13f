"""How good is the uncertainty? Rejection, detection, classes, agreement, and intervals for all of it."""

from __future__ import annotations

from .._resampling import Estimate
from .rejection import Band, RejectionCurve, rejection_curve

__all__ = ["Band", "Estimate", "RejectionCurve", "rejection_curve"]
