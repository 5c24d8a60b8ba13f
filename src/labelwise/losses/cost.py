"""Costs of acting wrongly as a loss; the error rate is the case of equal costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, like, namespace
from .._words import suggest
from .base import Expectation, Loss, complete, complete_two, not_negative, pick


@dataclass(frozen=True)
class CostLoss(Loss):
    r"""What the best act / don't-act decision about a label costs, in the user's own unit.

    With false-positive cost a and false-negative cost b, acting costs a(1−t) on average and not acting b·t:

    .. math:: G(t) = \min(b t,\ a (1-t)), \qquad \mathrm{EU} = \min(\mathbb{E} R^+, \mathbb{E} R^-), \quad R = b\Theta - a(1-\Theta)

    Proper, not strictly: EU is 0 whenever everything plausible leads to the same decision. Costs are numbers, or
    mappings from class (or event) names to numbers.

    >>> loss = CostLoss(false_positive=1, false_negative=9)   # missing it is nine times worse
    >>> float(loss.entropy(0.3)), float(loss.entropy(0.05))   # act, don't act
    (0.7, 0.45)
    """

    false_positive: float | Mapping[str, float]
    false_negative: float | Mapping[str, float]
    name: ClassVar[str] = "cost"
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for side in ("false_positive", "false_negative"):
            cost = getattr(self, side)
            for key, value in cost.items() if isinstance(cost, Mapping) else [("", cost)]:
                where = f"`{side}`" + (f" of {key!r}" if key else "")
                numbers = np.asarray(value)
                if numbers.dtype.kind not in "iuf" or (numbers.ndim and key):
                    raise TypeError(f"{where} must be a number; got {value!r}. Costs per class are given by name: {{'melanoma': 9, ...}}")
                if not np.all(np.isfinite(numbers)) or np.any(numbers < 0):
                    raise ValueError(
                        f"{where} must be a finite cost, not negative; got {value!r}. A gain is a lower cost of the other side"
                    )

    def bind(self, names: Sequence[str]) -> CostLoss:
        """The same costs in the order of the events ``names``."""
        costs: dict[str, Any] = {}
        for side in ("false_positive", "false_negative"):
            cost = getattr(self, side)
            if isinstance(cost, Mapping):
                for key in cost:
                    if key not in names:
                        raise ValueError(f"`{side}` names {key!r}, which is not a class or event{suggest(key, names)}")
                missing = [name for name in names if name not in cost]
                if missing:
                    raise ValueError(f"`{side}` must give a cost for every class; missing: {', '.join(map(repr, missing[:5]))}")
                costs[side] = np.asarray([cost[name] for name in names], float)
        return replace(self, **costs) if costs else self

    def _costs(self, x: Array) -> tuple[Array, Array]:
        if isinstance(self.false_positive, Mapping) or isinstance(self.false_negative, Mapping):
            raise ValueError("costs given by name need the names: use lw.decompose with `names`, or loss.bind(names)")
        return like(self.false_positive, x), like(self.false_negative, x)

    def phi(self, forecast: Array, y: int) -> Array:
        forecast, c = complete(forecast, None)
        a, b = self._costs(forecast)
        xp = namespace(forecast)
        act = b * forecast >= a * c
        return xp.where(act, pick(y, 0 * a, a), pick(y, b, 0 * b)) + 0 * forecast

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = complete(t, c)
        a, b = self._costs(t)
        return namespace(t).minimum(b * t, a * c)

    def _regret(self, t: Array, c: Array, act: Array) -> Array:
        """What acting (or not, where ``act`` is false) costs more than the better decision."""
        a, b = self._costs(t)
        r = b * t - a * c
        return not_negative(namespace(t).where(act, -r, r))

    def divergence(self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None) -> Array:
        t, m, c, mc, d = complete_two(t, m, c, mc, d)
        a, b = self._costs(m)
        return self._regret(t, c, b * m >= a * mc)

    def epistemic(self, expect: Expectation, mt: Array, mc: Array) -> Array:
        """min(E R⁺, E R⁻): exactly 0 when everything is on one side, whatever the mean rounds to."""
        xp = namespace(mt)
        yes = xp.ones_like(mt) > 0
        act = expect(lambda t, c, d: self._regret(t, c, yes))
        do_not_act = expect(lambda t, c, d: self._regret(t, c, ~yes))
        return xp.minimum(act, do_not_act)

    @property
    def kink(self) -> Array:
        a, b = self._costs(np.zeros(()))
        return np.where(a + b > 0, a / np.where(a + b > 0, a + b, 1), 0.5)

    @property
    def maximum(self) -> Any:
        a, b = self._costs(np.zeros(()))
        largest = a * b / np.where(a + b > 0, a + b, 1)
        return float(largest) if np.ndim(largest) == 0 else largest


@dataclass(frozen=True)
class ZeroOneLoss(CostLoss):
    r"""Error rate of the better of two decisions: :math:`G(t) = \min(t, 1-t)`, `CostLoss` with both costs 1."""

    false_positive: float = field(default=1.0, init=False)
    false_negative: float = field(default=1.0, init=False)
    name: ClassVar[str] = "zero_one"
