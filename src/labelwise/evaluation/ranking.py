"""Uncertainty as a score to rank instances by: what ties exactly must also tie in floating point.

Under zero-one and cost losses many instances have exactly the same uncertainty: Σ_k min(θ_k, 1 −
θ_k) is 1 wherever no class has more than half of the probability. Members that sum to 1 only up to
rounding split such ties into levels, and a ranking takes the levels for information.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import frexp
from typing import Any

import numpy as np

from .._arrays import as_double
from ..decomposition import PARTS, Components, decompose
from ..distributions import Distribution, Ensemble
from ..distributions.base import not_a_distribution, sum_of_other_classes
from ..distributions.marginals import Atoms
from ..events import Events, Family
from ..io.blocks import in_blocks_of
from ..losses import Loss, LossName, as_loss

BINARY_DIGITS = 30
"""Binary digits that count in a score: a relative grid of 1e-9, finer than float32 (6e-8) and
coarser than the rounding of float64.
"""
FLOOR_DIGITS = 40
"""Epistemic uncertainty of a loss with a kink is a sum of differences; it is rounded to at least
2^-40 of the loss's largest uncertainty.
"""


def ranking_scores(
    q: Distribution,
    loss: LossName | Loss = "log",
    *,
    events: Family | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
) -> Components[np.ndarray]:
    """Total, aleatoric and epistemic uncertainty summed over the labels, such that instances that
    tie exactly have equal scores.

    The members of an ensemble are renormalized in float64, complements are sums over the other
    classes, and the sums over the labels are rounded to 30 binary digits (a relative grid of 1e-9;
    for the epistemic part of a loss with a kink at least 2^-40 of its maximum). The scores then do
    not depend on the order of the classes and members, nor on the floating-point type, and differ
    from ``decompose(q, loss).sum()`` by no more than rounding. Memory: O(N).

    Parameters
    ----------
    q, loss, events
        As for `labelwise.decompose`.
    weights : sequence or mapping, optional
        Weights of the labels, as for `Uncertainty.sum`.

    Returns
    -------
    Components
        NumPy arrays of float64, one value per instance.

    Examples
    --------
    >>> probs = np.random.default_rng(0).dirichlet([1, 1, 1], (5, 100)).astype(np.float32)
    >>> q = lw.Ensemble(probs)
    >>> undecided = q.mean().max(-1) < 0.5  # zero-one uncertainty is then exactly 1
    >>> np.unique(ranking_scores(q, "zero_one").total[undecided])
    array([1.])
    >>> len(np.unique(lw.decompose(q, "zero_one").sum().total[undecided])) > 1  # split by rounding
    True
    """
    loss = as_loss(loss)
    if not isinstance(q, Distribution):
        raise not_a_distribution(q)

    def scores(part: Distribution[Any]) -> tuple[np.ndarray, ...]:
        u = decompose(with_exact_ties(part), loss, events=events)
        summed = u.sum(weights)
        total, aleatoric, epistemic = (as_double(getattr(summed, name)) for name in PARTS)
        largest = np.max(u.loss.maximum)
        floor = None if loss.smooth or largest == 0 else frexp(largest)[1] - FLOOR_DIGITS
        return rounded(total), rounded(aleatoric), rounded(epistemic, floor)

    total, aleatoric, epistemic = in_blocks_of(scores, q)
    return Components(total, aleatoric, epistemic, n_members=q.n_members if q.finite else None)


def rounded(x: np.ndarray, floor: int | None = None) -> np.ndarray:
    """``x`` rounded to `BINARY_DIGITS` binary digits, or to multiples of 2^floor where these are
    coarser.
    """
    exponent = np.frexp(x)[1] - BINARY_DIGITS
    if floor is not None:
        exponent = np.maximum(exponent, floor)
    return np.asarray(np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent))


class RankedScores:
    """Instances in increasing order of their score (n,); those of equal score are one level.

    One sort serves all weights of the instances: the replicates of a bootstrap or a jackknife.
    """

    def __init__(self, score: np.ndarray) -> None:
        _, self.level, self.sizes = np.unique(score, return_inverse=True, return_counts=True)
        self.order = np.argsort(self.level, kind="stable")

    def sums(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` (..., n) over the instances up to each level, (..., levels)."""
        return np.cumsum(x[..., self.order], axis=-1)[..., np.cumsum(self.sizes) - 1]

    def of_instances(self, x: np.ndarray) -> np.ndarray:
        """From ``x`` (..., levels) what belongs to each instance, (..., n)."""
        return x[..., self.level]

    @property
    def tie_share(self) -> float:
        """The share of instances whose score another instance has too."""
        return float(self.sizes[self.sizes > 1].sum() / len(self.order))


def with_exact_ties(q: Distribution[Any]) -> Distribution[Any]:
    """An ensemble of exclusive classes in float64, summing to 1; anything else as it is."""
    if q.members is None or not q.exclusive:
        return q
    probs, weights = q.members
    probs = as_double(probs)
    if weights is not None:
        weights = as_double(weights)
    probs /= probs.sum(axis=-1, keepdims=True)
    return _Renormalized(probs, weights=weights, class_names=q.class_names, member_axis=0)


class _Renormalized(Ensemble[np.ndarray]):
    """An ensemble whose complements are summed over the other classes, so that a small one is as
    accurate as a small probability.
    """

    def fast(self, *given: Any, **options: Any) -> None:
        """The kernel takes complements from 1."""

    def law(self, probs: Any, weights: Any, events: Events | None) -> Atoms:
        if events is not None:
            return super().law(probs, weights, events)
        return Atoms(probs, weights, sum_of_other_classes(probs))
