"""Ensembles for labels that may occur together: K Bernoulli outcomes that need not sum to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._arrays import Array, namespace, sigmoid, values_known, widen
from .._errors import InputError
from .._validation.arrays import check_finite
from ..events import Events
from .base import ArrayT, Distribution
from .ensemble import Members
from .marginals import Atoms


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MultiLabelEnsemble(Members[ArrayT]):
    """The predictions of M members for K labels that may occur together; parameters as for
    `Ensemble`, without the sum to 1.

    >>> MultiLabelEnsemble(np.array([[[0.9, 0.8]], [[0.7, 0.8]]])).mean()
    array([[0.8, 0.8]])
    """

    exclusive: ClassVar[bool] = False

    @staticmethod
    def probabilities_of(logits: Array) -> Array:
        z = widen(logits)
        xp = namespace(z)
        if values_known(z):
            check_finite(xp.where(xp.isinf(z), xp.zeros_like(z), z), "logits")
        return sigmoid(z)

    def law(self, probs: Array, weights: Array | None, events: Events | None) -> Atoms:
        if events is not None:
            raise no_events(self)
        return Atoms(probs, weights)


def no_events(q: Distribution) -> InputError:
    """The error for events of labels that may occur together."""
    return InputError(
        f"`events` have no meaning for a {type(q).__name__}: its labels may occur together, so the "
        "probability of a group is not the sum of its labels'. Leave `events` out"
    )
