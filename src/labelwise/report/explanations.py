"""Explanations of the numbers on the page."""

from __future__ import annotations

from ..losses import LossName

PARTS_EXPLAINED = (
    "Epistemic: between the members, what they disagree about. Aleatoric: within the members, how "
    "unsure each is by itself, on average. "
    "Neither says what more data would do: members can agree because they are alike and disagree "
    "because they are random."
)
PARTS_OF_INTERVALS = (
    "Total: the most that probabilities in the intervals have. Aleatoric: the least. Epistemic: "
    "the difference. Sums over the labels are bounds."
)
FEWEST = 10
"""Of fewer cases of a class (or a sum of probabilities below it), the page says that they are too
few.
"""
LOSSES: dict[LossName, tuple[str, str]] = {
    "log": ("log loss", "bits"),
    "squared": ("squared loss", ""),
    "spherical": ("spherical loss", ""),
    "zero_one": ("zero-one loss", ""),
}
"""Name and unit."""
