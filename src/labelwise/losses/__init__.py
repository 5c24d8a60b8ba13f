r"""Proper losses φ for one binary outcome, and what follows from them: entropy and divergence.

A loss scores a forecast of a binary outcome, φ(forecast, y). Its expectation under Y ~ θ, Eq. (7),
is smallest at the forecast θ itself when φ is proper. What is left there is the generalized entropy
G(θ) = φ(θ, θ), a concave function; what a forecast m costs beyond it is the Bregman divergence
D(θ‖m) = φ(m, θ) − G(θ). Total, aleatoric and epistemic uncertainty are G of the mean, the mean of G
and the mean of D (`labelwise.decomposition`).

All methods take the probability ``t`` of an event with its complement ``c``: near t = 1 the
complement carries the digits that 1 − t has lost. To add a loss, write ``phi``, ``entropy`` and
``divergence`` (see CONTRIBUTING).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from .._suggestions import suggest
from .base import Expectation, Loss
from .beta import BetaLoss
from .classic import LogLoss, SphericalLoss, SquaredLoss
from .cost import CostLoss, ZeroOneLoss
from .custom import CustomLoss, ProperCheck, check_proper

__all__ = [
    "BetaLoss",
    "CostLoss",
    "CustomLoss",
    "Expectation",
    "LogLoss",
    "Loss",
    "LossName",
    "ProperCheck",
    "SphericalLoss",
    "SquaredLoss",
    "ZeroOneLoss",
    "as_loss",
    "check_proper",
]

LossName: TypeAlias = Literal["log", "squared", "brier", "spherical", "zero_one"]
"""The losses that have a name."""
_NAMES: dict[str, Loss] = {
    "log": LogLoss(),
    "squared": SquaredLoss(),
    "brier": SquaredLoss(),
    "spherical": SphericalLoss(),
    "zero_one": ZeroOneLoss(),
}


def as_loss(loss: Any) -> Loss:
    """The loss with this name; a `Loss` is returned unchanged."""
    if isinstance(loss, Loss):
        return loss
    rule = "`loss` must be one of 'log', 'squared', 'spherical', 'zero_one' or a Loss"
    if isinstance(loss, str):
        if loss in _NAMES:
            return _NAMES[loss]
        meant = next((name for words, name in _MEANT.items() if loss.lower() in words), None)
        raise ValueError(
            f"{rule}; got {loss!r}"
            + (f". Did you mean {meant}?" if meant else suggest(loss, list(_NAMES)))
        )
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise TypeError(
            f"{rule}; got the class {loss.__name__}. Instantiate it: lw.{loss.__name__}(...)"
        )
    kind = loss if isinstance(loss, type) else type(loss)
    if kind.__module__.startswith("labelwise.joint"):
        use = (
            f"Instantiate it: lw.joint.{kind.__name__}(...)"
            if kind is loss
            else "Use it with lw.joint.decompose(q, loss)"
        )
        raise TypeError(f"{rule}; got {kind.__name__}, a joint loss for all classes. {use}")
    if len(getattr(loss, "shape", ())) == 2 or (
        isinstance(loss, list | tuple) and loss and all(isinstance(x, list | tuple) for x in loss)
    ):
        raise TypeError(
            f"{rule}; got a matrix. The costs of each true class and choice are a joint loss for "
            "all classes: "
            "lw.joint.decompose(q, lw.joint.CostMatrix(costs)). Those of single labels are "
            "lw.CostLoss(false_positive, false_negative)"
        )
    if callable(loss):
        raise TypeError(
            f"{rule}; got the function {getattr(loss, '__name__', loss)!r}. Wrap your own "
            "φ(forecast, y): lw.CustomLoss(phi)"
        )
    raise TypeError(f"{rule}; got {loss!r}")


_MEANT = {
    (
        "entropy",
        "cross_entropy",
        "cross-entropy",
        "crossentropy",
        "nll",
        "mi",
        "mutual_information",
        "bce",
    ): "'log'",
    ("variance", "var", "mse", "quadratic", "square"): "'squared'",
    ("0-1", "0/1", "01", "error", "accuracy"): "'zero_one'",
    ("cost", "costs"): "lw.CostLoss(false_positive=..., false_negative=...)",
    (
        "cost_matrix",
        "cost matrix",
        "costmatrix",
    ): "lw.joint.CostMatrix(costs) with lw.joint.decompose",
    ("beta", "boosting"): "lw.BetaLoss(a, b)",
    ("custom",): "lw.CustomLoss(phi)",
}
"""Other names of the losses."""
