r"""The classical measures, all classes at once: entropy, conditional entropy and mutual information, Eqs. (3)–(6).

The same idea as label by label, with the entropy G and divergence D of a whole probability vector: TU = G(E Θ), AU = E G(Θ),
EU = E D(Θ‖E Θ). One number per instance; it cannot say which class is meant.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .._arrays import Array, namespace
from .._special import digamma_difference, digamma_minus_log
from ..decomposition import Components, JointUncertainty, by_instances
from ..distributions import Dirichlet, DirichletMixture, Distribution, Ensemble, LogisticNormal, MultiLabelEnsemble
from ..distributions._atoms import Atoms
from ..distributions._blocks import joint
from ..distributions._instances import is_large, is_lazy
from ..distributions.dirichlet import beta_parameters
from ..losses import LogLoss, Loss, SquaredLoss
from ..losses.base import not_negative
from ._sampling import gain_of_maximum, sampled
from .losses import CostMatrix, JointLog, JointLoss, JointSquared, as_joint_loss

__all__ = ["CostMatrix", "JointLoss", "JointUncertainty", "decompose", "pairwise", "reverse", "shares"]


def decompose(q: Distribution, loss: str | Loss | JointLoss = "log", *, seed: int = 0, samples: int = 4096) -> JointUncertainty:
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
    >>> u = decompose(Ensemble(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])))
    >>> u.total, u.aleatoric, u.epistemic  # two members, sure of different things
    (array([1.]), array([0.]), array([1.]))
    """
    q, loss = _check(q, loss)
    members = q if isinstance(q, Ensemble) and isinstance(q.stored, np.ndarray) else None
    if members is None and (is_lazy(q) or is_large(q)):
        return by_instances(partial(decompose, loss=loss, seed=seed, samples=samples), q)

    def maximum() -> float:
        return loss.maximum(q.n_classes)

    if members is not None:
        fused: Loss | None = None
        if isinstance(loss, JointLog | JointSquared):
            fused = LogLoss(loss.base) if isinstance(loss, JointLog) else SquaredLoss()
        total, aleatoric, epistemic = joint(members, fused, lambda law: _atoms(law, loss))
        return JointUncertainty(total, aleatoric, epistemic, maximum)
    if isinstance(q, Ensemble):
        return JointUncertainty(*_atoms(q.marginal(), loss), maximum)
    if isinstance(q, DirichletMixture):
        parts = decompose(Dirichlet(q.alpha), loss, seed=seed, samples=samples)
        means = q.marginal().means
        total, _, between = _atoms(means, loss)
        aleatoric, within = _average(means, parts.aleatoric), _average(means, parts.epistemic)
        error = (
            None
            if parts.error is None
            else Components(0 * total, *(_average(means, e) for e in (parts.error.aleatoric, parts.error.epistemic)))
        )
        return JointUncertainty(total, aleatoric, within + between, maximum, error)
    if isinstance(q, Dirichlet):
        exact = _dirichlet(q, loss)
        if exact is not None:
            return JointUncertainty(loss.entropy_from(*q.marginal().mean), *exact, maximum)
    (total, aleatoric, epistemic), bounds = sampled(q, loss, seed, samples)
    return JointUncertainty(total, aleatoric, epistemic, maximum, Components(*bounds))


def shares(q: Distribution, base: float = 2.0) -> Array:
    r"""Each class's share of the mutual information, (..., K); not negative, and they add up to it exactly.

    .. math:: I_k = \mathbb{E}[\Theta_k \log \Theta_k] - \bar\theta_k \log \bar\theta_k

    >>> shares(Ensemble(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])))
    array([[0.5, 0.5]])
    """
    log = JointLog(base)
    q, _ = _check(q, log)
    if isinstance(q, Ensemble):
        law = q.marginal()
        return law.average(log.shares(law.t, law.mean[0], law.deviation))
    if isinstance(q, Dirichlet):
        return _dirichlet_shares(q.alpha) * log.unit
    if isinstance(q, DirichletMixture):
        means = q.marginal().means
        return means.average(_dirichlet_shares(q.alpha)) * log.unit + shares(Ensemble(means.t, weights=q.weights, member_axis=0), base)
    raise ValueError("the shares of a LogisticNormal have no closed form; decompose a sample of it: lw.Ensemble(q.sample(n, rng=seed))")


