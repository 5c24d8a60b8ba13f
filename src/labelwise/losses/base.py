"""What every loss has in common, and the largest values of their entropies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, namespace

Expectation = Callable[[Callable[[Array, Array, Array], Array]], Array]
"""Takes f(t, c, d) to its expectation; d is the deviation t − E t, kept accurate when it is small."""


class Loss:
    """What every loss has in common; subclasses are frozen dataclasses."""

    smooth: ClassVar[bool] = True
    """Whether the entropy is differentiable inside the unit interval (the jackknife needs it)."""
    name: ClassVar[str]

    def phi(self, forecast: Array, y: int) -> Array:
        """The loss of a forecast when the outcome is ``y`` (0 or 1)."""
        raise NotImplementedError

    def entropy(self, t: Array, c: Array = None) -> Array:
        r"""Generalised entropy :math:`G(t) = \varphi(t, t)`; ``c`` is 1 − t, if known more accurately than that."""
        raise NotImplementedError

    def divergence(self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None) -> Array:
        r"""Bregman divergence :math:`D(t \Vert m) \ge 0` of −G: what the forecast ``m`` costs beyond G(t) when ``t`` is true.

        ``c`` and ``mc`` are the complements, ``d`` the difference t − m, if known more accurately than by subtraction.
        """
        raise NotImplementedError

    @property
    def maximum(self) -> Any:
        """The largest value of the entropy (per event where costs differ)."""
        raise NotImplementedError

    def epistemic(self, expect: Expectation, mt: Array, mc: Array) -> Array:
        r""":math:`\mathbb{E}\, D(\Theta \Vert \bar\theta)`, Eqs. (11), (15), (16), given the expectation and the mean."""
        return expect(lambda t, c, d: self.divergence(t, mt, c, mc, d))

    def on_beta(self, a: Array, b: Array) -> tuple[Array, Array] | None:
        """Aleatoric and epistemic uncertainty of Θ ~ Beta(a, b) in closed form, or ``None`` where there is none."""
        return None

    def bind(self, names: Sequence[str]) -> Loss:
        """This loss for the events ``names``: only costs given by name depend on them."""
        return self

    @property
    def kink(self) -> Array | None:
        """The probability at which the entropy has a corner, or ``None``."""
        return None

    def maximum_of_sum(self, n: int, weights: Sequence[float] | None = None) -> float:
        r"""The maximum of :math:`\sum_k w_k G(\theta_k)` over the probability simplex of ``n`` labels."""
        if weights is None and np.ndim(self.maximum) == 0:
            return float(n * self.entropy(np.asarray(1 / n), np.asarray(1 - 1 / n)))  # concave and symmetric
        return _maximum_on_simplex(self, np.ones(n) if weights is None else np.asarray(weights, float))


def complete(t: Array, c: Array) -> tuple[Array, Array]:
    """Arrays from what the user passed, with the complement filled in."""
    t = np.asarray(t, float) if isinstance(t, int | float) else t
    return t, (1 - t if c is None else c)


def complete_two(t: Array, m: Array, c: Array, mc: Array, d: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The same for a probability and a forecast of it, with their difference."""
    t, c = complete(t, c)
    m, mc = complete(m, mc)
    return t, m, c, mc, (t - m if d is None else d)


def pick(y: int, one: Array, zero: Array) -> Array:
    """What belongs to the outcome ``y``."""
    if y not in (0, 1):
        raise ValueError(f"`y` must be 0 or 1; got {y!r}")
    return one if y else zero


def not_negative(x: Array) -> Array:
    """``x`` without the negative zeros and rounding errors of quantities that cannot be negative; at 0 the slope stays."""
    return namespace(x).where(x < 0, 0 * x, x) + 0.0


def _argmax_concave(f: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """Where each of ``n`` concave functions on [0, 1] is largest (ternary search)."""
    low, high = np.zeros(n), np.ones(n)
    for _ in range(120):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        up = f(left) < f(right)
        low, high = np.where(up, left, low), np.where(up, high, right)
    return (low + high) / 2


def maximum_entropy(loss: Loss) -> float:
    """The largest value of the entropy of a loss, by search."""
    t = _argmax_concave(lambda t: np.asarray(loss.entropy(t)), 1)
    return float(loss.entropy(t)[0])


def _maximum_on_simplex(loss: Loss, weights: np.ndarray) -> float:
    r"""max Σ w_k G_k(θ_k) subject to Σ θ_k = 1, by its dual: min over λ of λ + Σ max_t [w_k G_k(t) − λ t]."""

    def dual(price: float) -> float:
        t = _argmax_concave(lambda t: weights * loss.entropy(t) - price * t, weights.size)
        return float(price + np.sum(weights * loss.entropy(t) - price * t))

    low, high = -1.0, 1.0
    while dual(low) <= dual(low * 0.9):
        low *= 4
    while dual(high) <= dual(high * 0.9):
        high *= 4
    for _ in range(120):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if dual(left) > dual(right) else (low, right)
    return dual((low + high) / 2)
