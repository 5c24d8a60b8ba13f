"""Uncertainty of an ensemble under other member weights, without new predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

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


def with_sums(aleatoric: np.ndarray, epistemic: np.ndarray) -> np.ndarray:
    """TU, AU and EU of each label (N, K) as (3, N, K + 1); the last column is the sum over the
    labels.
    """
    parts = np.stack([aleatoric + epistemic, aleatoric, epistemic])
    return np.concatenate([parts, parts.sum(axis=-1, keepdims=True)], axis=-1)


def reweighted(
    q: Any, u: Uncertainty, weights: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    r"""Aleatoric and epistemic uncertainty, (N, K) each, under each row of member ``weights``.

    With the full ensemble's mean as reference, :math:`\mathrm{EU}_w = \sum_m w_m D(\theta_m \Vert
    \bar\theta) - D(\bar\theta_w \Vert
    \bar\theta)`: the difference of two small numbers, not of two large ones, and 0 when the members agree.
    """  # noqa: E501
    law = numpy_law(q, u.events)
    shape = (-1, len(u.class_names))
    mt, mc = law.mean
    own = u.loss.entropy(law.t, law.c)
    away = u.loss.divergence(law.t, mt, law.c, mc, law.deviation)
    for w in weights:
        t, c, d = (np.tensordot(w, x, 1) for x in (law.t, law.c, law.deviation))
        aleatoric = np.tensordot(w, own, 1)
        epistemic = np.tensordot(w, away, 1) - u.loss.divergence(t, mt, c, mc, d)
        yield aleatoric.reshape(shape), np.maximum(epistemic, 0).reshape(shape)
