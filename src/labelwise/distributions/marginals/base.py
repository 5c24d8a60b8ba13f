"""The law of one event's probability: the second small interface behind every distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from ..._arrays import Array
from ...losses import Loss

Function: TypeAlias = Callable[[Array, Array, Array], Array]
"""f(Θ_A, 1 − Θ_A, Θ_A − E Θ_A), elementwise."""


class Marginal(ABC):
    """The law of Θ_A for each event A; arrays of shape (..., E).

    A subclass gives `mean` and `expect`. The aleatoric and the epistemic part follow; a law that
    knows them in closed form overrides them.
    """

    @property
    @abstractmethod
    def mean(self) -> tuple[Array, Array]:
        """E Θ_A and E (1 − Θ_A), neither taken from the other."""

    @abstractmethod
    def expect(self, f: Function, kink: Array | None = None) -> Array:
        """E f(Θ_A, 1 − Θ_A, Θ_A − E Θ_A); ``kink`` is a probability at which f is not smooth."""

    def aleatoric(self, loss: Loss) -> Array:
        r""":math:`\mathbb{E}\,G(\Theta_A)`, Eq. (10)."""
        return self.expect(lambda t, c, d: loss.entropy(t, c), loss.kink)

    def epistemic(self, loss: Loss) -> Array:
        r""":math:`\mathbb{E}\,D(\Theta_A \Vert \mathbb{E}\,\Theta_A)`, Eq. (11)."""
        return loss.epistemic(partial(self.expect, kink=loss.kink), *self.mean)

    def error(self, loss: Loss) -> tuple[Array, Array, Array] | None:
        """95 % bounds on the numerical error of total, aleatoric and epistemic uncertainty;
        ``None``: rounding only.
        """
        return None
