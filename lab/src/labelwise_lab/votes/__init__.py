"""People's votes: published data sets with votes, and all comparisons with them."""

from __future__ import annotations

from .benchmark import benchmark_votes

__all__ = ["benchmark_votes"]
