"""Proper scores of the mean prediction: how good are the probabilities, calibration and sharpness
together?
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._frames import same_rows
from .._resampling import Estimate, check_confidence, group_codes, mean_over_groups
from ._forecasts import forecasts


def brier_score(
    q: Any,
    y_true: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
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
    confidence : float
        Of Student's t-interval over the cases or groups, which is on a scale that stays within the
        bounds of the score. It cannot know of mistakes that are too rare to be among the cases.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> round(float(brier_score(np.array([[0.9, 0.1], [0.4, 0.6]]), [0, 0])), 3)
    0.37
    """
    y_true, groups = same_rows(q, y_true=y_true, groups=groups)

    p, happened, _, exclusive = forecasts(q, y_true)
    p -= happened
    each = np.einsum("nk,nk->n", p, p)
    highest = 2.0 if exclusive else float(p.shape[1])
    # of probabilities that sum to 1 up to rounding
    return _mean_score(each, max(highest, each.max(initial=0)), groups, confidence)


def log_loss(
    q: Any,
    y_true: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
) -> Estimate:
    r"""Log loss (negative log-likelihood, cross-entropy) in bits: 0 is perfect, infinite if what
    happened had probability 0.

    .. math:: -\frac1N \sum_i \log_2 \bar\theta_{i, y_i}

    Times ln 2 it is scikit-learn's ``log_loss``, except that nothing is clipped here. For labels
    that may occur together it is the sum over the labels of :math:`-\log_2` of the probability of
    what happened. Without an interval where it is infinite; the interval has no upper end where it
    is 0, because the next case may cost any amount. Other parameters as for `brier_score`.

    Examples
    --------
    >>> float(log_loss(np.array([[0.5, 0.5], [0.25, 0.75]]), [0, 0]))
    1.5
    """
    y_true, groups = same_rows(q, y_true=y_true, groups=groups)

    p, happened, _, exclusive = forecasts(q, y_true)
    if exclusive:
        p = p[happened][:, None]
    else:
        np.subtract(1, p, out=p, where=~happened)
    with np.errstate(divide="ignore"):
        each = np.maximum(-np.log2(p, out=p).sum(axis=1), 0.0)
    return _mean_score(each, np.inf, groups, confidence)


def _mean_score(each: np.ndarray, highest: float, groups: Any, confidence: float) -> Estimate:
    """The mean score of the instances, which lies between 0 and ``highest``."""
    check_confidence(confidence)
    code, _ = group_codes(groups, len(each))
    if np.any(np.isinf(each)):
        return Estimate(np.inf, confidence=confidence)
    return mean_over_groups(each, code, confidence, bounds=(0.0, highest))
