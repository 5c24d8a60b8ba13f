"""The law of an event under a Dirichlet: a Beta distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._arrays import Array, namespace, sum_first
from ..losses import Loss
from ._quadrature import NODES, blocks, corners, logit_nodes, sigmoid


@dataclass(frozen=True, eq=False)
class Beta:
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

    def split(self, loss: Loss) -> tuple[Array, Array]:
        """Aleatoric and epistemic uncertainty: in closed form where the loss has one, else by quadrature."""
        law, sure = self._unsure()

        def of_block(a: Array, b: Array) -> tuple[Array, Array]:
            block = Beta(a, b)
            expect = block._expectation(loss.kink, block.mean)
            return expect(lambda t, c, d: loss.entropy(t, c)), loss.epistemic(expect, *block.mean)

        closed = loss.on_beta(law.a, law.b)
        aleatoric, epistemic = blocks(of_block, (law.a, law.b), 3 * NODES) if closed is None else closed
        where = namespace(sure).where
        return where(sure, 0 * aleatoric, aleatoric), where(sure, 0 * epistemic, epistemic)

    def expect(
        self, f: Callable[[Array, Array, Array], Array], corner: Array | None = None, mean: tuple[Array, Array] | None = None
    ) -> Array:
        """E f(Θ, 1 − Θ, Θ − mean), by default its own mean; ``corner`` is a probability at which f is not smooth."""
        law, sure = self._unsure()
        mt, mc = (m + 0 * self.a for m in (self.mean if mean is None else mean))

        def of_block(a: Array, b: Array, mt: Array, mc: Array) -> tuple[Array]:
            return (Beta(a, b)._expectation(corner, (mt, mc))(f),)

        value = blocks(of_block, (law.a, law.b, mt, mc), 3 * NODES)[0]
        xp = namespace(self.a)
        return xp.where(
            sure, f(xp.where(sure, xp.ones_like(mt), mt), xp.where(sure, xp.zeros_like(mc), mc), xp.where(sure, mc, 0 * mc)), value
        )

    def _expectation(self, corner: Array | None, mean: tuple[Array, Array]) -> Callable[[Callable[[Array, Array, Array], Array]], Array]:
        a, b = self.a, self.b
        xp = namespace(a)
        t0, c0 = (a + 1) / (a + b + 2), (b + 1) / (a + b + 2)
        centre = xp.log((a + 1) / (b + 1))
        spread = xp.sqrt(1 / a + 1 / b)
        width = xp.minimum(spread, xp.ones_like(spread))
        low = centre - xp.maximum(45 / a, 10 * spread)
        high = centre + xp.maximum(45 / b, 10 * spread)
        x, dx = logit_nodes(low, high, centre, width, [centre, *corners(corner, a)])
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
