"""A set of probabilities for an event: an interval, without a law inside it."""

from __future__ import annotations

from dataclasses import dataclass

from ..._arrays import Array, Pair, like, namespace
from ...losses import Loss
from .base import Marginal, Split


@dataclass(frozen=True, eq=False)
class Interval(Marginal):
    """The probability of each event lies between two bounds, each given with its complement,
    arrays (..., E).
    """

    lower: Pair
    upper: Pair
    center: Pair
    """A point of the set that stands for it where one is needed."""

    @property
    def mean(self) -> Pair:
        return self.center

    def split(self, loss: Loss) -> Split:
        r"""TU = max G, AU = min G over the interval, EU the difference. G is concave: largest at
        its peak or at an end, smallest at an end.
        """
        low, high = self.lower[0], self.upper[0]
        xp = namespace(low)
        ends = loss.entropy(*self.lower), loss.entropy(*self.upper)
        peak, largest = like(loss.peak, low), like(loss.maximum, low)
        inside = (low < peak) & (peak < high)
        total = xp.where(inside, largest + 0 * low, xp.maximum(*ends))
        aleatoric = xp.minimum(*ends)
        return Split(total, aleatoric, total - aleatoric)

    def regret(self, loss: Loss) -> Array:
        """The smallest regret that a forecast can guarantee, min_f max_t D(t‖f)."""
        return loss.minimax_regret(*self.lower, *self.upper)
