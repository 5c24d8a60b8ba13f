r"""Joint losses: entropy and divergence of whole probability vectors ``p`` (..., K), as
`labelwise.losses` for single labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log
from typing import Any

import numpy as np

from .._arrays import Array, index_like, like, namespace, not_negative
from .._errors import InputError
from .._frames import library_of_frame
from ..distributions.base import sum_of_other_classes
from ..losses import (
    CostLoss,
    LogLoss,
    Loss,
    LossName,
    SphericalLoss,
    SquaredLoss,
    ZeroOneLoss,
    as_loss,
)
from ..losses._special import kl_loss_term, log_complement, x_log_x
from ..losses.base import with_complement


class JointLoss:
    """Base class of joint losses."""

    def entropy(self, p: Array, c: Array = None) -> Array:
        """Generalized entropy G(p) of the outcome, shape (...,); ``c`` are the complements 1 − p,
        if known more accurately.
        """
        raise NotImplementedError

    def divergence(self, p: Array, m: Array, d: Array) -> Array:
        """D(p‖m): excess loss of forecast ``m`` over G(p) when ``p`` is true; ``d`` = p − m."""
        raise NotImplementedError

    def epistemic(self, average: Callable[[Array], Array], p: Array, m: Array, d: Array) -> Array:
        """E D(Θ‖θ̄) for draws ``p`` of Θ and their ``average``."""
        return average(self.divergence(p, m, d))

    def largest_divergence(self, m: Array) -> Array:
        """The largest D(p‖m) that a few draws of ``p`` may have missed; 0 where D is smooth, so
        that draws show its size.
        """
        return 0 * m[..., 0]


@dataclass(frozen=True)
class JointLog(JointLoss):
    r"""Shannon entropy :math:`-\sum_k \theta_k \log \theta_k`, Eq. (1), and the Kullback–Leibler
    divergence.
    """

    base: float = 2.0

    @property
    def unit(self) -> float:
        return 1 / log(self.base)

    def entropy(self, p: Array, c: Array = None) -> Array:
        p, c = with_complement(p, c)
        xp = namespace(p)
        likely = c < 0.5
        near_one = -p * log_complement(xp.where(likely, c, 0 * c))
        terms = xp.where(likely, near_one, -x_log_x(xp.where(likely, 0 * p, p)))
        return xp.sum(terms, axis=-1) * self.unit + 0.0

    def shares(self, p: Array, m: Array, d: Array) -> Array:
        r""":math:`p_k \log(p_k/m_k) - d_k \ge 0` for each class; the d_k add up to 0 over classes
        and over members.
        """
        return kl_loss_term(p, m, d) * self.unit

    def divergence(self, p: Array, m: Array, d: Array) -> Array:
        return namespace(p).sum(self.shares(p, m, d), axis=-1)


@dataclass(frozen=True)
class JointSquared(JointLoss):
    r"""Brier score: :math:`G = \sum_k \theta_k (1 - \theta_k)`, :math:`D = \|p - m\|^2`."""

    def entropy(self, p: Array, c: Array = None) -> Array:
        p, c = with_complement(p, c)
        return namespace(p).sum(p * c, axis=-1)

    def divergence(self, p: Array, m: Array, d: Array) -> Array:
        return namespace(d).sum(d * d, axis=-1)


@dataclass(frozen=True)
class JointSpherical(JointLoss):
    r"""Spherical loss: :math:`G = 1 - \|\theta\|`, :math:`D = \|p\| - p \cdot m / \|m\|`."""

    def entropy(self, p: Array, c: Array = None) -> Array:
        p, c = with_complement(p, c)
        xp = namespace(p)
        return xp.sum(p * c, axis=-1) / (1 + xp.sqrt(xp.sum(p * p, axis=-1)))

    def divergence(self, p: Array, m: Array, d: Array) -> Array:
        # with d⊥ the part of d at right angles to m: ‖m‖ ‖d⊥‖² / (‖p‖‖m‖ + p·m), no difference of
        # norms
        xp = namespace(p)
        mm = xp.sum(m * m, axis=-1)
        across = d - m * (xp.sum(d * m, axis=-1) / mm)[..., None]
        m_norm = xp.sqrt(mm)
        return (
            m_norm
            * xp.sum(across * across, axis=-1)
            / (xp.sqrt(xp.sum(p * p, axis=-1)) * m_norm + xp.sum(p * m, axis=-1))
        )


class Choice(JointLoss):
    r"""Losses whose forecast is the choice of an action a: :math:`G(\theta) = \min_a` of its
    expected cost.
    """

    def risks(self, p: Array) -> Array:
        """Expected cost of each action, (..., A)."""
        raise NotImplementedError

    def entropy(self, p: Array, c: Array = None) -> Array:
        return namespace(p).min(self.risks(p), axis=-1)

    def _of_chosen(self, values: Array, m: Array) -> Array:
        """Of ``values`` (..., A) for each action, those of the action that is cheapest under
        ``m``.
        """
        xp = namespace(values)
        best = xp.argmin(self.risks(m), axis=-1, keepdims=True)
        chosen = best == index_like(np.arange(values.shape[-1]), m)
        return xp.sum(xp.where(chosen, values, 0 * values), axis=-1)

    def divergence(self, p: Array, m: Array, d: Array) -> Array:
        risk = self.risks(p)
        return self._of_chosen(risk, m) - namespace(p).min(risk, axis=-1)

    def epistemic(self, average: Callable[[Array], Array], p: Array, m: Array, d: Array) -> Array:
        """min_a E[cost of a − cost of the best action]: exactly 0 if one action is best for all
        draws.
        """
        xp = namespace(p)
        risk = self.risks(p)
        regret = average(not_negative(risk - xp.min(risk, axis=-1, keepdims=True)))
        return xp.min(regret, axis=-1)


class JointZeroOne(Choice):
    r"""Error rate of the chosen class: :math:`G = 1 - \max_k \theta_k`."""

    def risks(self, p: Array) -> Array:
        return sum_of_other_classes(p)

    def largest_divergence(self, m: Array) -> Array:
        return 0 * m[..., 0] + 1  # another class is certain


@dataclass(frozen=True, eq=False)
class CostMatrix(Choice):
    r"""Cost of choosing one class: ``costs[true class, chosen class]``.

    .. math:: G(\theta) = \min_a \sum_k \theta_k\, C_{ka}

    Additional columns are further actions, such as to abstain at a price:

    >>> loss = CostMatrix(np.column_stack([1 - np.eye(3), np.full(3, 0.2)]))
    >>> float(loss.entropy(np.array([0.7, 0.2, 0.1])))  # abstaining is cheaper than 0.3
    0.2
    """

    costs: Any
    table: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if library_of_frame(self.costs) is not None:
            raise InputError("`costs` must be a matrix without names", fix="to_numpy")
        costs = np.asarray(self.costs)
        if costs.dtype.kind not in "iuf" or costs.ndim != 2 or len(costs) < 2 or not costs.size:
            raise InputError(
                "`costs` must be a matrix of numbers, a row for each true class and a column for "
                f"each action; got shape {costs.shape} of {costs.dtype}"
            )
        if not np.all(np.isfinite(costs)) or np.any(costs < 0):
            raise InputError(
                "`costs` must be finite and not negative; subtract the minimum of each row to "
                "convert gains into costs"
            )
        object.__setattr__(self, "table", costs.astype(float))

    def risks(self, p: Array) -> Array:
        if p.shape[-1] != self.table.shape[0]:
            raise InputError(
                f"`costs` has {self.table.shape[0]} rows, one for each true class; the prediction "
                f"has K = {p.shape[-1]} classes"
            )
        risks = p[..., :1] * like(self.table[0], p)
        # class by class: NumPy is slow in sums over a short last axis
        for k, costs in enumerate(self.table[1:], start=1):
            risks = risks + p[..., k : k + 1] * like(costs, p)
        return risks

    def largest_divergence(self, m: Array) -> Array:
        """The largest regret of the action chosen by ``m``: it is convex in p, so one class is
        certain where it is largest.
        """
        regret = self.table - self.table.min(axis=1, keepdims=True)
        return self._of_chosen(like(regret.max(axis=0), m), m)


def as_joint_loss(loss: LossName | Loss | JointLoss, n: int) -> JointLoss:
    """The joint loss of ``n`` classes that corresponds to a name or a label-wise loss."""
    if isinstance(loss, CostMatrix):
        square = loss.table.shape == (n, n)
        return JointZeroOne() if square and np.array_equal(loss.table, 1 - np.eye(n)) else loss
    if isinstance(loss, JointLoss):
        return loss
    single = as_loss(loss)
    if isinstance(single, LogLoss):
        return JointLog(single.base)
    if isinstance(single, SquaredLoss):
        return JointSquared()
    if isinstance(single, SphericalLoss):
        return JointSpherical()
    if isinstance(single, ZeroOneLoss):
        return JointZeroOne()
    hint = (
        "give the cost of each true class and choice: lw.joint.CostMatrix(costs)"
        if isinstance(single, CostLoss)
        else "it is defined for single labels"
    )
    raise InputError(f"`loss` {type(single).__name__} has no joint counterpart: {hint}")
