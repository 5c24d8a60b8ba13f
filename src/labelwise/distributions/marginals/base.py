"""The law of one event's probability: the second small interface behind every distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ..._arrays import Array, Pair
from ...losses import Expectation, Loss


class Split(NamedTuple):
    """Total, aleatoric and epistemic uncertainty of each event, (..., E)."""

    total: Array
    aleatoric: Array
    epistemic: Array
    error: tuple[Array, Array, Array] | None = None
    """95 % bounds on the numerical error of the three; ``None``: rounding only."""


class Marginal(ABC):
    """The law of Θ_A for each event A; arrays of shape (..., E).

    A subclass gives `mean` and `expectation`, from which `split` follows, or overrides `split`: the
    parts of some laws have a closed form.
    """

    @property
    @abstractmethod
    def mean(self) -> Pair:
        """E Θ_A and E (1 − Θ_A), neither taken from the other."""

    @property
    def probability(self) -> Array:
        """E Θ_A alone, which can be had sooner than both."""
        return self.mean[0]

    def expectation(self, kink: Array | None = None) -> Expectation:
        """f ↦ E f(Θ_A, 1 − Θ_A, Θ_A − E Θ_A); ``kink`` is a probability at which f is not
        smooth.
        """
        raise NotImplementedError

    def split(self, loss: Loss) -> Split:
        """The equations of the paper, with the entropy G and the divergence D of the loss."""
        mean = self.mean
        expect = self.expectation(loss.kink)
        return Split(
            total=loss.entropy(*mean),  # TU = G(E Θ)        Eqs. (9), (17), (20)
            aleatoric=expect(lambda t, c, d: loss.entropy(t, c)),  # AU = E G(Θ)  (10), (18), (21)
            epistemic=loss.epistemic(expect, *mean),  # EU = E D(Θ ‖ E Θ)  Eqs. (11), (19), (22)
        )
