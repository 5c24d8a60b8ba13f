"""Log, squared and spherical loss: the smooth losses with everything in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log
from typing import ClassVar

import numpy as np

from .._arrays import Array, namespace, not_negative
from .._errors import InputError
from ._special import (
    binary_entropy,
    digamma_difference,
    digamma_minus_log,
    digamma_minus_log_drop,
    kl_loss_term,
)
from .base import Loss, loss_of_outcome, with_complement, with_complements


@dataclass(frozen=True)
class LogLoss(Loss):
    r"""Logarithmic loss: entropy and mutual information of the binary outcome, Eqs. (17)–(19).

    .. math:: \varphi(\hat\theta, y) = -y \log \hat\theta - (1-y) \log(1-\hat\theta), \qquad
              G(t) = -t \log t - (1-t) \log(1-t), \qquad D = \mathrm{KL}

    >>> float(LogLoss().entropy(0.5))  # bits, the paper's unit
    1.0
    """

    base: float = 2.0
    name: ClassVar[str] = "log"

    def __post_init__(self) -> None:
        if not isinstance(self.base, int | float | np.number):
            raise TypeError(f"`base` must be a number; got {self.base!r}. Use base=math.e for nats")
        if not 1 < self.base < inf:
            raise InputError(
                "`base` must be finite and greater than 1, or entropies are negative; got "
                f"{self.base!r}"
            )

    @property
    def _unit(self) -> float:
        return 1 / log(self.base)

    def phi(self, forecast: Array, y: int) -> Array:
        forecast, c = with_complement(forecast)
        xp = namespace(forecast)
        return -xp.log(loss_of_outcome(y, forecast, c)) * self._unit

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = with_complement(t, c)
        return binary_entropy(t, c) * self._unit

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        t, m, c, mc, d = with_complements(t, m, c, mc, d)
        return (kl_loss_term(t, m, d) + kl_loss_term(c, mc, -d, upper=True)) * self._unit

    def aleatoric_of_beta(self, a: Array, b: Array) -> Array:
        r""":math:`m[\psi(S{+}1) - \psi(a{+}1)] + (1{-}m)[\psi(S{+}1) - \psi(b{+}1)]` with S = a +
        b, m = a/S.
        """
        return (
            (a * digamma_difference(a + 1, b) + b * digamma_difference(b + 1, a))
            / (a + b)
            * self._unit
        )

    def epistemic_of_beta(self, a: Array, b: Array) -> Array:
        r""":math:`m[\lambda(a) - \lambda(b)] + [\lambda(b) - \lambda(S)]` for a ≤ b, with the
        falling function λ(x) = ψ(x+1) − ln x.
        """
        xp = namespace(a)
        small, large = xp.minimum(a, b), xp.maximum(a, b)
        value = small / (a + b) * (
            digamma_minus_log(small) - digamma_minus_log(large)
        ) + digamma_minus_log_drop(large, small)
        return not_negative(value) * self._unit


@dataclass(frozen=True)
class SquaredLoss(Loss):
    r"""Squared (Brier) loss: the variance of the binary outcome, Eqs. (20)–(22).

    .. math:: \varphi(\hat\theta, y) = (\hat\theta - y)^2, \qquad G(t) = t(1-t), \qquad
              D(t\Vert m) = (t-m)^2
    """

    name: ClassVar[str] = "squared"

    def phi(self, forecast: Array, y: int) -> Array:
        forecast, c = with_complement(forecast)
        return loss_of_outcome(y, c, forecast) ** 2

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = with_complement(t, c)
        return t * c

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        if d is None:
            d = with_complements(t, m, c, mc, d)[-1]
        return d * d

    def minimax_regret(self, t: Array, c: Array, u: Array, uc: Array) -> Array:
        r""":math:`(u-t)^2/4`."""
        return (u - t) ** 2 / 4

    def aleatoric_of_beta(self, a: Array, b: Array) -> Array:
        r""":math:`ab/(S(S+1))`, S = a + b."""
        s = a + b
        return (a / s) * (b / (s + 1))

    def epistemic_of_beta(self, a: Array, b: Array) -> Array:
        r""":math:`ab/(S^2(S+1))`, S = a + b."""
        s = a + b
        return (a / s) * (b / (s + 1)) / s


@dataclass(frozen=True)
class SphericalLoss(Loss):
    r"""Spherical loss, with :math:`\|t\| = \sqrt{t^2 + (1-t)^2}`.

    .. math:: \varphi(\hat\theta, y) = 1 - \frac{\hat\theta_y}{\|\hat\theta\|}, \qquad
              G(t) = 1 - \|t\|, \qquad
              D(t \Vert m) = \frac{(t-m)^2}{\|m\| \, (\|t\| \|m\| + tm + (1-t)(1-m))}
    """

    name: ClassVar[str] = "spherical"

    def phi(self, forecast: Array, y: int) -> Array:
        forecast, c = with_complement(forecast)
        return 1 - loss_of_outcome(y, forecast, c) / namespace(forecast).sqrt(forecast**2 + c**2)

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = with_complement(t, c)
        return 2 * t * c / (1 + namespace(t).sqrt(t * t + c * c))  # 1 − ‖t‖ without the subtraction

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        t, m, c, mc, d = with_complements(t, m, c, mc, d)
        sqrt = namespace(t).sqrt
        m_norm = sqrt(m * m + mc * mc)
        return d * d / (m_norm * (sqrt(t * t + c * c) * m_norm + t * m + c * mc))
