"""The law of an event under a Dirichlet distribution, a Beta law, and under mixtures of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..._arrays import Array, Arrays, Pair, namespace, sigmoid, sigmoid_step, sum_first
from ...losses import Expectation, Loss
from ._quadrature import kink_log_odds, logit_nodes, quadrature_in_blocks
from .atoms import Atoms
from .base import Marginal, Split


@dataclass(frozen=True, eq=False)
class Beta(Marginal):
    """Θ ~ Beta(a, b), arrays of shape (..., E)."""

    a: Array
    b: Array

    @property
    def mean(self) -> Pair:
        whole = self.a + self.b
        return self.a / whole, self.b / whole

    def split(self, loss: Loss) -> Split:
        """In closed form where the loss has one, else by quadrature."""
        xp = namespace(self.a)
        # events of all classes always happen (b = 0): another law stands in for theirs
        sure = self.b <= 0
        law = Beta(self.a, xp.where(sure, self.a, self.b))
        aleatoric = loss.aleatoric_of_beta(law.a, law.b)
        epistemic = loss.epistemic_of_beta(law.a, law.b)
        if aleatoric is not None and epistemic is not None:
            parts = loss.entropy(*law.mean), aleatoric, epistemic
        else:

            def of_block(a: Array, b: Array) -> Arrays:
                return Marginal.split(Beta(a, b), loss)[:3]

            parts = quadrature_in_blocks(of_block, (law.a, law.b), 3)
        total, aleatoric, epistemic = [xp.where(sure, 0 * x, x) for x in parts]
        return Split(total, aleatoric, epistemic)

    def expectation(self, kink: Array | None = None) -> Expectation:
        """By quadrature, for b > 0.

        Everything is computed in the distance δ of the log-odds from their center: laws far
        narrower than the center's last digit keep theirs.
        """
        a, b = self.a, self.b
        xp = namespace(a)
        whole = a + b
        t0, c0 = (a + 1) / (whole + 2), (b + 1) / (whole + 2)
        center = _beta_law_log_odds_at_center(a, b)
        spread = xp.sqrt(1 / a + 1 / b)
        width = xp.minimum(spread, xp.ones_like(spread))
        low, high = -xp.maximum(45 / a, 10 * spread), xp.maximum(45 / b, 10 * spread)
        away, dx = logit_nodes(
            low, high, 0 * a, width, [0 * a, *(x - center for x in kink_log_odds(kink, a))]
        )
        log_density = _beta_law_log_density(a, b, t0, c0, away)
        weights = dx * xp.exp(log_density - xp.max(log_density, axis=0))
        weights = weights / sum_first(weights)
        t, c = sigmoid(center + away), sigmoid(-center - away)
        mt, mc = self.mean
        # t − t0 and t0 − m by themselves, where t0 is no larger than 2 m
        by_steps = sigmoid_step(center, away) + (b - a) / whole / (whole + 2)
        d = xp.where(xp.minimum(a, b) > 1, by_steps, xp.where(mt <= mc, t - mt, mc - c))
        return lambda f: sum_first(weights * f(t, c, d))


def _beta_law_log_odds_at_center(a: Array, b: Array) -> Array:
    """ln((a + 1) / (b + 1)), with all digits of a − b where they are close."""
    xp = namespace(a)
    step = (a - b) / (b + 1)
    near = xp.abs(step) < 0.5
    return xp.where(near, xp.log1p(xp.where(near, step, 0 * step)), xp.log((a + 1) / (b + 1)))


def _beta_law_log_density(a: Array, b: Array, t0: Array, c0: Array, away: Array) -> Array:
    """ln of t^a c^b relative to the center, where t = t0 = (a + 1) / (a + b + 2) and c = c0;
    ``away`` is the distance δ in log-odds.

    With ln(t/t0) = −L(c0, −δ) and ln(c/c0) = −L(t0, δ), L(u, x) = ln(1 + u (e^x − 1)), it is −a
    L(c0, −δ) − b L(t0, δ). For large a and b these two nearly cancel; near the center their linear
    parts a c0 δ and b t0 δ are therefore subtracted by hand.
    """
    xp = namespace(away)
    near = xp.abs(away) < 1
    inside, outside = xp.where(near, away, 0 * away), xp.where(near, 1 + 0 * away, away)
    close = (
        inside * ((a - b) / (a + b + 2))
        - a * _beta_law_log_step_excess(c0, t0, -inside)
        - b * _beta_law_log_step_excess(t0, c0, inside)
    )
    return xp.where(
        near,
        close,
        -a * _beta_law_log_step(c0, t0, -outside) - b * _beta_law_log_step(t0, c0, outside),
    )


def _beta_law_log_step(u: Array, v: Array, x: Array) -> Array:
    """L(u, x) = ln(v + u e^x) with v = 1 − u given for itself: near 1, u has lost its digits."""
    xp = namespace(x)
    small = xp.exp(-xp.abs(x))
    rising = x + xp.log(u + v * small)
    slightly = u * xp.abs(xp.expm1(xp.minimum(x, 0 * x + 80))) < 0.5
    change = xp.where(
        slightly, u * xp.expm1(xp.where(slightly, xp.minimum(x, 0 * x + 80), 0 * x)), 0 * x
    )
    return xp.where(slightly, xp.log1p(change), xp.where(x > 0, rising, xp.log(v + u * small)))


def _beta_law_log_step_excess(u: Array, v: Array, x: Array) -> Array:
    """L(u, x) − u x ≥ 0 for |x| ≤ 1: ln(1 + v h(−u x) + u h(v x)), h(y) = e^y − 1 − y, a sum of
    positive terms.
    """
    return namespace(x).log1p(v * _beta_law_exp_excess(-u * x) + u * _beta_law_exp_excess(v * x))


def _beta_law_exp_excess(y: Array) -> Array:
    """e^y − 1 − y for |y| ≤ 1, by its series."""
    total = 0 * y
    for n in range(18, 2, -1):
        total = (total + 1) * y / n
    return (total + 1) * y * y / 2


@dataclass(frozen=True, eq=False)
class BetaMixture(Marginal):
    """Σ_m w_m Beta(a_m, b_m), the members on the first axis."""

    members: Beta
    weights: Array | None

    @property
    def means(self) -> Atoms:
        """The members' means, an ensemble of its own."""
        t, c = self.members.mean
        return Atoms(t, self.weights, c)

    @property
    def mean(self) -> Pair:
        return self.means.mean

    def split(self, loss: Loss) -> Split:
        """EU is the members' own and the disagreement of their means: Pythagoras' theorem for
        Bregman divergences.
        """
        means = self.means
        between, own = means.split(loss), self.members.split(loss)
        return Split(
            between.total,
            means.average(own.aleatoric),
            means.average(own.epistemic) + between.epistemic,
        )
