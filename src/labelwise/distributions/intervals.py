"""Probability intervals: a set of class probabilities instead of a distribution over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

from .._arrays import (
    SUM_TOLERANCE,
    Array,
    ClassNames,
    Names,
    Pair,
    at_most_one,
    dtype_name,
    namespace,
    values_known,
    without_gradient,
)
from .._engine.compute import Computed, compute
from .._errors import InputError
from .._frames import same_rows
from .._validation.arguments import Rng, set_fields
from .._validation.arrays import as_floating, check_classes, in_library_of
from .._validation.labels import check_names
from .._validation.probabilities import check_range
from ..events import Family, as_events, conditional_event_shares
from .base import ArrayOf, ArrayT, Distribution, InArrays, sums_inside_and_outside
from .ensemble import as_distribution
from .marginals import Atoms, Interval
from .multilabel import no_events
from .named_predictions import moved_last, read_names


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Intervals(InArrays[ArrayT]):
    r"""All class probabilities with :math:`l_k \le \theta_k \le u_k`: member extremes, Venn–Abers
    predictors, credal sets, top log-probabilities of language models.

    Uncertainty is about the worst and the best case: :math:`\mathrm{TU}_k = \max G`,
    :math:`\mathrm{AU}_k = \min G` over the interval, and :math:`\mathrm{EU}_k` their difference.
    ``regret`` is the smallest excess loss that a forecast can guarantee, :math:`\min_f \max_t D(t
    \Vert f)`, the largest gap between G and its chord: 0 where one decision is best throughout,
    which EU is not. An event A has the bounds :math:`[\max(\sum_A l, 1 - \sum_{A^c} u), \min(\sum_A
    u, 1 - \sum_{A^c} l)]`, which some probabilities in the set attain; so has each label, {k}.

    Parameters
    ----------
    lower, upper : array (..., K)
        Bounds of each class's probability.
    exclusive : bool
        Whether exactly one class is true, so that the probabilities sum to 1. Bounds that no such
        probabilities satisfy are refused. ``False``: each interval stands for itself.
    class_names : sequence of str, optional
        Class names.

    Notes
    -----
    A set has no mean: `mean` is the point at the same share of all intervals (the intersection
    probability), for where one is needed. There is nothing to `sample`, no jackknife, no sources.

    Examples
    --------
    >>> q = Intervals(np.array([[0.1, 0.2]]), np.array([[0.6, 0.95]]))
    >>> u = lw.decompose(q, "squared")  # label 0 lies between 0.1 and 0.6
    >>> u.total, u.aleatoric.round(4), u.regret.round(4)
    (array([[0.25, 0.25]]), array([[0.09, 0.09]]), array([[0.0625, 0.0625]]))
    """

    lower: Array
    upper: Array
    class_names: Names | None
    exclusive: bool  # type: ignore[misc]
    ids: Any = None
    _arrays: ClassVar[Names] = ("lower", "upper")

    def __init__(
        self,
        lower: ArrayOf[ArrayT],
        upper: ArrayOf[ArrayT],
        *,
        exclusive: bool = True,
        class_names: ClassNames | None = None,
    ) -> None:
        lower, upper = same_rows(lower=lower, upper=upper)
        first = read_names(lower, "lower", class_names, members=False)
        other = read_names(upper, "upper", first.class_names, members=False)
        low = as_floating(moved_last(first), "lower")
        high = in_library_of(as_floating(moved_last(other), "upper"), low, "upper", "lower")
        if low.shape != high.shape:
            raise InputError(
                "`lower` and `upper` must have the same shape (..., K); got "
                f"{tuple(low.shape)} and {tuple(high.shape)}"
            )
        check_classes(low, "lower", exclusive=exclusive)
        set_fields(
            self,
            lower=low,
            upper=high,
            class_names=check_names(other.class_names, low.shape[-1]),
            exclusive=exclusive,
            ids=first.ids,
        )
        self.with_valid_values()

    @classmethod
    def from_members(
        cls,
        q: Distribution[ArrayT] | ArrayOf[ArrayT],
        *,
        quantiles: tuple[float, float] = (0.0, 1.0),
        events: Family | None = None,
    ) -> Intervals[ArrayT]:
        """From the smallest to the largest probability that a member gives each class, or each of
        the ``events``; or between two quantiles of the members.

        Extremes of an event are narrower than its bounds from the extremes of the classes. Events
        that do not partition the classes become labels that stand for themselves.

        >>> probs = np.array([[[0.7, 0.2, 0.1]], [[0.5, 0.4, 0.1]]])
        >>> q = lw.Intervals.from_members(probs, events={"first two": [0, 1], "last": [2]})
        >>> q.lower.round(3), q.upper.round(3), q.class_names
        (array([[0.9, 0.1]]), array([[0.9, 0.1]]), ('first two', 'last'))
        """
        q = as_distribution(q)
        low, high = quantiles
        if not q.finite or not 0 <= low <= high <= 1:
            raise InputError(
                "`from_members` needs an ensemble and `quantiles` with 0 ≤ low ≤ high ≤ 1; got "
                f"{type(q).__name__} and {quantiles!r}"
            )

        def bounds(q: Distribution) -> Computed:
            law: Any = q.marginal(events)
            mirrored = Atoms(-law.t, law.weights)
            return Computed((law.quantile(low), -mirrored.quantile(1 - high)))

        names, exclusive, family = q.class_names, q.exclusive, as_events(events)
        if family is not None:
            names = family.names
            exclusive = family.structure(q.n_classes, q.class_names) == "partition"
        lower, upper = compute(bounds, q).parts
        made = Intervals(lower, upper, exclusive=exclusive, class_names=names)
        return made.with_values(ids=q.ids)

    def with_valid_values(self) -> Self:
        low, high = without_gradient(self.lower), without_gradient(self.upper)
        if not values_known(low) or not values_known(high) or 0 in low.shape:
            return self
        xp, tolerance = namespace(low), SUM_TOLERANCE[dtype_name(low)]
        check_range(low, "lower", tolerance, "Ensemble")
        check_range(high, "upper", tolerance, "Ensemble")
        if xp.any(low > high):
            raise InputError(
                f"`lower` must not be above `upper`; it is by up to {float(xp.max(low - high)):.4g}"
            )
        least, most = xp.max(xp.sum(low, axis=-1)), xp.min(xp.sum(high, axis=-1))
        if self.exclusive and (least > 1 + tolerance or most < 1 - tolerance):
            raise InputError(
                "`lower` and `upper` must leave probabilities that sum to 1: lower bounds that sum "
                f"to at most 1 (got up to {float(least):.6g}), upper ones to at least 1 (got down "
                f"to {float(most):.6g}). If each interval stands for itself, or labels may occur "
                "together, pass exclusive=False; quantiles of members must be farther apart"
            )
        return self

    def marginal(self, events: Family | None = None) -> Interval:
        """The exact bounds of each event."""
        xp, family = namespace(self.lower), as_events(events)
        low, high = at_most_one(self.lower), at_most_one(self.upper)
        if not self.exclusive:
            if family is not None:
                raise no_events(self)
            center = (low + high) / 2
            return Interval((low, 1 - low), (high, 1 - high), (center, 1 - center))
        least, most = [xp.sum(x, axis=-1, keepdims=True) for x in (low, high)]
        free = most - least
        share = (1 - least) / xp.where(free > 0, free, xp.ones_like(free))
        share = xp.minimum(xp.maximum(share, 0 * free), xp.ones_like(free))

        def sums(x: Array) -> Pair:
            return sums_inside_and_outside(x, family, self.class_names)

        def bounds(low: Array, high: Array, others: Pair) -> Pair:
            """Those of a set of classes, given the sums of theirs: the others leave some, too."""
            lowest = xp.maximum(low, 1 - others[1])
            return lowest, xp.maximum(lowest, xp.minimum(high, 1 - others[0]))

        (low_in, low_rest), (high_in, high_rest) = sums(low), sums(high)
        others_of_in, others_of_rest = (low_rest, high_rest), (low_in, high_in)
        if family is not None and family.given is not None:  # some classes are on neither side
            others_of_in = least - low_in, most - high_in
            others_of_rest = least - low_rest, most - high_rest
        low_in, high_in = bounds(low_in, high_in, others_of_in)
        low_rest, high_rest = bounds(low_rest, high_rest, others_of_rest)
        return Interval(
            conditional_event_shares(low_in, high_rest),
            conditional_event_shares(high_in, low_rest),
            conditional_event_shares(*sums(low + share * (high - low))),
        )

    def sample(self, n: int, *, rng: Rng = None) -> NoReturn:
        """Refused: a set of probabilities does not say which of them are likely."""
        raise InputError(
            "Intervals say between which bounds probabilities lie, not how likely each is: there "
            "is nothing to sample or to integrate. Use lw.decompose(q)"
        )
