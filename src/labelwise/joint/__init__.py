r"""The classical measures, all classes at once: entropy, conditional entropy and mutual information, Eqs. (3)–(6).

The same idea as label by label, with the entropy G and divergence D of a whole probability vector: TU = G(E Θ), AU = E G(Θ),
EU = E D(Θ‖E Θ). One number per instance; it cannot say which class is meant.
"""

from __future__ import annotations

from typing import Any

from .._arrays import Array, namespace
from .._engine.compute import Computed, compute
from ..decomposition import Components, JointUncertainty
from ..distributions import Distribution
from ..distributions.base import ArrayT, not_a_distribution
from ..distributions.marginals import Atoms
from ..losses import LogLoss, Loss, SquaredLoss
from ._closed_forms import parts_of, reverse_of, shares_of
from ._sampling import sampled
from .losses import CostMatrix, JointLog, JointLoss, JointSquared, as_joint_loss

__all__ = ["CostMatrix", "JointLoss", "JointUncertainty", "decompose", "pairwise", "reverse", "shares"]


def decompose(
    q: Distribution[ArrayT], loss: str | Loss | JointLoss = "log", *, seed: int = 0, samples: int = 4096
) -> JointUncertainty[ArrayT]:
    r"""Uncertainty about the class, all classes at once.

    .. math::
        \mathrm{TU} = \mathrm{H}(\bar\theta), \quad \mathrm{AU} = \mathbb{E}\,\mathrm{H}(\Theta), \quad
        \mathrm{EU} = \mathbb{E}\,\mathrm{KL}(\Theta \Vert \bar\theta) = \mathrm{I}(Y, \Theta)

    Eqs. (3)–(6) of the paper for log loss; the same with the loss's own entropy and divergence for squared, spherical and
    zero-one loss and for a `CostMatrix`. Ensembles are exact. A Dirichlet is exact for log and squared loss, integrated in one
    dimension for zero-one loss (error below 1e-9), and sampled for the others, as a LogisticNormal is for all: then ``samples`` draws
    with this ``seed`` are used and ``.error`` holds their 95 % bounds.

    Examples
    --------
    >>> u = decompose(lw.Ensemble(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])))
    >>> u.total, u.aleatoric, u.epistemic  # two members, sure of different things
    (array([1.]), array([0.]), array([1.]))
    """
    loss = _check(q, loss)

    def equations(q: Distribution[Any]) -> Computed:
        if q.finite:
            return Computed(_of_atoms(q.marginal(), loss))
        return parts_of(q, loss, seed, samples) or sampled(q, loss, seed, samples)

    in_kernel: Loss | None = None
    if isinstance(loss, JointLog | JointSquared):
        in_kernel = LogLoss(loss.base) if isinstance(loss, JointLog) else SquaredLoss()
    computed = compute(equations, q, in_kernel, labelwise=False)
    parts = computed.parts if computed.joint is None else computed.joint
    n = q.n_classes
    error = None if computed.error is None else Components(*computed.error)
    return JointUncertainty(parts[0], parts[1], parts[2], lambda: loss.maximum(n), error, q.n_members if q.finite else None)


def shares(q: Distribution[Any], base: float = 2.0) -> Array:
    r"""Each class's share of the mutual information, (..., K); not negative, and they add up to it exactly.

    .. math:: I_k = \mathbb{E}[\Theta_k \log \Theta_k] - \bar\theta_k \log \bar\theta_k

    >>> shares(lw.Ensemble(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])))
    array([[0.5, 0.5]])
    """
    log = JointLog(base)
    _check(q, log)
    if q.finite:
        law: Any = q.marginal()
        return law.average(log.shares(law.t, law.mean[0], law.deviation))
    closed = shares_of(q)
    if closed is None:
        raise ValueError(
            f"the shares of a {type(q).__name__} have no closed form; decompose a sample of it: lw.Ensemble(q.sample(n, rng=seed), member_axis=0)"
        )
    return closed * log.unit


def reverse(q: Distribution[Any], loss: str | Loss | JointLoss = "log") -> Array:
    r"""Reverse epistemic uncertainty :math:`\mathbb{E}\, D(\bar\theta \Vert \Theta)`, shape (...,).

    Under log loss it is infinite where a member gives probability 0 to a class that another member holds possible.

    >>> reverse(lw.Ensemble(np.array([[[1.0, 0.0]], [[0.5, 0.5]]])))
    array([inf])
    """
    loss = _check(q, loss)
    if not q.finite:
        closed = reverse_of(q, loss)
        if closed is None:
            raise ValueError(
                f"`reverse` has no closed form for {type(q).__name__} and this loss; use a sample: lw.Ensemble(q.sample(n, rng=seed), member_axis=0)"
            )
        return closed
    law: Any = q.marginal()
    weights = law.weights
    xp = namespace(law.t)
    m = law.mean[0]
    each = loss.divergence(m + 0 * law.t, law.t, -law.deviation)
    if isinstance(loss, JointLog):
        impossible = xp.any((law.t <= 0) & (m > 0), axis=-1)
        each = xp.where(impossible, xp.full_like(each, float("inf")), each)
    if weights is not None:  # a member of weight 0 does not count, whatever it says
        weights = weights.reshape(weights.shape + (1,) * (each.ndim - weights.ndim)) + 0 * law.t[..., 0]
        return xp.sum(xp.where(weights > 0, weights * xp.where(weights > 0, each, 0 * m[..., 0]), 0 * m[..., 0]), axis=0)
    return _average(law, each)


def pairwise(q: Distribution[Any], loss: str | Loss | JointLoss = "log") -> Array:
    r"""Pairwise epistemic uncertainty :math:`\mathbb{E}\, D(\Theta \Vert \Theta')`, Θ' an independent copy: the sum of both directions.

    Infinite under log loss where `reverse` is.

    >>> pairwise(lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]])), "squared").round(3)
    array([0.04])
    """
    return decompose(q, loss).epistemic + reverse(q, loss)


def _check(q: Any, loss: str | Loss | JointLoss) -> JointLoss:
    if not isinstance(q, Distribution):
        raise not_a_distribution(q)
    if not q.exclusive:
        raise ValueError(
            f"the labels of a {type(q).__name__} may occur together, so there is no one class to be uncertain about; use lw.decompose(q).sum()"
        )
    return as_joint_loss(loss, q.n_classes)


def _average(law: Atoms, x: Array) -> Array:
    """The expectation of one value per member, (M, ...) → (...,)."""
    return law.average(x[..., None])[..., 0]


def _of_atoms(law: Any, loss: JointLoss) -> tuple[Array, Array, Array]:
    """TU = G(E Θ), AU = E G(Θ), EU = E D(Θ ‖ E Θ), Eqs. (3)–(6), over the members."""

    def average(x: Array) -> Array:  # (M, ...) or (M, ..., A)
        return law.average(x) if x.ndim == law.t.ndim else _average(law, x)

    m = law.mean[0]
    return loss.entropy_from(*law.mean), average(loss.entropy(law.t)), loss.epistemic(average, law.t, m, law.deviation)
