"""Uncertainty of an ensemble under other member weights, without new predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays import to_numpy
from ..decomposition import Uncertainty, numpy_law
from ..distributions import Distribution

ONE_MEMBER = (
    "one member says nothing about epistemic uncertainty: it is always 0, because one member "
    "cannot disagree. "
    "Train at least {needed} members (5 or more are usual), or use a distribution such as "
    "lw.Dirichlet"
)


def count_members(q: Any, needed: int) -> int:
    if not isinstance(q, Distribution) or not q.finite or q.n_members is None:
        raise ValueError(
            f"`q` must be an ensemble to resample its members; got {type(q).__name__}. Use "
            "over='instances'"
        )
    if q.weights is not None and q.weights.ndim > 1:
        raise ValueError(
            "`q` has weights that differ between instances, so its members cannot be resampled"
        )
    if q.n_members == 1:
        raise ValueError(f"`q`: {ONE_MEMBER.format(needed=needed)}")
    if q.n_members < needed:
        raise ValueError(
            f"`q` must have at least {needed} members here; got {q.n_members}, too few to estimate "
            "a variance"
        )
    return q.n_members


def flat(u: Uncertainty) -> np.ndarray:
    """Aleatoric and epistemic uncertainty as (2, N, K + 1); the last column is the sum over the
    labels.
    """
    parts = [
        to_numpy(x).astype(float).reshape(-1, len(u.class_names))
        for x in (u.aleatoric, u.epistemic)
    ]
    return np.stack([np.concatenate([x, x.sum(axis=-1, keepdims=True)], axis=-1) for x in parts])


def reweighted(q: Any, u: Uncertainty, weights: np.ndarray) -> Iterator[np.ndarray]:
    r"""Aleatoric and epistemic uncertainty (2, N, K + 1) under each row of member ``weights``.

    With the full ensemble's mean as reference, :math:`\mathrm{EU}_w = \sum_m w_m D(\theta_m \Vert
    \bar\theta) - D(\bar\theta_w \Vert
    \bar\theta)`: the difference of two small numbers, not of two large ones, and 0 when the members agree.
    """  # noqa: E501
    law = numpy_law(q, u.events)
    k = len(u.class_names)
    mt, mc = law.mean
    own = u.loss.entropy(law.t, law.c)
    away = u.loss.divergence(law.t, mt, law.c, mc, law.deviation)
    for w in weights:
        t, c, d, aleatoric, first = (
            np.tensordot(w, x, 1) for x in (law.t, law.c, law.deviation, own, away)
        )
        epistemic = np.maximum(first - u.loss.divergence(t, mt, c, mc, d), 0)
        x = np.stack([aleatoric, epistemic]).reshape(2, -1, k)
        yield np.concatenate([x, x.sum(axis=-1, keepdims=True)], axis=-1)
