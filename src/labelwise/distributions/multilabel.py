"""Ensembles for labels that may occur together: K Bernoulli outcomes that need not sum to 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, check_names
from ..events import Family
from ._atoms import Atoms
from ._checks import as_rng, members_first, normalised_weights, probabilities, set_fields
from .ensemble import draw_members


@dataclass(frozen=True, eq=False, init=False)
class MultiLabelEnsemble:
    """The predictions of M members for K labels that may occur together; parameters as for `Ensemble`, without the sum to 1.

    >>> q = MultiLabelEnsemble(np.array([[[0.9, 0.8]], [[0.7, 0.8]]]), names=["beach", "sunset"])
    >>> q.mean()
    array([[0.8, 0.8]])
    """

    probs: Array
    weights: Array | None
    names: tuple[str, ...] | None

    def __init__(
        self,
        probs: Any,
        *,
        weights: Any = None,
        member_axis: int | None = None,
        class_axis: int = -1,
        names: Sequence[str] | None = None,
    ) -> None:
        checked = probabilities(members_first(probs, "probs", member_axis, class_axis), "probs", sum_to_one=False)
        if checked.shape[-1] == 0:
            raise ValueError(f"`probs` must have at least one label on its class axis; got shape {tuple(checked.shape)}")
        set_fields(self, probs=checked, weights=normalised_weights(weights, checked), names=check_names(names, checked.shape[-1]))

    @property
    def n_members(self) -> int:
        return int(self.probs.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.probs.shape[-1])

    def marginal(self, events: Family | None = None) -> Atoms:
        """The law of each label's probability."""
        if events is not None:
            raise ValueError(
                "`events` have no meaning for a MultiLabelEnsemble: its labels may occur together, so the probability of a "
                "group is not the sum of its labels'. Leave `events` out"
            )
        return Atoms(self.probs, self.weights)

    def mean(self, events: Family | None = None) -> Array:
        """E Θ, of shape (..., K)."""
        return self.marginal(events).mean[0]

    def expect(self, f: Callable[[Array, Array, Array], Array], events: Family | None = None) -> Array:
        """E f(Θ_k, 1 − Θ_k, Θ_k − E Θ_k) for each label k."""
        return self.marginal(events).expect(f)

    def sample(self, n: int, *, rng: int | np.random.Generator) -> Array:
        """``n`` draws of Θ, shape (n, ..., K)."""
        return draw_members(self.probs, self.weights, n, as_rng(rng))
