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
class LabelWise:
    """The sum over the labels under one loss, Eqs. (12)–(14)."""

    loss: Loss
    n_classes: int | None = None
    """The number of classes if it is fixed (costs by class)."""

    @property
    def name(self) -> str:
        return f"{self.loss.name} loss"

    def __call__(self, q: Q) -> np.ndarray:
        u = decompose(q, self.loss)
        return np.stack([u.total, u.aleatoric, u.epistemic])

    def merged(self, part: Sequence[int]) -> LabelWise:
        """The same measure after all classes outside ``part`` were merged into one, the last.

        The merged class has the highest cost of its classes.
        """
        if self.n_classes is None or not isinstance(self.loss, CostLoss):
            return self
        rest = [k for k in range(self.n_classes) if k not in part]

        def merge(cost: Any) -> Any:
            return np.append(cost[list(part)], cost[rest].max()) if np.ndim(cost) else cost

        return LabelWise(
            CostLoss(merge(self.loss.false_positive), merge(self.loss.false_negative)),
            len(part) + 1,
        )


@dataclass(frozen=True)
class Global:
    """A measure of the whole distribution, such as the joint entropy."""

    function: Callable[[Q], Any]
    name: str
    n_classes: int | None = None

    def __call__(self, q: Q) -> np.ndarray:
        u = self.function(q)
        values = np.stack([to_numpy(x).astype(float) for x in (u.total, u.aleatoric, u.epistemic)])
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"the axioms need finite measures; {self.name} returned NaN or infinity"
            )
        return values[..., None]

    def merged(self, part: Sequence[int]) -> Global:
        """The same measure, which does not depend on the classes."""
        return self


Measure = LabelWise | Global


def as_measure(loss: LossName | Literal["joint"] | Loss | Callable[[Q], Any]) -> Measure:
    """The measure given by a loss, its name, ``"joint"`` or a function of Q."""
    if isinstance(loss, str) and loss == "joint":
        from .. import joint

        return Global(joint.decompose, "joint entropy")
    if callable(loss) and not isinstance(loss, Loss):
        return _from_function(loss)
    loss = as_loss(loss)
    if not isinstance(loss, CostLoss):
        return LabelWise(loss)
    for side in (loss.false_positive, loss.false_negative):
        if isinstance(side, Mapping):
            loss = loss.bind(tuple(side))
            break
    n_classes = None
    for side in (loss.false_positive, loss.false_negative):
        costs = np.asarray(side)
        if costs.ndim:
            n_classes = costs.size
    if n_classes is not None and n_classes < 2:
        raise ValueError(f"costs by class need at least 2 classes; got {n_classes}")
    return LabelWise(loss, n_classes)


def _from_function(function: Callable[[Q], Any]) -> Global:
    rule = (
        "`loss` as a function must take a distribution and return its total, aleatoric and "
        "epistemic uncertainty as lw.typing.Components"
    )
    name = getattr(function, "__name__", type(function).__name__)
    measure = Global(function, "measure" if name == "<lambda>" else name)
    try:
        values = measure(Ensemble(np.array([[[0.4, 0.6]] * 3, [[0.7, 0.3]] * 3])))
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
    return measure
