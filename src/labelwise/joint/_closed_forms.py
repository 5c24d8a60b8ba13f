"""Closed forms of joint measures: the only place that depends on the type of distribution."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, Pair, namespace, not_negative
from .._engine.compute import Computed
from ..distributions import Dirichlet, DirichletMixture, Distribution
from ..distributions.base import sums_inside_and_outside
from ..losses._special import digamma_difference, digamma_minus_log
from ._sampling import gain_of_maximum, joint_parts_from_draws
from .losses import JointLog, JointLoss, JointSquared, JointZeroOne


def joint_parts(q: Distribution, loss: JointLoss, seed: int, samples: int) -> Computed:
    """Total, aleatoric and epistemic uncertainty: in closed form as far as there is one, else from
    draws.
    """
    if q.finite:
        return Computed(_joint_parts_of_members(q.marginal(), loss))
    if isinstance(q, Dirichlet):
        parts = _joint_parts_of_dirichlet(q, loss)
        if parts is not None:
            return Computed((loss.entropy(*q.marginal().mean), *parts))
    if not isinstance(q, DirichletMixture):
        return joint_parts_from_draws(q, loss, seed, samples)
    within = joint_parts(q.components, loss, seed, samples)
    means = q.marginal().means
    total, _, between = _joint_parts_of_members(means, loss)
    error = None
    if within.error is not None:
        error = (0 * total, means.average(within.error[1]), means.average(within.error[2]))
    _, aleatoric, epistemic = map(means.average, within.parts)
    return Computed((total, aleatoric, epistemic + between), error)


def _joint_parts_of_members(law: Any, loss: JointLoss) -> tuple[Array, Array, Array]:
    """TU = G(E Θ), AU = E G(Θ), EU = E D(Θ ‖ E Θ), Eqs. (3)–(6), over the members."""
    return (
        loss.entropy(*law.mean),
        law.average(loss.entropy(law.t)),
        loss.epistemic(law.average, law.t, law.mean[0], law.deviation),
    )


def joint_class_shares(q: Distribution, log: JointLog) -> Array | None:
    """Each class's contribution to the mutual information, or ``None`` without a closed form."""
    if isinstance(q, Dirichlet):
        return _dirichlet_shares(q.alpha) * log.unit
    law: Any = q.marginal()
    within: Array = 0.0
    if isinstance(q, DirichletMixture):
        law = law.means
        within = law.average(_dirichlet_shares(q.alpha)) * log.unit
    elif not q.finite:
        return None
    return within + law.average(log.shares(law.t, law.mean[0], law.deviation))


def joint_reverse_of_dirichlet(alpha: Array) -> Array:
    """E KL(θ̄‖Θ) in nats."""
    # Σ m_k [ln α_k − ψ(α_k)] − [ln S − ψ(S)], with ln x − ψ(x) = 1/x − λ(x)
    a, b = sums_inside_and_outside(alpha, None, None)
    s = (a + b)[..., 0]
    of_classes = namespace(a).sum(1 - a * digamma_minus_log(a), axis=-1) / s
    return not_negative(of_classes - (1 / s - digamma_minus_log(s)))


def _joint_parts_of_dirichlet(q: Dirichlet, loss: JointLoss) -> Pair | None:
    """Aleatoric and epistemic uncertainty of a Dirichlet in closed form, or ``None``."""
    xp = namespace(q.alpha)
    a, b = sums_inside_and_outside(q.alpha, None, None)
    s = a + b
    if isinstance(loss, JointLog):
        aleatoric = xp.sum(a / s * digamma_difference(a + 1, b), axis=-1)
        return aleatoric * loss.unit, xp.sum(_dirichlet_shares(q.alpha), axis=-1) * loss.unit
    if isinstance(loss, JointSquared):
        aleatoric = xp.sum((a / s) * (b / (s + 1)), axis=-1)
        return aleatoric, aleatoric / s[..., 0]
    if isinstance(loss, JointZeroOne):
        total = loss.entropy(q.mean())
        epistemic = xp.minimum(gain_of_maximum(q.alpha), total)
        return total - epistemic, epistemic
    return None


def _dirichlet_shares(alpha: Array) -> Array:
    """m_k [λ(α_k) − λ(S)] in nats, λ(x) = ψ(x+1) − ln x falling."""
    a, b = sums_inside_and_outside(alpha, None, None)
    s = a + b
    return not_negative(a / s * (digamma_minus_log(a) - digamma_minus_log(s)))
