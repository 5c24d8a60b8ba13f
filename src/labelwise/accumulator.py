r"""Uncertainty of an ensemble that never is in memory as a whole: one member at a time, or shards
of members in different processes.

Members are decomposed a few at a time. Two sets of members with shares α + β = 1 of the weight are
joined, for every loss by the same rule as Chan's for the variance:

.. math:: m = m_a + \beta\,\delta, \quad \delta = m_b - m_a, \qquad
          \mathrm{EU} = \alpha\,[\mathrm{EU}_a + D(m_a \Vert m)] + \beta\,[\mathrm{EU}_b + D(m_b
          \Vert m)]

The deviations from the new mean are −βδ and αδ, so nothing is subtracted: EU is never negative, and
0 where members agree. The mean is a pair of numbers whose sum has twice the digits: members that
differ in their last digits only are told apart. Only shares are multiplied with, never weights, so
that these may be as large or small as they like.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._arrays import (
    Array,
    ClassNames,
    Names,
    Shape,
    at_most_one,
    like,
    namespace,
    sum_with_remainder,
)
from ._engine.compute import Computed, compute
from ._errors import InputError
from ._frames import has_names
from ._validation.labels import check_names
from .decomposition import Uncertainty, decompose
from .distributions import Distribution, Ensemble, MultiLabelEnsemble
from .losses import Loss, LossName, as_loss

__all__ = ["Accumulator"]

# Members that are kept as they came and decomposed together: the kernel does that in one pass, and
# they need no more memory than the state that replaces them.
GROUP = 8
MAX_WEIGHT = 1e300


class State(NamedTuple):
    """What is known of some members: arrays (..., K), whatever their number."""

    weight: float
    """Of all together."""
    mean: Array
    mean_rest: Array
    """What rounding lost of the mean."""
    aleatoric: Array
    epistemic: Array

    @property
    def mean_complement(self) -> Array:
        """1 − the mean, which has the digits where the mean is near 1."""
        return (1 - self.mean) - self.mean_rest


class Accumulator:
    """Label-wise uncertainty from members that come one after another; what is held does not grow
    with their number: about eight of them, and twice as many while they are decomposed.

    Parameters
    ----------
    loss : str or Loss
    class_names : sequence of str, optional
        Class names.
    multilabel : bool
        The labels may occur together (`MultiLabelEnsemble`); otherwise each member's probabilities
        sum to 1.

    Examples
    --------
    >>> acc = Accumulator("squared")
    >>> for member in np.array([[[0.9, 0.1]], [[0.7, 0.3]]]):
    ...     _ = acc.update(member)
    >>> acc.result().epistemic.round(3)
    array([[0.01, 0.01]])
    """

    def __init__(
        self,
        loss: LossName | Loss = "log",
        *,
        class_names: ClassNames | None = None,
        multilabel: bool = False,
    ) -> None:
        self.loss = as_loss(loss)
        self.multilabel = bool(multilabel)
        self._ensemble_of = MultiLabelEnsemble if multilabel else Ensemble
        # the same for two that can be merged; functions of one name need not be the same
        self._kind = repr(self.loss), getattr(self.loss, "function", None), self.multilabel
        self.n_members = 0
        self.class_names = None
        if class_names is not None:
            self.class_names = check_names(class_names, len(class_names))
        self._names: Names = ()
        """Those, or the positions as text."""
        self._bound_loss = self.loss
        self._shape: Shape = ()
        """That of all members; ``()`` before the first."""
        self._group: list[tuple[Array, float]] = []
        """The latest members, at most `GROUP`, with their weights."""
        self._state: State | None = None
        """What is known of all before them."""

    def update(self, probs: Any, *, weight: float = 1.0) -> Accumulator:
        """Add one member: an array (..., K), and its ``weight``."""
        if has_names(probs):
            raise InputError("`probs` must be an array without names", fix="to_numpy")
        if not getattr(probs, "shape", np.shape(probs)):
            raise InputError(
                "`probs` must be one member's predictions, (..., K); got a single number"
            )
        alone = probs[None] if hasattr(probs, "shape") else [probs]
        p = self._ensemble_of(alone, member_axis=0).probs[0, ...]
        if np.ndim(weight) > 0:
            raise InputError("`weight` must be a number; weights of instances are for lw.Ensemble")
        weight = float(weight)
        if not 0 <= weight <= MAX_WEIGHT:
            raise InputError(
                f"`weight` must be from 0 to {MAX_WEIGHT:g}, so that weights can be added up; got "
                f"{weight!r}"
            )
        self._check_shape(tuple(map(int, p.shape)))
        # a copy: the caller may use the memory for the next member
        self._add(1 * at_most_one(p), weight)
        self.n_members += 1
        return self

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another Accumulator of the same loss has seen."""
        if not isinstance(other, Accumulator) or other._kind != self._kind:
            raise InputError(
                "only an Accumulator of the same kind can be merged: with the same loss, "
                f"{self.loss!r}, and multilabel={self.multilabel}"
            )
        if not other._shape:
            return self
        named = self.class_names is not None and other.class_names is not None
        if named and self.class_names != other.class_names:
            raise InputError(
                "only an Accumulator with the same classes in the same order can be merged"
            )
        self._check_shape(other._shape)
        if other._state is not None:
            self._state = self._joined_with(other._state)
        for p, w in list(other._group):
            self._add(p, w)
        self.n_members += other.n_members
        return self

    def result(self) -> Uncertainty:
        """Label-wise uncertainty of all members so far."""
        if not self._shape:
            raise InputError("there is no result yet: `update` has not been called")
        q, weight = self._ensemble()
        if self._state is not None:
            weight = weight + self._state.weight
        if weight == 0:
            raise InputError("the weights so far are all zero")
        if self._state is None:
            return decompose(q, self.loss)
        loss = self._bound_loss
        state = self._joined_with(self._state_of_group())
        return Uncertainty(
            loss.entropy(state.mean, state.mean_complement),
            state.aleatoric,
            state.epistemic,
            self._names,
            loss,
            structure="free" if self.multilabel else "partition",
            n_members=self.n_members,
        )

    def _add(self, p: Array, weight: float) -> None:
        if len(self._group) == GROUP:
            self._state = self._joined_with(self._state_of_group())
            self._group = []
        self._group.append((p, weight))

    def _joined_with(self, other: State) -> State:
        if self._state is None:
            return other
        return join_states(self._state, other, self._bound_loss)

    def _state_of_group(self) -> State:
        """What is known of the latest members."""
        q, weight = self._ensemble()

        def equations(q: Distribution) -> Computed:
            law: Any = q.marginal()
            reference = law.of_heaviest(law.t)  # where all agree, nothing is added to it
            return Computed(sum_with_remainder(reference[0, ...], law.average(law.t - reference)))

        u = decompose(q, self._bound_loss)
        mean, rest = compute(equations, q).parts
        return State(weight, mean, rest, u.aleatoric, u.epistemic)

    def _ensemble(self) -> tuple[Distribution, float]:
        """The latest members, and their weight as in `State`."""
        members, weights = zip(*self._group, strict=True)
        first, total = members[0], sum(weights)
        shares = None  # all are equal
        if len(set(weights)) > 1:
            shares = like([weight / total for weight in weights], first)
        q = self._ensemble_of(first[None, ...], member_axis=0, class_names=self._names)
        return q.with_values(stored=namespace(*members).stack(members), weights=shares), total

    def _check_shape(self, shape: Shape) -> None:
        if not self._shape:
            # these refuse class names that do not fit
            names = check_names(self.class_names, shape[-1])
            self._names = names or tuple(map(str, range(shape[-1])))
            self._bound_loss = self.loss.bind(self._names)
            self._shape = shape
        elif shape != self._shape:
            raise InputError(
                f"`probs` must have the same shape as the previous members, {self._shape}; got "
                f"{shape}"
            )


def join_states(a: State, b: State, loss: Loss) -> State:
    """The state of both sets of members together."""
    if a.weight < b.weight:  # the lighter set moves the mean of the heavier
        a, b = b, a
    weight = a.weight + b.weight
    alpha, beta = 1.0, 0.0
    if weight > 0:
        alpha, beta = a.weight / weight, b.weight / weight
    delta = (b.mean - a.mean) + (b.mean_rest - a.mean_rest)
    high, low = sum_with_remainder(a.mean, beta * delta)
    mean, rest = sum_with_remainder(high, low + a.mean_rest)
    aleatoric = alpha * a.aleatoric + beta * b.aleatoric
    within = State(weight, mean, rest, aleatoric, alpha * a.epistemic + beta * b.epistemic)
    c = within.mean_complement
    from_a = loss.divergence(a.mean, mean, a.mean_complement, c, -beta * delta)
    from_b = loss.divergence(b.mean, mean, b.mean_complement, c, alpha * delta)
    return within._replace(epistemic=within.epistemic + alpha * from_a + beta * from_b)
