r"""Proper losses φ for one binary outcome, and what follows from them: entropy and divergence.

A loss scores a forecast of a binary outcome, φ(forecast, y). Its expectation under Y ~ θ, Eq. (7), is smallest at the
forecast θ itself when φ is proper. What is left there is the generalised entropy G(θ) = φ(θ, θ), a concave function; what
a forecast m costs beyond it is the Bregman divergence D(θ‖m) = φ(m, θ) − G(θ). Total, aleatoric and epistemic
uncertainty are G of the mean, the mean of G and the mean of D (`labelwise.decomposition`).

All methods take the probability ``t`` of an event with its complement ``c``: near t = 1 the complement carries the
digits that 1 − t has lost. To add a loss, write ``phi``, ``entropy`` and ``divergence`` (see CONTRIBUTING).
"""

from __future__ import annotations

from .._words import suggest
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
    "ProperCheck",
    "SphericalLoss",
    "SquaredLoss",
    "ZeroOneLoss",
    "as_loss",
    "check_proper",
]


def as_loss(loss: str | Loss) -> Loss:
    """The loss a name stands for; a `Loss` is returned as it is."""
    names: dict[str, type[Loss]] = {
        "log": LogLoss,
        "squared": SquaredLoss,
        "brier": SquaredLoss,
        "spherical": SphericalLoss,
        "zero_one": ZeroOneLoss,
    }
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in names:
        return names[loss]()
    hint = suggest(loss, list(names)) if isinstance(loss, str) else ""
    if callable(loss):
        hint = ". Wrap your own function: lw.CustomLoss(phi)"
    raise ValueError(f"`loss` must be one of 'log', 'squared', 'spherical', 'zero_one' or a Loss; got {loss!r}{hint}")
