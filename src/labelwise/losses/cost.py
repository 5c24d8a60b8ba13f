"""Costs of wrong decisions as a loss; equal costs give the error rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, Pair, dtype_name, like, namespace, not_negative
from .._cached import cached_property
from .._errors import InputError, suggest
from .._frames import series_as_mapping
from .base import Expectation, Loss, loss_of_outcome, with_complement, with_complements

DEFAULT = 1.0
"""The cost of a class that a mapping of costs does not name."""


@dataclass(frozen=True)
class CostLoss(Loss):
    r"""Cost of the best act / don't-act decision about a label, in any unit.

    With false-positive cost a and false-negative cost b, acting costs a(1−t) on average and not
    acting b·t:

    .. math:: G(t) = \min(b t,\ a (1-t)), \qquad
              \mathrm{EU} = \min(\mathbb{E} R^+, \mathbb{E} R^-), \quad R = b\Theta - a(1-\Theta)

    Proper, not strictly: EU is 0 whenever everything plausible leads to the same decision. Costs
    are numbers, or mappings from class (or event) names to numbers, where classes that are not
    named cost 1: ``CostLoss(1, {"melanoma": 20})``.

    >>> loss = CostLoss(false_positive=1, false_negative=9)   # missing it is nine times worse
    >>> float(loss.entropy(0.3)), float(loss.entropy(0.05))   # act, don't act
    (0.7, 0.45)
    """

    false_positive: float | Mapping[str, float]
    false_negative: float | Mapping[str, float]
    name: ClassVar[str] = "cost"

    def __post_init__(self) -> None:
        for side in ("false_positive", "false_negative"):
            cost = series_as_mapping(getattr(self, side), side)
            if isinstance(cost, Mapping):
                for key, value in cost.items():
                    _check_cost_of_loss(value, f"`{side}` of {key!r}", single=True)
            else:
                _check_cost_of_loss(cost, f"`{side}`", single=False)
            if isinstance(cost, np.ndarray | dict):
                cost = cost.copy()  # a change of the caller's must not change this loss
            object.__setattr__(self, side, cost)

    @cached_property
    def per_event(self) -> bool:
        costs = self.false_positive, self.false_negative
        return any(isinstance(cost, Mapping) or np.ndim(cost) for cost in costs)

    def bind(self, names: Sequence[str]) -> CostLoss:
        """The same costs in the order of the events ``names``."""
        costs: dict[str, Any] = {}
        for side in ("false_positive", "false_negative"):
            cost = getattr(self, side)
            if isinstance(cost, Mapping):
                for key in cost:
                    if key not in names:
                        raise InputError(
                            f"`{side}` names {key!r}, which is not a class or "
                            f"event{suggest(key, names)}"
                        )
                costs[side] = np.asarray([cost.get(name, DEFAULT) for name in names], float)
            elif np.ndim(cost) and np.shape(cost) != (len(names),):
                raise InputError(
                    f"`{side}` must give one cost per class, shape ({len(names)},); got shape "
                    f"{np.shape(cost)}. "
                    f"Better give them by name: {{{names[0]!r}: ..., ...}}"
                )
        if not costs:
            return self
        return replace(self, **costs)

    def _costs(self, x: Array) -> Pair:
        if isinstance(self.false_positive, Mapping) or isinstance(self.false_negative, Mapping):
            raise InputError(
                "costs given by name need the names: use lw.decompose with `class_names`, or "
                "loss.bind(names)"
            )
        return like(self.false_positive, x), like(self.false_negative, x)

    def phi(self, forecast: Array, y: int) -> Array:
        forecast, c = with_complement(forecast)
        a, b = self._costs(forecast)
        act = self._should_act(forecast, c)
        of_acting, of_not = loss_of_outcome(y, 0 * a, a), loss_of_outcome(y, b, 0 * b)
        return namespace(forecast).where(act, of_acting, of_not) + 0 * forecast

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = with_complement(t, c)
        a, b = self._costs(t)
        # not the minimum: where both cost the same, its derivative is one that neither side has
        return namespace(t).where(self._should_act(t, c), a * c, b * t)

    def _should_act(self, t: Array, c: Array) -> Array:
        """Whether b·t > a·c, decided without rounding: by the smaller of t and c against its exact
        share of the costs.
        """
        xp = namespace(t)
        _, _, below, above = _cost_loss_table(*self._per_event, dtype_name(t))
        if len(below) == 1:  # the same for all events, of which there may be no axis
            below, above = below[0], above[0]
        return xp.where(t <= c, t > like(below, t), c < like(above, t))

    @cached_property
    def _per_event(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Both costs of each event; of all, if they are the same."""
        costs: Any = self.false_positive, self.false_negative
        a, b = np.broadcast_arrays(*np.atleast_1d(*costs))
        return tuple(a.tolist()), tuple(b.tolist())

    def table(self, n: int, dtype: str) -> np.ndarray:
        """For each of ``n`` events both costs and both edges of the decision, (4, n)."""
        table = _cost_loss_table(*self._per_event, "float64" if dtype == "float64" else "float32")
        if table.shape[1] == n:
            return table
        return np.broadcast_to(table, (4, n))

    def regrets(self, t: Array, c: Array) -> Pair:
        """Regret of not acting and of acting."""
        xp = namespace(t)
        a, b = self._costs(t)
        r = b * t - a * c
        act = self._should_act(t, c)
        return not_negative(xp.where(act, r, 0 * r)), not_negative(xp.where(act, 0 * r, -r))

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        t, m, c, mc, d = with_complements(t, m, c, mc, d)
        do_not_act, act = self.regrets(t, c)
        return namespace(t).where(self._should_act(m, mc), act, do_not_act)

    def epistemic(self, expect: Expectation, mt: Array, mc: Array) -> Array:
        """min(E R⁺, E R⁻): exactly 0 when everything is on one side, whatever the mean rounds
        to.
        """
        do_not_act = expect(lambda t, c, d: self.regrets(t, c)[0])
        act = expect(lambda t, c, d: self.regrets(t, c)[1])
        return namespace(mt).minimum(do_not_act, act)

    def minimax_regret(self, t: Array, c: Array, u: Array, uc: Array) -> Array:
        """(a+b)(u−t*)(t*−t)/(u−t) with the threshold t* = a/(a+b), by drawing one of the two
        actions; 0 where one is best throughout.
        """
        leave, act = self.regrets(u, uc)[0], self.regrets(t, c)[1]
        both = leave + act
        return leave * act / namespace(t).where(both > 0, both, 1 + both)

    @property
    def peak(self) -> Any:
        return self.kink

    @property
    def maximum(self) -> Any:
        largest = self._costs(np.zeros(()))[1] * self.kink  # by t*, for 1 − t* has lost digits
        return largest if largest.ndim else float(largest)

    @property
    def kink(self) -> Array:
        a, b = self._costs(np.zeros(()))
        both = a + b
        return np.where(both > 0, a / np.where(both > 0, both, 1), 0.5)


