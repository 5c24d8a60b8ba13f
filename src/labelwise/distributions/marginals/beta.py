"""The law of an event under a Dirichlet distribution, a Beta law, and under mixtures of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..._arrays import Array, namespace, sum_first
from ...losses import Loss
from ._quadrature import NODES, blocks, corners, logit_nodes, sigmoid
from .atoms import Atoms
from .base import Function, Marginal


@dataclass(frozen=True, eq=False)
class Beta(Marginal):
    """Θ ~ Beta(a, b), arrays of shape (..., E)."""

    a: Array
    b: Array

    @property
    def mean(self) -> tuple[Array, Array]:
        whole = self.a + self.b
        return self.a / whole, self.b / whole

    def _unsure(self) -> tuple[Beta, Array]:
        """This law with another in place of the events that always happen (b = 0: they hold all classes), and where those are."""
        sure = self.b <= 0
        return Beta(self.a, namespace(self.a).where(sure, self.a, self.b)), sure

    def aleatoric(self, loss: Loss) -> Array:
        """E G(Θ): in closed form where the loss has one, else by quadrature."""
        law, sure = self._unsure()
        closed = loss.aleatoric_of_beta(law.a, law.b)
        value = super(Beta, law).aleatoric(loss) if closed is None else closed
        return namespace(sure).where(sure, 0 * value, value)

    def epistemic(self, loss: Loss) -> Array:
        """E D(Θ‖E Θ): in closed form where the loss has one, else by quadrature."""
        law, sure = self._unsure()

        def of_block(a: Array, b: Array) -> tuple[Array]:
            block = Beta(a, b)
            return (loss.epistemic(block._expectation(loss.kink, block.mean), *block.mean),)

        closed = loss.epistemic_of_beta(law.a, law.b)
        value = blocks(of_block, (law.a, law.b), 3 * NODES)[0] if closed is None else closed
        return namespace(sure).where(sure, 0 * value, value)

    def expect(self, f: Function, kink: Array | None = None, mean: tuple[Array, Array] | None = None) -> Array:
        """E f(Θ, 1 − Θ, Θ − mean) by quadrature, by default around its own mean."""
        law, sure = self._unsure()
        mt, mc = (m + 0 * self.a for m in (self.mean if mean is None else mean))

        def of_block(a: Array, b: Array, mt: Array, mc: Array) -> tuple[Array]:
            return (Beta(a, b)._expectation(kink, (mt, mc))(f),)

        value = blocks(of_block, (law.a, law.b, mt, mc), 3 * NODES)[0]
        xp = namespace(self.a)
        return xp.where(
            sure, f(xp.where(sure, xp.ones_like(mt), mt), xp.where(sure, xp.zeros_like(mc), mc), xp.where(sure, mc, 0 * mc)), value
        )

    def _expectation(self, kink: Array | None, mean: tuple[Array, Array]) -> Callable[[Function], Array]:
        a, b = self.a, self.b
        xp = namespace(a)
        t0, c0 = (a + 1) / (a + b + 2), (b + 1) / (a + b + 2)
        centre = xp.log((a + 1) / (b + 1))
        spread = xp.sqrt(1 / a + 1 / b)
        width = xp.minimum(spread, xp.ones_like(spread))
        low = centre - xp.maximum(45 / a, 10 * spread)
        high = centre + xp.maximum(45 / b, 10 * spread)
        x, dx = logit_nodes(low, high, centre, width, [centre, *corners(kink, a)])
        away = x - centre
        # t^a c^b relative to the centre: ln(t/t0) = −ln(1 + c0 (e^−δ − 1)), so that large a and b cost no digits
        log_density = -a * _log1p_times_expm1(c0, -away) - b * _log1p_times_expm1(t0, away)
        weights = dx * xp.exp(log_density - xp.max(log_density, axis=0))
        weights = weights / sum_first(weights)
        t, c = sigmoid(x), sigmoid(-x)
        mt, mc = mean
        d = xp.where(mt <= mc, t - mt, mc - c)
        return lambda f: sum_first(weights * f(t, c, d))


def _log1p_times_expm1(u: Array, x: Array) -> Array:
    """ln(1 + u (e^x − 1)) for 0 < u < 1 without overflow."""
    xp = namespace(x)
    far = x > 80  # where the 1 is lost beside u e^x, and e^x may be too large for float32
    return xp.where(far, xp.log(u) + x, xp.log1p(u * xp.expm1(xp.where(far, 0 * x, x))))


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
    def mean(self) -> tuple[Array, Array]:
        return self.means.mean

    def expect(self, f: Function, kink: Array | None = None) -> Array:
        """E f, the deviation taken from the mean of the whole mixture."""
        means = self.means
        return means.average(self.members.expect(f, kink, means.mean))

    def aleatoric(self, loss: Loss) -> Array:
        return self.means.average(self.members.aleatoric(loss))

    def epistemic(self, loss: Loss) -> Array:
        """The members' own and the disagreement of their means: Pythagoras' theorem for Bregman divergences."""
        means = self.means
        return means.average(self.members.epistemic(loss)) + means.epistemic(loss)
