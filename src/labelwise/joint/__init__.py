r"""The classical measures for all classes jointly: entropy, conditional entropy and mutual
information, Eqs. (3)–(6).

As for single labels, with the entropy G and divergence D of a whole probability vector: TU = G(E
Θ), AU = E G(Θ), EU = E D(Θ‖E Θ). One number per instance, which does not tell the classes apart.
Also reverse mutual information (RMI) and expected pairwise KL (EPKL).
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .._arrays import Array, like, namespace
from .._engine.compute import Computed, compute, evaluate_law
from .._errors import InputError
from .._validation.arguments import Rng, as_seed
from ..decomposition import Components
from ..decomposition import decompose as decompose_labels
from ..distributions import Dirichlet, Distribution, Intervals
from ..distributions.base import ArrayT
from ..distributions.ensemble import as_distribution
from ..events import Place
from ..losses import LogLoss, Loss, LossName, SquaredLoss
from ._closed_forms import (
    joint_class_shares,
    joint_parts,
    joint_reverse_of_dirichlet,
)
from .losses import CostMatrix, JointLog, JointLoss, JointSquared, as_joint_loss

__all__ = [
    "CostMatrix",
    "covariance",
    "decompose",
    "expected_pairwise_kl",
    "mutual_information",
    "mutual_information_by_class",
    "reverse_mutual_information",
]


class JointUncertainty(Components[ArrayT]):
    """Total, aleatoric and epistemic uncertainty about the class as a whole, shape (...,)."""


def decompose(
    q: Distribution[ArrayT],
    loss: LossName | Loss | JointLoss = "log",
    *,
    rng: Rng = 0,
    n_samples: int = 4096,
) -> JointUncertainty[ArrayT]:
    r"""Total, aleatoric and epistemic uncertainty about the class: entropy, conditional entropy and
    mutual information.

    .. math::
        \mathrm{TU} = \mathrm{H}(\bar\theta), \quad \mathrm{AU} = \mathbb{E}\,\mathrm{H}(\Theta),
        \quad \mathrm{EU} = \mathbb{E}\,\mathrm{KL}(\Theta \Vert \bar\theta) = \mathrm{I}(Y, \Theta)

    Eqs. (3)–(6) of the paper for log loss; squared, spherical and zero-one loss and a `CostMatrix`
    have their own entropy and divergence. Ensembles are exact. A Dirichlet is exact for log and
    squared loss, integrated in one dimension for zero-one loss (error below 1e-9), and sampled for
    other losses. A LogisticNormal is always sampled. Sampling takes ``n_samples`` draws from
    ``rng`` (a random seed or generator) and is unbiased; ``.error`` holds 95 % bounds. Under a
    `CostMatrix` these include a large regret too rare to have been drawn, so they are wide where
    almost no draw changes the decision.

    Examples
    --------
    >>> u = decompose(lw.Ensemble(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])))
    >>> u.total, u.aleatoric, u.epistemic  # two members, certain of different classes
    (array([1.]), array([0.]), array([1.]))
    """
    q, loss = _check_joint_input(q, loss)
    seed = as_seed(rng)

    def equations(q: Distribution) -> Computed:
        return joint_parts(q, loss, seed, n_samples)

    in_kernel: Loss | None = None
    if isinstance(loss, JointLog):
        in_kernel = LogLoss(loss.base)
    elif isinstance(loss, JointSquared):
        in_kernel = SquaredLoss()

    def fast(q: Distribution) -> Computed | None:
        """The kernel computes both joint losses along with the label-wise ones."""
        if in_kernel is None:
            return None
        computed = q.fast(in_kernel, None, None, labelwise=False)
        if computed is None or computed.joint is None:
            return None
        return Computed(computed.joint)

    computed = compute(equations, q, fast)
    total, aleatoric, epistemic = computed.parts
    error = None
    if computed.error is not None:
        error = Components(*computed.error)
    return JointUncertainty(
        total,
        aleatoric,
        epistemic,
        error=error,
        n_members=q.n_members if q.finite else None,
        ids=q.ids,
    )


def mutual_information(q: Distribution[ArrayT], *, base: float = 2.0) -> ArrayT:
    r"""Mutual information (BALD score) :math:`\mathrm{I}(Y, \Theta)`, shape (...,): epistemic
    uncertainty under log loss.

    >>> mutual_information(lw.Ensemble(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])))
    array([1.])
    """
    return decompose(q, LogLoss(base)).epistemic


def mutual_information_by_class(
    q: Distribution, *, base: float = 2.0, second_order: bool = False
) -> Array:
    r"""Each class's contribution to the mutual information, (..., K); nonnegative, with the mutual
    information as their sum.

    .. math:: I_k = \mathbb{E}[\Theta_k \log \Theta_k] - \bar\theta_k \log \bar\theta_k
              \approx \mathrm{Var}\, \Theta_k / (2 \bar\theta_k) \text{ nats}

    With ``second_order`` it is the right-hand side, a score of its own (arXiv 2602.21160), here
    too in units of ``base``.

    >>> mutual_information_by_class(lw.Ensemble(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])))
    array([[0.5, 0.5]])
    """
    log = JointLog(base)
    q, _ = _check_joint_input(q, log)
    if second_order:
        variance, mean = decompose_labels(q, "squared").epistemic, q.mean()
        return variance / namespace(mean).where(mean > 0, 2 * mean, 1 + mean) * log.unit
    shares = joint_class_shares(q, log)
    if shares is None:
        raise InputError(
            f"mutual information by class has no closed form for {type(q).__name__}; use a sample: "
            "lw.Ensemble(q.sample(n, rng=0), member_axis=0)"
        )
    return shares


def covariance(q: Distribution) -> Array:
    r"""The covariance of the class probabilities, (..., K, K), with the epistemic uncertainty under
    squared loss on its diagonal.

    Off the diagonal it tells between which classes the members waver. Distributions without members
    have :math:`\mathrm{Cov} = [\mathrm{Var}(\Theta_j + \Theta_k) - \mathrm{Var}\, \Theta_j -
    \mathrm{Var}\, \Theta_k] / 2`, from the events of two classes.

    >>> covariance(lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]))).round(3)
    array([[[ 0.01, -0.01],
            [-0.01,  0.01]]])
    """
    q = _check_joint_distribution(q)
    if q.finite:

        def mean_of_products(law: Any) -> Array:
            d = law.deviation
            return law.average(d[..., None] * d[..., None, :])

        return evaluate_law(mean_of_products, q)
    k = q.n_classes
    pairs = {}
    for i, j in np.ndindex(k, k):
        pairs[f"{i}, {j}"] = {Place(i), Place(j)}
    single = decompose_labels(q, "squared").epistemic
    both = decompose_labels(q, "squared", events=pairs).epistemic
    both = namespace(both).reshape(both, (*q.batch_shape, k, k))
    of_sums = both * like(1 + 3 * np.eye(k), both)  # twice the same class has 4 times its variance
    return (of_sums - single[..., None] - single[..., None, :]) / 2


def reverse_mutual_information(q: Distribution) -> Array:
    r"""Reverse mutual information (RMI) :math:`\mathbb{E}\, \mathrm{KL}(\bar\theta \Vert
    \Theta)` in bits, shape (...,).

    Infinite where a member assigns probability 0 to a class that another member considers possible.

    >>> reverse_mutual_information(lw.Ensemble(np.array([[[1.0, 0.0]], [[0.5, 0.5]]])))
    array([inf])
    """
    log = JointLog()
    q, _ = _check_joint_input(q, log)
    if isinstance(q, Dirichlet):
        return joint_reverse_of_dirichlet(q.alpha) * log.unit
    if not q.finite:
        raise InputError(
            f"reverse mutual information has no closed form for {type(q).__name__}; use a sample: "
            "lw.Ensemble(q.sample(n, rng=0), member_axis=0)"
        )

    def reverse(law: Any) -> Array:
        xp, m = namespace(law.t), law.mean[0]
        each = log.shares(m + 0 * law.t, law.t, -law.deviation)
        each = xp.where((law.t <= 0) & (m > 0), xp.full_like(each, inf), each)
        if law.weights is not None:  # a member of weight 0 is ignored, even if it is infinite
            each = xp.where(law.member_weights > 0, each, 0 * law.t)
        return xp.sum(law.average(each), axis=-1)

    return evaluate_law(reverse, q)


def expected_pairwise_kl(q: Distribution) -> Array:
    r"""Expected pairwise KL divergence (EPKL) :math:`\mathbb{E}\, \mathrm{KL}(\Theta \Vert
    \Theta')` in bits, Θ' an independent copy of Θ.

    The sum of `mutual_information` and `reverse_mutual_information`, and infinite where the latter
    is.

    >>> q = lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]))
    >>> expected_pairwise_kl(q).round(3)
    array([0.097])
    """
    return mutual_information(q) + reverse_mutual_information(q)


def _check_joint_input(q: Any, loss: LossName | Loss | JointLoss) -> tuple[Distribution, JointLoss]:
    q = _check_joint_distribution(q)
    if not q.exclusive:
        raise InputError(
            f"the labels of a {type(q).__name__} may occur together, so there is no single class "
            "to be uncertain about; use lw.decompose(q).sum()"
        )
    return q, as_joint_loss(loss, q.n_classes)


def _check_joint_distribution(q: Any) -> Distribution[Any]:
    law = as_distribution(q)
    if isinstance(law, Intervals):
        raise InputError("intervals have no law, and only label-wise measures: use lw.decompose(q)")
    return law
