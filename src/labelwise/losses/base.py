"""The base class of all losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, Pair, namespace, without_gradient
from .._errors import InputError

Expectation = Callable[[Callable[[Array, Array, Array], Array]], Array]
"""Takes f(t, c, d) to its expectation; d is the deviation t − E t, kept accurate when it is
small.
"""


class Loss:
    """Base class of all losses; subclasses are frozen dataclasses."""

    name: ClassVar[str]
    per_event: bool = False
    """Whether the loss differs between events, so that it must be bound to their names."""

    def phi(self, forecast: Array, y: int) -> Array:
        """The loss of a forecast when the outcome is ``y`` (0 or 1)."""
        raise NotImplementedError

    def entropy(self, t: Array, c: Array = None) -> Array:
        r"""Generalized entropy :math:`G(t) = \varphi(t, t)`; ``c`` is 1 − t, if known more
        accurately.
        """
        raise NotImplementedError

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        r"""Bregman divergence :math:`D(t \Vert m) \ge 0` of −G: the excess loss of forecast ``m``
        over G(t) when ``t`` is true.

        ``c`` and ``mc`` are the complements, ``d`` the difference t − m, if known more accurately
        than by subtraction.
        """
        raise NotImplementedError

    def regret(self, t: Array, m: Array, c: Array, mc: Array, d: Array) -> Array:
        r""":math:`D(t \Vert m)` of any forecast ``m``: infinite where it rules out what is possible
        and the loss of that is infinite.
        """
        xp = namespace(t)
        value = self.divergence(t, m, c, mc, d)
        ruled_out = (m <= 0) & (t > 0), (mc <= 0) & (c > 0)
        for infinite, where in zip(self.unbounded, ruled_out, strict=True):
            if infinite:
                value = xp.where(where, xp.full_like(value, inf), value)
        return value

    @property
    def unbounded(self) -> tuple[bool, bool]:
        """Whether φ(0, 1) and φ(1, 0) are infinite: the losses of a forecast that was certain and
        wrong.
        """
        with np.errstate(all="ignore"):
            never, always = self.phi(np.zeros(1), 1), self.phi(np.ones(1), 0)
        return bool(np.isinf(never).any()), bool(np.isinf(always).any())

    @property
    def maximum(self) -> Any:
        """The largest value of the entropy (per event where costs differ)."""
        return float(self.entropy(np.asarray(self.peak)))

    @property
    def peak(self) -> Any:
        """Where the entropy is largest (per event where costs differ): its slope φ(t, 1) − φ(t, 0)
        passes 0. Exactly ½ where no other value is larger.
        """
        low, high, half = np.zeros(1), np.ones(1), np.full(1, 0.5)
        if self.phi(half, 1) == self.phi(half, 0):
            return 0.5
        for _ in range(53):
            middle = (low + high) / 2
            if self.phi(middle, 1) > self.phi(middle, 0):
                low = middle
            else:
                high = middle
        if self.entropy(half) >= self.entropy(low):
            return 0.5
        return float(low[0])

    def minimax_regret(self, t: Array, c: Array, u: Array, uc: Array) -> Array:
        r"""The regret that a forecast can guarantee on [t, u]: :math:`\min_f \max_s D(s \Vert f)`,
        the largest gap between the entropy and its chord.

        It is attained where both ends have the same regret, by bisection of the share of f on the
        way from t to u. The gap is flat there, so that half the digits of f give all of its own,
        and it has the derivatives it has for a constant share.
        """
        xp = namespace(t)
        width = xp.where(t + u <= c + uc, u - t, c - uc)

        def regrets(share: Array) -> Pair:
            step, rest = share * width, (1 - share) * width
            f, fc = t + step, uc + rest
            return self.divergence(t, f, c, fc, -step), self.divergence(u, f, uc, fc, rest)

        low = xp.zeros_like(t)
        for i in range(1, 28):
            share = low + 2.0**-i
            below, above = regrets(share)
            low = xp.where(above > below, share, low)
        low = without_gradient(low)
        below, above = regrets(low)
        return (1 - low) * below + low * above

    def epistemic(self, expect: Expectation, mt: Array, mc: Array) -> Array:
        r""":math:`\mathbb{E}\, D(\Theta \Vert \bar\theta)`, Eqs. (11), (15), (16), given the
        expectation and the mean.
        """
        return expect(lambda t, c, d: self.divergence(t, mt, c, mc, d))

    def aleatoric_of_beta(self, a: Array, b: Array) -> Array | None:
        """E G(Θ) for Θ ~ Beta(a, b) in closed form, or ``None``."""
        return None

    def epistemic_of_beta(self, a: Array, b: Array) -> Array | None:
        """E D(Θ‖E Θ) for Θ ~ Beta(a, b) in closed form, or ``None``."""
        return None

    def bind(self, names: Sequence[str]) -> Loss:
        """This loss for the events ``names``: only costs given by name depend on them."""
        return self

    @property
    def kink(self) -> Array | None:
        """The probability at which the entropy has a kink, or ``None``."""
        return None

    @property
    def smooth(self) -> bool:
        """Whether the entropy is differentiable inside the unit interval (the jackknife needs
        it).
        """
        return self.kink is None


def with_complement(t: Array, c: Array = None) -> Pair:
    """Convert user input to arrays and compute the missing complement."""
    if isinstance(t, int | float):
        t = np.asarray(t, float)
    if c is None:
        c = 1 - t
    return t, c


def with_complements(
    t: Array, m: Array, c: Array, mc: Array, d: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """The same for a probability and a forecast of it, with their difference."""
    t, c = with_complement(t, c)
    m, mc = with_complement(m, mc)
    if d is None:
        d = t - m
    return t, m, c, mc, d


def loss_of_outcome(y: int, one: Array, zero: Array) -> Array:
    """The value for outcome ``y``."""
    if y not in (0, 1):
        raise InputError(f"`y` must be 0 or 1; got {y!r}")
    return one if y else zero
