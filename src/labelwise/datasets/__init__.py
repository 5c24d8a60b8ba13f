"""Data sets by name or from files: images or features, labels, class names and the published split."""

from __future__ import annotations

from .types import Dataset, Split

__all__ = ["Dataset", "Split"]
