"""Explanations of the numbers, shared by the page and ``labelwise demo``."""

from __future__ import annotations

import math

from ..losses import LossName

FEWEST = 10
"""Fewer cases of a class (or a sum of probabilities below it) are too few to say whether data would help."""
SENTENCES = {
    "none": "There is hardly any uncertainty about {}.",
    "aleatoric": "Most of the uncertainty about {} is aleatoric: more data will hardly help.",
    "mixed": "The uncertainty about {} is mostly aleatoric, but a considerable part is epistemic: more data may help somewhat.",
    "epistemic": "Most of the uncertainty about {} is epistemic: more data should help.",
    "unknown": "How much of the uncertainty about {} is epistemic cannot be determined from a single member.",
    "few": f"There are too few cases (fewer than {FEWEST}) to judge {{}}.",
    "absent": "There are no cases of {}.",
}
SHORT = {
    "none": "Hardly any uncertainty",
    "aleatoric": "Data will hardly help",
    "mixed": "Data may help somewhat",
    "epistemic": "Data should help",
    "unknown": "Unknown from one member",
    "few": "Too few cases",
    "absent": "No cases",
}
HELP = {
    "none": "little uncertainty",
    "aleatoric": "hardly",
    "mixed": "somewhat",
    "epistemic": "yes",
    "unknown": "unknown",
    "few": "too few cases",
    "absent": "–",
}
"""Would data help?"""
LOSSES: dict[LossName, tuple[str, str]] = {
    "log": ("log loss", "bits"),
    "squared": ("squared loss", ""),
    "spherical": ("spherical loss", ""),
    "zero_one": ("zero-one loss", ""),
}
"""Name and unit."""
LITTLE, SOME, MOST = 0.02, 0.25, 0.5


def verdict(total: float, epistemic_share: float, maximum: float, n_members: int | None, n_cases: float) -> str:
    """The key of the sentence about one class, from its mean total uncertainty and epistemic share over ``n_cases`` cases.

    ``maximum`` is the largest possible uncertainty.
    """
    if math.isnan(total):
        return "absent"
    if n_cases < FEWEST:
        return "few"
    if total <= LITTLE * maximum:
        return "none"
    if n_members == 1:
        return "unknown"
    return "epistemic" if epistemic_share >= MOST else "mixed" if epistemic_share >= SOME else "aleatoric"
