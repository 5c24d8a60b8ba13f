"""The scores that the paper compares: three measures, each of total, aleatoric and epistemic
uncertainty, one number per instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from labelwise import Ensemble, decompose, joint
from labelwise.evaluation import detection_scores, rejection_curve

from ..text import PARTS

__all__ = [
    "MEASURES",
    "Scores",
    "accuracy_and_areas",
    "aurocs",
    "differences",
    "epistemic_in_float32",
    "scores",
]

MEASURES = ("variance", "label-wise entropy", "entropy")
"""As in the paper's Table 1: label-wise variance (squared loss), label-wise entropy (log loss), and
entropy of all classes at once, whose epistemic part is mutual information.
"""

Scores = Mapping[tuple[str, str], np.ndarray]
"""(measure, part) -> one number per instance."""


def scores(q: Ensemble) -> dict[tuple[str, str], np.ndarray]:
    """The nine scores of each instance.

    The published code divides the two entropies by their largest values; no curve and no AUROC
    depends on that.
    """
    summed: dict[str, Any] = {
        "variance": decompose(q, "squared").sum(),
        "label-wise entropy": decompose(q, "log").sum(),
        "entropy": joint.decompose(q, "log"),
    }
    return {
        (measure, part): np.asarray(getattr(summed[measure], part))
        for measure in MEASURES
        for part in PARTS
    }


def epistemic_in_float32(probs: np.ndarray) -> dict[str, np.ndarray]:
    """Epistemic uncertainty (M, N, K) -> (N,) by the formulas of the published code, all in single
    precision.

    Its variance is the mean of Σ p (p − mean): where the members nearly agree, what is left is a
    rounding error, which may be negative.
    """
    p = np.asarray(probs, np.float32)
    mean = p.mean(axis=0, dtype=np.float32)
    clipped, clipped_mean = (
        x / x.sum(axis=-1, keepdims=True)
        for x in (np.maximum(x, np.float32(1e-25)) for x in (p, mean))
    )
    binary = np.float32(0)
    for x in (p, 1 - p):
        with np.errstate(divide="ignore"):
            logs = [
                np.where(each > 0, np.log2(each.astype(float)), 0).astype(np.float32)
                for each in (x, x.mean(axis=0))
            ]
        binary = binary + (x * (logs[0] - logs[1])).sum(axis=-1).mean(axis=0)
    return {
        "variance": (p * (p - mean)).sum(axis=-1).mean(axis=0),
        "label-wise entropy": np.asarray(binary),
        "entropy": (clipped * np.log2(clipped / clipped_mean)).sum(axis=-1).mean(axis=0),
    }


def accuracy_and_areas(
    q: Ensemble, found: Scores, y_true: np.ndarray
) -> tuple[float, dict[tuple[str, str], float]]:
    """Accuracy of the ensemble, and the area under the accuracy–rejection curve of each score."""
    correct = q.mean().argmax(-1) == y_true
    return float(correct.mean()), {
        key: rejection_curve(score, correct=correct).area for key, score in found.items()
    }


def aurocs(
    inside: Scores, outside: Scores, parts: Sequence[str] = PARTS
) -> dict[tuple[str, str], float]:
    """AUROC of each score, or of those of some parts, for telling the two sets apart."""
    keys = [(measure, part) for measure in MEASURES for part in parts]
    return {key: float(detection_scores(inside[key], outside[key]).auroc) for key in keys}


def differences(values: Mapping[tuple[str, str], float]) -> list[dict[str, Any]]:
    """The differences between each two measures, for each part."""
    return [
        {"measure": a, "minus": b, "part": part, "value": values[a, part] - values[b, part]}
        for a, b in combinations(MEASURES, 2)
        for part in PARTS
    ]