def reverse(q: Distribution, loss: str | Loss | JointLoss = "log") -> Array:
    r"""Reverse epistemic uncertainty :math:`\mathbb{E}\, D(\bar\theta \Vert \Theta)`, shape (...,).

    Under log loss it is infinite where a member gives probability 0 to a class that another member holds possible.

    >>> reverse(Ensemble(np.array([[[1.0, 0.0]], [[0.5, 0.5]]])))
    array([inf])
    """
    q, loss = _check(q, loss)
    if isinstance(q, Dirichlet):
        xp = namespace(q.alpha)
        if isinstance(loss, JointSquared):
            return decompose(q, loss).epistemic
        if isinstance(loss, JointLog):  # Σ m_k [ln α_k − ψ(α_k)] − [ln S − ψ(S)], with ln x − ψ(x) = 1/x − λ(x)
            a, b = beta_parameters(q.alpha, None, None)
            s = (a + b)[..., 0]
            gap = xp.sum((1 - a * digamma_minus_log(a)), axis=-1) / s - (1 / s - digamma_minus_log(s))
            return not_negative(gap) * loss.unit
    if not isinstance(q, Ensemble):
        raise ValueError(
            f"`reverse` has no closed form for {type(q).__name__} and this loss; use a sample: lw.Ensemble(q.sample(n, rng=seed))"
        )
    law = q.marginal()
    xp = namespace(law.t)
    m = law.mean[0]
    each = loss.divergence(m + 0 * law.t, law.t, -law.deviation)
    if isinstance(loss, JointLog):
        impossible = xp.any((law.t <= 0) & (m > 0), axis=-1)
        each = xp.where(impossible, xp.full_like(each, float("inf")), each)
    if q.weights is not None:  # a member of weight 0 does not count, whatever it says
        weights = q.weights.reshape(q.weights.shape + (1,) * (each.ndim - q.weights.ndim)) + 0 * law.t[..., 0]
        return xp.sum(xp.where(weights > 0, weights * xp.where(weights > 0, each, 0 * m[..., 0]), 0 * m[..., 0]), axis=0)
    return _average(law, each)


def pairwise(q: Distribution, loss: str | Loss | JointLoss = "log") -> Array:
    r"""Pairwise epistemic uncertainty :math:`\mathbb{E}\, D(\Theta \Vert \Theta')`, Θ' an independent copy: the sum of both directions.

    Infinite under log loss where `reverse` is.

    >>> pairwise(Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]])), "squared").round(3)
    array([0.04])
    """
    return decompose(q, loss).epistemic + reverse(q, loss)


def _check(q: Distribution, loss: str | Loss | JointLoss) -> tuple[Ensemble | Dirichlet | DirichletMixture | LogisticNormal, JointLoss]:
    if isinstance(q, MultiLabelEnsemble):
        raise ValueError(
            "the labels of a MultiLabelEnsemble may occur together, so there is no one class to be uncertain about; use lw.decompose(q).sum()"
        )
    if not isinstance(q, Ensemble | Dirichlet | DirichletMixture | LogisticNormal):
        raise TypeError(f"`q` must be a distribution such as lw.Ensemble(probs) or lw.Dirichlet(alpha); got {type(q).__name__}")
    return q, as_joint_loss(loss, q.n_classes)


def _average(law: Atoms, x: Array) -> Array:
    """The expectation of one value per member, (M, ...) → (...,)."""
    return law.average(x[..., None])[..., 0]


def _atoms(law: Atoms, loss: JointLoss) -> tuple[Array, Array, Array]:
    def average(x: Array) -> Array:  # (M, ...) or (M, ..., A)
        return law.average(x) if x.ndim == law.t.ndim else _average(law, x)

    m = law.mean[0]
    return loss.entropy_from(*law.mean), average(loss.entropy(law.t)), loss.epistemic(average, law.t, m, law.deviation)


def _dirichlet(q: Dirichlet, loss: JointLoss) -> tuple[Array, Array] | None:
    """Aleatoric and epistemic uncertainty of a Dirichlet where there is a formula."""
    xp = namespace(q.alpha)
    a, b = beta_parameters(q.alpha, None, None)
    s = a + b
    if isinstance(loss, JointLog):
        aleatoric = xp.sum(a / s * digamma_difference(a + 1, b), axis=-1)
        return aleatoric * loss.unit, xp.sum(_dirichlet_shares(q.alpha), axis=-1) * loss.unit
    if isinstance(loss, JointSquared):
        aleatoric = xp.sum((a / s) * (b / (s + 1)), axis=-1)
        return aleatoric, aleatoric / s[..., 0]
    if isinstance(loss, CostMatrix) and loss.is_zero_one:
        total = loss.entropy(q.mean())
        epistemic = xp.minimum(gain_of_maximum(q.alpha), total)
        return total - epistemic, epistemic
    return None


def _dirichlet_shares(alpha: Array) -> Array:
    """m_k [λ(α_k) − λ(S)] in nats, λ(x) = ψ(x+1) − ln x falling."""
    a, b = beta_parameters(alpha, None, None)
    s = a + b
    return not_negative(a / s * (digamma_minus_log(a) - digamma_minus_log(s)))
