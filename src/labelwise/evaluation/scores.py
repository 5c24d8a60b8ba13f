"""Proper scores of the mean prediction: how good are the probabilities, calibration and sharpness
together?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._engine.blocks import row_blocks
from .._frames import same_rows
from .._resampling import Estimate, Resampling
from .._validation.arguments import Rng
from ._forecasts import forecasts

STANDS_FOR_INFINITY = 1e300
"""Stands for infinity where percentiles are taken."""


def brier_score(
    q: Any,
    y_true: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: Rng = None,
) -> Estimate:
    r"""Brier score: the mean squared error of the probabilities, summed over the classes; 0 is
    perfect, 2 the worst.

    .. math:: \frac1N \sum_i \sum_k (\bar\theta_{ik} - 1[y_i = k])^2

    Brier's own definition, and scikit-learn's ``brier_score_loss`` for three or more classes; for
    two, scikit-learn halves it by default (``scale_by_half``). For labels that may occur together
    it is summed over the labels. Memory: the mean prediction (N, K) in double precision, and a byte
    for each of its numbers; no copy of the members.

    Parameters
    ----------
    q : distribution, or array (N, K)
        Its mean prediction is judged.
    y_true : array (N,) or bool array (N, K)
        True classes (names or positions; integers are names where all class names are integers), or
        for each label whether it happened.
    groups : array (N,), optional
        What belongs together (patients), for the interval.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 there is a bootstrap interval.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> float(brier_score(np.array([[0.9, 0.1], [0.4, 0.6]]), [0, 0]).value.round(3))
    0.37
    """
    y_true, groups = same_rows(q, y_true=y_true, groups=groups)

    def of_rows(p: np.ndarray, happened: np.ndarray, exclusive: bool) -> np.ndarray:
        return np.asarray(np.sum((p - happened) ** 2, axis=1))

    return _mean_score(of_rows, q, y_true, groups, confidence, n_bootstrap, rng)


def log_loss(
    q: Any,
    y_true: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: Rng = None,
) -> Estimate:
    r"""Log loss (negative log-likelihood, cross-entropy) in bits: 0 is perfect, infinite if what
    happened had probability 0.

    .. math:: -\frac1N \sum_i \log_2 \bar\theta_{i, y_i}

    Times ln 2 it is scikit-learn's ``log_loss``, except that nothing is clipped here. For labels
    that may occur together it is the sum over the labels of :math:`-\log_2` of the probability of
    what happened. Other parameters as for `brier_score`.

    Examples
    --------
    >>> float(log_loss(np.array([[0.5, 0.5], [0.25, 0.75]]), [0, 0]))
    1.5
    """
    y_true, groups = same_rows(q, y_true=y_true, groups=groups)

    def of_rows(p: np.ndarray, happened: np.ndarray, exclusive: bool) -> np.ndarray:
        likely = np.where(happened, p, 1 - p)
        if exclusive:
            likely = p[happened][:, None]
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(-np.log2(likely).sum(axis=1), 0.0))

    return _mean_score(of_rows, q, y_true, groups, confidence, n_bootstrap, rng)


def _mean_score(
    of_rows: Callable[[np.ndarray, np.ndarray, bool], np.ndarray],
    q: Any,
    y_true: Any,
    groups: Any,
    confidence: float,
    n_bootstrap: int,
    rng: Any,
) -> Estimate:
    """The mean over the instances, with a bootstrap interval if ``n_bootstrap`` > 0; ``of_rows``
    takes forecasts and what happened to the score of each.
    """
    p, happened, _, exclusive = forecasts(q, y_true)
    each = np.empty(len(p))
    for rows in row_blocks(*p.shape):
        each[rows] = of_rows(p[rows], happened[rows], exclusive)
    resampling = Resampling(len(each), groups, n_bootstrap, confidence, rng)
    if not resampling.wanted:
        return Estimate(each.mean(), confidence=confidence)
    capped = np.minimum(each, STANDS_FOR_INFINITY)
    total, size = resampling.sums(np.stack([capped, np.ones(len(each))], axis=1)).T
    found = resampling.estimate(each.mean(), total / size, (0.0, np.inf))
    # Percentiles lie between replicates.
    ends = np.array([found.low, found.high])
    low, high = np.where(ends > np.sqrt(STANDS_FOR_INFINITY), np.inf, ends).tolist()
    return replace(found, low=low, high=high)
