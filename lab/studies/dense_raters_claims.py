"""Claims about what three radiologists say about a fourth, fixed before any score was computed.

Known before: the number of nodules, how well four outlines agree (median pairwise Dice 0.81 of 300
nodules), and how often the ratings of malignancy differ (all four agree on 11.5 %).

Each nodule that four radiologists outlined is seen four times: one of them is left out, and the
other three are the members of a case. Radiologists are not known by name, so nothing is said about
single ones. The claims:

1. Outline: EU of the three ÷ predicted volume beats the size alone (small nodules first).
2. Outline: it is not worse than 1 − mean pairwise Dice of the three by more than MARGIN, the margin
   of the study of networks.
3. Voxels: the share of the three who include a voxel, replaced by how often the fourth includes
   such voxels in other patients, has a lower Brier score than the share itself. Voxels are those of
   the box of the three with a border of BORDER voxels, and each nodule weighs the same.
4. Malignancy (1 to 5): EU summed over the ordinal cuts beats EU summed over the five grades as
   separate labels.
5. Malignancy: the EU of "at least 4" beats EU summed over all cuts.

The risk of 1 and 2 is 1 − Dice of the mean outline of the three and the fourth; of 4, the distance
between the fourth's grade and the median of the three; of 5, whether the fourth disagrees with the
majority of the three about "at least 4". Scores are judged by AURC; in 3, the Brier scores are
compared. Lower is better. EU of outlines is in bits, that of grades the variance (squared loss).

No claim: that TU of three underestimates the risk of the fourth by half. With the squared loss that
is arithmetic: over all four ways to leave one out, the mean of (v - m)² is twice that of m (1 - m),
whatever the votes.

Replicates draw patients with replacement. A one-sided p-value is the share of replicates on the
wrong side of the limit; Holm's correction covers the five claims at a level of 2.5 %.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from dense_claims import MARGIN

LEVEL = 0.025
REPLICATES = 10_000
BORDER = (1, 2, 2)


class Claim(NamedTuple):
    """The ``score`` is lower than that of ``against`` plus ``limit``."""

    words: str
    risk: str
    score: str
    against: str
    limit: float = 0.0


CLAIMS = (
    Claim("outline: EU ÷ volume beats the size alone", "outline", "eu_per_volume", "small"),
    Claim(
        "outline: EU ÷ volume is not worse than pairwise Dice by the margin",
        "outline",
        "eu_per_volume",
        "pairwise_dice",
        MARGIN,
    ),
    Claim("voxels: the corrected share beats the share", "brier", "corrected", "share"),
    Claim(
        "malignancy: EU over the ordinal cuts beats EU over separate grades",
        "grade",
        "ordinal_eu",
        "label_eu",
    ),
    Claim(
        'malignancy: the own EU of "at least 4" beats EU over all cuts',
        "suspicious",
        "suspicious_eu",
        "ordinal_eu",
    ),
)


def aurc(score: np.ndarray, risk: np.ndarray, count: np.ndarray) -> float:
    """Mean risk of the 1, 2, … most certain rows, averaged, each row ``count`` times; rows of equal
    score in random order.
    """
    _, tie = np.unique(score, return_inverse=True)
    rows = np.bincount(tie, count)
    means = np.bincount(tie, count * risk) / np.maximum(rows, 1)
    risks = np.repeat(means, rows.astype(int))
    return float(np.mean(np.cumsum(risks) / np.arange(1, len(risks) + 1)))
