"""Uncertainty measures to check: functions from a second-order distribution to (TU, AU, EU).

A measure returns TU, AU and EU of each instance as contributions of shape (3, ..., L), to be
summed: L = K for label-wise measures, L = 1 for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._arrays import to_numpy
from ..decomposition import decompose
from ..distributions import Dirichlet, Ensemble
from ..losses import CostLoss, Loss, LossName, as_loss

Q = Ensemble | Dirichlet


@dataclass(frozen=True)
class Measure:
    """A measure of uncertainty with its name."""

    name: str
    contributions: Callable[[Q], np.ndarray]
    """TU, AU and EU of each instance, (3, ..., L), to be summed over the last axis."""
    loss: Any = None
    n_classes: int | None = None
    """The number of classes, if it is fixed (costs by class)."""

    def merged(self, part: Sequence[int]) -> Measure:
        """The same measure after all classes outside ``part`` were merged into one, the last.

        The merged class has the highest cost of its classes.
        """
        if self.n_classes is None:
            return self
        rest = [k for k in range(self.n_classes) if k not in part]
        costs: list[Any] = []
        for cost in (self.loss.false_positive, self.loss.false_negative):
            costs.append(np.append(cost[list(part)], cost[rest].max()) if np.ndim(cost) else cost)
        return _measure_of_loss(CostLoss(*costs), len(part) + 1)


def _measure_of_loss(loss: Loss, n_classes: int | None = None) -> Measure:
    """The sum over the labels under one loss, Eqs. (12)–(14)."""

    def contributions(q: Q) -> np.ndarray:
        u = decompose(q, loss)
        return np.stack([u.total, u.aleatoric, u.epistemic])

    return Measure(f"{loss.name} loss", contributions, loss, n_classes)


def _measure_of_function(function: Callable[[Q], Any], name: str) -> Measure:
    """A measure of the whole distribution, such as the joint entropy."""

    def contributions(q: Q) -> np.ndarray:
        u = function(q)
        values = np.stack([to_numpy(x).astype(float) for x in (u.total, u.aleatoric, u.epistemic)])
        if not np.all(np.isfinite(values)):
            raise ValueError(f"the axioms need finite measures; {name} returned NaN or infinity")
        return values[..., None]

    rule = (
        "`loss` as a function must take a distribution and return its total, aleatoric and "
        "epistemic uncertainty as lw.typing.Components"
    )
    try:
        values = contributions(Ensemble(np.array([[[0.4, 0.6]] * 3, [[0.7, 0.3]] * 3])))
    except (TypeError, AttributeError) as error:
        raise TypeError(
            f"{rule}; got {error}. To use your own loss φ(forecast, y), wrap it: lw.CustomLoss(phi)"
        ) from error
    if values.shape != (3, 3, 1):
        raise ValueError(
            f"{rule}, one value per instance; got arrays of shape {values.shape[1:-1]} for 3 "
            "instances. "
            "Sum over the labels: lw.decompose(q, loss).sum()"
        )
    return Measure(name, contributions)


def as_measure(loss: LossName | Literal["joint"] | Loss | Callable[[Q], Any]) -> Measure:
    """The measure given by a loss, its name, ``"joint"`` or a function of Q."""
    if isinstance(loss, str) and loss == "joint":
        from .. import joint

        return _measure_of_function(joint.decompose, "joint entropy")
    if callable(loss) and not isinstance(loss, Loss):
        name = getattr(loss, "__name__", type(loss).__name__)
        return _measure_of_function(loss, "measure" if name == "<lambda>" else name)
    loss = as_loss(loss)
    if not isinstance(loss, CostLoss):
        return _measure_of_loss(loss)
    for side in (loss.false_positive, loss.false_negative):
        if isinstance(side, Mapping):
            loss = loss.bind(tuple(side))
            break
    both: Any = (loss.false_positive, loss.false_negative)  # without names by now
    costs = np.broadcast(*both)
    if not costs.ndim:
        return _measure_of_loss(loss)
    if costs.size < 2:
        raise ValueError(f"costs by class need at least 2 classes; got {costs.size}")
    return _measure_of_loss(loss, costs.size)