def _check_cost_of_loss(value: Any, where: str, *, single: bool) -> None:
    """Refuse what is no finite cost, or several where a ``single`` one belongs."""
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iuf" or (numbers.ndim and single):
        raise TypeError(
            f"{where} must be a number; got {value!r}. Costs per class are given by "
            f"name: {{'melanoma': 9, ...}}"
        )
    if not np.all(np.isfinite(numbers)) or np.any(numbers < 0):
        raise InputError(
            f"{where} must be a finite cost, not negative; got {value!r}. Express a "
            "gain by lowering the alternative's cost"
        )


@dataclass(frozen=True)
class ZeroOneLoss(CostLoss):
    r"""Error rate of the better of two decisions: :math:`G(t) = \min(t, 1-t)`, `CostLoss` with both
    costs 1.
    """

    false_positive: float = field(default=1.0, init=False)
    false_negative: float = field(default=1.0, init=False)
    name: ClassVar[str] = "zero_one"


@lru_cache(maxsize=64)  # fractions are slow
def _cost_loss_table(a: tuple[float, ...], b: tuple[float, ...], dtype: str) -> np.ndarray:
    """Both costs, a/(a+b) rounded down and b/(a+b) rounded up to numbers of the dtype, so that a
    comparison with them decides exactly: the largest t with t ≤ a/(a+b), the smallest such c.
    """
    number = np.dtype(dtype).type

    def rounded_down(exact: Fraction) -> float:
        nearest = number(float(exact))
        if Fraction(float(nearest)) > exact:
            nearest = np.nextafter(nearest, number(-2))
        return float(nearest)

    below, above = [], []
    for cost, other in zip(a, b, strict=True):
        whole = Fraction(cost) + Fraction(other)
        share = Fraction(1, 2)  # where both are 0
        if whole:
            share = Fraction(cost) / whole
        below.append(rounded_down(share))
        above.append(-rounded_down(share - 1))
    return np.array([a, b, below, above])
