"""What evaluation needs of predictions, from one pass over their blocks: a few numbers of each
instance, and sums by class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..decomposition import PARTS, Uncertainty, decompose
from ..distributions import Distribution
from ..io import Predictions
from ..io.blocks import blocks_of, in_blocks_of
from ..losses import Loss, LossName
from ._forecasts import accuracy_and_confidence
from .classes import ByClass, ClassSums
from .ranking import ranking_scores


@dataclass(frozen=True, eq=False)
class InstanceSummary:
    """Numbers of N instances and of K classes. Memory: O(N + K)."""

    scores: dict[str, np.ndarray]
    """Total, aleatoric and epistemic uncertainty of each instance, (N,)."""
    right: np.ndarray
    """(N,): 1 if the prediction is right, else 0; of labels that may occur together, the share
    that are right.
    """
    confidence: np.ndarray
    """(N,): how probable it was to be right."""
    classes: ByClass


def summarize_instances(predictions: Predictions, loss: LossName | Loss = "log") -> InstanceSummary:
    """What labeled predictions come to, read from their files a block at a time; bit-identical for
    blocks of any size.
    """
    n, k = len(predictions), predictions.n_classes
    scores, right, confidence = np.empty((len(PARTS), n)), np.empty(n), np.empty(n)
    sums = ClassSums(k)
    for rows, q in blocks_of(predictions):
        u = decompose(q, loss)
        scores[:, rows] = _scores_of_parts(q, u)
        outcomes = predictions.true_class[rows]
        if not predictions.multilabel:
            outcomes = outcomes[:, None] == np.arange(k)
        right[rows], confidence[rows] = accuracy_and_confidence(q.mean(), outcomes, q.exclusive)
        sums.add([getattr(u, part) for part in PARTS], outcomes)
    classes = sums.result(predictions.names)
    return InstanceSummary(dict(zip(PARTS, scores, strict=True)), right, confidence, classes)


def uncertainty_scores(
    predictions: Predictions, loss: LossName | Loss = "log"
) -> dict[str, np.ndarray]:
    """Total, aleatoric and epistemic uncertainty of each instance, (N,), as `InstanceSummary` has
    them.
    """
    scores = in_blocks_of(lambda q: _scores_of_parts(q, decompose(q, loss)), predictions)
    return dict(zip(PARTS, scores, strict=True))


def _scores_of_parts(q: Distribution[Any], u: Uncertainty[Any]) -> tuple[np.ndarray, ...]:
    summed = u.sum()
    if not u.loss.smooth:
        summed = ranking_scores(q, u.loss)  # a kink has exact ties
    return tuple([getattr(summed, part) for part in PARTS])
