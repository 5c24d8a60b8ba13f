"""The law of an event under finitely many members: weighted atoms."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ..._arrays import Array, Names, Pair, at_most_one, namespace, sum_first
from ..._cached import cached_property
from ...events import Events, conditional_event_shares, event_sums
from ...losses import Expectation, Loss
from .base import Marginal

ROUNDING = 1e-6  # of weights in single precision, when they are added up


@dataclass(frozen=True, eq=False)
class Atoms(Marginal):
    """Event probabilities of M members, ``t`` of shape (M, ..., E), with normalized weights over
    the first axis.

    ``complement`` is given where it is known better than by 1 − t (summed over the other classes).
    """

    t: Array
    weights: Array | None = None
    """(M, ...) without the event axis, summing to 1 over the members; ``None``: equal."""
    complement: Array | None = None

    @cached_property
    def c(self) -> Array:
        if self.complement is not None:
            return self.complement
        rest = 1 - self.t
        return namespace(rest).where(rest < 0, 0 * rest, rest)  # keeps the slope −1 at t = 1

    def average(self, x: Array) -> Array:
        """The expectation of member values ``x``, one for each instance, (M, ...), or several,
        (M, ..., E).
        """
        if self.weights is not None:
            return sum_first(self._weights_of(x) * x)
        return sum_first(x) / x.shape[0]

    @property
    def member_weights(self) -> Array:
        """The weights with the axes of ``t``."""
        return self._weights_of(self.t)

    def _weights_of(self, x: Array) -> Array:
        weights: Array = self.weights
        return weights.reshape(weights.shape + (1,) * (x.ndim - weights.ndim))

    def _from_mean(self, x: Array) -> Array:
        """Each member's distance from the mean, by way of the heaviest member."""
        away = x - self.of_heaviest(x)
        return away - self.average(away)

    def of_heaviest(self, x: Array) -> Array:
        """What the member with the largest weight says, (1, ..., E); the first if all are equal."""
        if self.weights is None:
            return x[:1, ...]
        xp = namespace(x)
        heaviest = xp.argmax(self.member_weights, axis=0, keepdims=True)
        members = xp.reshape(
            xp.arange(x.shape[0], device=getattr(heaviest, "device", None)),
            (-1,) + (1,) * (x.ndim - 1),
        )
        return xp.sum(xp.where(members == heaviest, x, 0 * x), axis=0, keepdims=True)

    @cached_property
    def mean(self) -> Pair:
        """Mean probability of the event and of its complement; neither is taken from the other."""
        return self.average(self.t), self.average(self.c)

    @property
    def probability(self) -> Array:
        return self.average(self.t)

    @cached_property
    def deviation(self) -> Array:
        """Θ − E Θ, exactly 0 where all members agree: taken from the heaviest member, not from the
        rounded mean.
        """
        inside = self._from_mean(self.t)
        if self.complement is None:
            return inside
        t, c = self.mean
        return namespace(t).where(t <= c, inside, -self._from_mean(self.c))

    def expectation(self, kink: Array | None = None) -> Expectation:
        """f ↦ E f(Θ, 1 − Θ, Θ − E Θ), exactly; atoms have no use for ``kink``."""
        return lambda f: self.average(f(self.t, self.c, self.deviation))

    def quantile(self, level: float) -> Array:
        """The smallest value that at least a share ``level`` of the members do not exceed."""
        xp = namespace(self.t)
        n = self.t.shape[0]
        if self.weights is None:
            return xp.sort(self.t, axis=0)[max(ceil(level * n - ROUNDING) - 1, 0), ...]
        order = xp.argsort(self.t, axis=0)
        shares = xp.take_along_axis(self.member_weights + 0 * self.t, order, axis=0)
        before = xp.cumulative_sum(shares, axis=0) < max(level - ROUNDING, ROUNDING)
        place = xp.sum(xp.astype(before, order.dtype), axis=0, keepdims=True)
        members = xp.take_along_axis(order, place, axis=0)
        return xp.take_along_axis(self.t, members, axis=0)[0, ...]

    def jackknife(self, loss: Loss) -> Array:
        r"""The jackknife's estimate of what TU and EU lack because M is finite:
        :math:`(M-1)\,\mathrm{mean}_i\, D(\bar\theta_{-i} \Vert \bar\theta)`.

        Leaving member i out moves the mean by −d_i/(M−1), so nothing is subtracted. For squared
        loss this is EU/(M−1).
        """
        xp = namespace(self.t)
        t, c = self.mean
        others = self.t.shape[0] - 1
        step = -self.deviation / others
        left_t, left_c = t + step, c - step
        without = loss.divergence(
            xp.where(left_t > 0, left_t, 0 * step),
            t,
            xp.where(left_c > 0, left_c, 0 * step),
            c,
            step,
        )
        return others * self.average(without)


def atoms_of_events(
    probs: Array, weights: Array | None, events: Events | None, class_names: Names | None
) -> Atoms:
    """The law of events under members that predict class probabilities ``probs`` (M, ..., K)."""
    if events is None:
        return Atoms(probs, weights)
    inside, rest = event_sums(probs, events, class_names)
    if events.given is not None:
        inside, rest = conditional_event_shares(inside, rest)
    return Atoms(at_most_one(inside), weights, at_most_one(rest))
