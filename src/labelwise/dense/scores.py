"""Which case score finds bad segmentations? Rejection by each score, against 1 − Dice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..evaluation import rejection_curve

# The sign makes a high score doubtful.
SCORES = {
    "eu_per_volume": 1,
    "au_per_volume": 1,
    "entropy_per_volume": 1,
    "mean_entropy": 1,
    "pairwise_dice": -1,
}
FEWEST = 5  # cases; an area over fewer says nothing
N_BOOTSTRAP = 500


def detect_segmentation_failures(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """AURC of each score for each structure with truth in enough cases, with a 95 % interval over
    cases; that of random rejection is the mean of 1 − Dice.
    """
    found = []
    for structure in dict.fromkeys(row["structure"] for row in rows):
        own = [row for row in rows if row["structure"] == structure and "dice" in row]
        if len(own) < FEWEST:
            continue
        risk = [1 - row["dice"] for row in own]
        for name, sign in SCORES.items():
            score = [sign * row[name] for row in own]
            curve: Any = rejection_curve(score, risk=risk, n_bootstrap=N_BOOTSTRAP, rng=0)
            found.append(
                {
                    "structure": structure,
                    "score": name,
                    "cases": len(own),
                    "aurc": curve.aurc,
                    "low": curve.band.aurc.low,
                    "high": curve.band.aurc.high,
                    "random": curve.random,
                }
            )
    return found
