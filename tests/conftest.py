"""Makes property tests repeatable."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("labelwise", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("labelwise")
