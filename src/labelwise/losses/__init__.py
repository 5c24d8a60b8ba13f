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

from .._errors import InputError, kind_of, suggest
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
        raise InputError(f"{rule}; got {loss!r}{suggest(loss, list(_NAMES))}")
    advice = ""
    if isinstance(loss, type):
        advice = ". Instantiate it"
    elif type(loss).__module__.startswith("labelwise.joint"):
        advice = ", a joint loss for all classes. Use it with lw.joint.decompose(q, loss)"
    elif callable(loss):
        advice = ". Wrap your own φ(forecast, y): lw.CustomLoss(phi)"
    raise TypeError(f"{rule}; got {kind_of(loss)}{advice}")
