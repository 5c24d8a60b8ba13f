"""Scores that others use for the uncertainty of a prediction, for comparison: margin, votes of the
members, vacuity.

Each is one number per instance, (...,), higher where the prediction is less certain, as
`rejection_curve` and `detection_scores` want it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import to_numpy
from ..distributions import Dirichlet, Distribution
from ..distributions.base import not_a_distribution


def margin(q: Distribution) -> np.ndarray:
    r"""One minus the difference between the two highest mean probabilities: 0 if one class is
    certain, 1 if two are equally likely.

    For labels that may occur together it is that of the least certain label, :math:`1 - \min_k |2
    \bar\theta_k - 1|`.

    >>> margin(lw.Ensemble(np.array([[[0.7, 0.2, 0.1]], [[0.5, 0.4, 0.1]]]))).round(3)
    array([0.7])
    """
    _check(q)
    mean = to_numpy(q.mean()).astype(float)
    if not q.exclusive:
        return np.asarray(1 - np.abs(2 * mean - 1).min(axis=-1))
    highest = np.partition(mean, -2, axis=-1)[..., -2:]
    return np.asarray(1 - (highest[..., 1] - highest[..., 0]))


def variation_ratio(q: Distribution) -> np.ndarray:
    """The share of members that do not vote for the class with most votes (Freeman 1965); 0 if all
    agree.

    A member votes for its most probable class, the first of those where several are; votes count by
    the members' weights.

    >>> variation_ratio(lw.Ensemble(np.array([[[0.9, 0.1]], [[0.4, 0.6]], [[0.8, 0.2]]]))).round(3)
    array([0.333])
    """
    votes, _ = _votes(q, "variation_ratio")
    return np.asarray(np.maximum(1 - votes.max(axis=-1), 0.0))


def vote_disagreement(q: Distribution) -> np.ndarray:
    r"""The probability that two different members, drawn at random, vote for different classes; 0
    if all agree, 1 if no two do.

    .. math:: \frac{1 - \sum_k v_k^2}{1 - \sum_m w_m^2}

    with the shares :math:`v_k` of the votes and the weights :math:`w_m` of the members. Votes are
    those of `variation_ratio`.

    >>> vote_disagreement(lw.Ensemble(np.array([[[0.9, 0.1]], [[0.4, 0.6]], [[0.8, 0.2]]]))).round(3)
    array([0.667])
    """  # noqa: E501
    votes, weights = _votes(q, "vote_disagreement")
    pairs = 1 - np.sum(weights**2, axis=0)
    if np.any(pairs <= 1e-12):
        raise ValueError(
            "`vote_disagreement` compares members with each other; it needs at least 2 with "
            "positive weight"
        )
    return np.asarray(np.clip((1 - np.sum(votes**2, axis=-1)) / pairs, 0, 1))


def vacuity(q: Dirichlet) -> np.ndarray:
    r"""Vacuity of the evidence behind a Dirichlet distribution, :math:`K / \sum_k \alpha_k`
    (subjective logic; Sensoy et al. 2018).

    With α = evidence + 1 it is 1 without any evidence and tends to 0 as evidence grows.

    >>> vacuity(lw.Dirichlet(np.array([[1.0, 1.0, 1.0], [28.0, 1.0, 1.0]])))
    array([1. , 0.1])
    """
    if not isinstance(q, Dirichlet):
        raise TypeError(
            "`q` must be an lw.Dirichlet: vacuity is a property of its concentrations; got "
            f"{type(q).__name__}"
        )
    return np.asarray(q.n_classes / to_numpy(q.alpha).astype(float).sum(axis=-1))


def _check(q: Any) -> None:
    if not isinstance(q, Distribution):
        raise not_a_distribution(q)


def _votes(q: Distribution, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The share of the votes that each class gets, (..., K), and the weights of the members, (M,
    ...).
    """
    _check(q)
    if q.members is None or not q.exclusive:
        raise ValueError(
            f"`{name}` counts the votes of members for one class each, as an lw.Ensemble has them; "
            f"got {type(q).__name__}"
        )
    probs, given = q.members
    winner = to_numpy(probs).argmax(axis=-1)
    m = winner.shape[0]
    weights = np.full(m, 1 / m) if given is None else to_numpy(given).astype(float)
    weights = np.broadcast_to(
        weights.reshape(weights.shape + (1,) * (winner.ndim - weights.ndim)), winner.shape
    )
    votes = [np.sum(weights * (winner == k), axis=0) for k in range(q.n_classes)]
    return np.stack(votes, axis=-1), weights
