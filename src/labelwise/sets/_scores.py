"""How strange each class would be as the truth: the nonconformity scores LAC and APS, of mean
probabilities (N, K).
"""

from __future__ import annotations

import numpy as np

SCORES = ("lac", "aps")


def class_scores(score: str, p: np.ndarray, uniform: np.ndarray | None = None) -> np.ndarray:
    r"""The score of each class, (N, K).

    ``"lac"`` (Sadinle, Lei, Wasserman 2019): :math:`-p_k`, the same sets as :math:`1 - p_k` without
    its rounding. ``"aps"`` (Romano, Sesia, Candès 2020): :math:`\sum_j p_j [p_j \ge p_k]`, the
    probability of all classes at least as probable; with ``uniform`` U (N,), the share U of the
    last ones: :math:`\sum_j p_j [p_j > p_k] + U \sum_j p_j [p_j = p_k]`. Classes of equal
    probability have equal scores, so that the order of the classes does not matter.

    >>> class_scores("aps", np.array([[0.5, 0.2, 0.3], [0.25, 0.5, 0.25]]))
    array([[0.5, 1. , 0.8],
           [1. , 0.5, 1. ]])
    """
    if score == "lac":
        return -p
    order = np.argsort(-p, axis=-1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=-1)
    sums = np.cumsum(ranked, axis=-1)
    last = np.concatenate(
        [ranked[:, 1:] != ranked[:, :-1], np.ones((len(p), 1), bool)], axis=-1
    )  # of its ties
    through = np.minimum.accumulate(np.where(last, sums, np.inf)[:, ::-1], axis=-1)[:, ::-1]
    if uniform is not None:
        first = np.concatenate([np.ones((len(p), 1), bool), last[:, :-1]], axis=-1)
        before = np.maximum.accumulate(
            np.where(
                first, np.concatenate([np.zeros((len(p), 1)), sums[:, :-1]], axis=-1), -np.inf
            ),
            axis=-1,
        )
        through = before + uniform[:, None] * (through - before)
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, through, axis=-1)
    return scores
