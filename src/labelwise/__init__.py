"""Label-wise aleatoric and epistemic uncertainty of a classifier: how sure is it, about which classes, and why?"""

from __future__ import annotations

import importlib
from typing import Any

from . import events
from ._engine.kernel import kernel_info
from .accumulator import Accumulator
from .decomposition import Components, Uncertainty, decompose
from .distributions import Dirichlet, DirichletMixture, Distribution, Ensemble, LogisticNormal, MultiLabelEnsemble
from .losses import (
    BetaLoss,
    CostLoss,
    CustomLoss,
    LogLoss,
    Loss,
    ProperCheck,
    SphericalLoss,
    SquaredLoss,
    ZeroOneLoss,
    check_proper,
)

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "BetaLoss",
    "Components",
    "CostLoss",
    "CustomLoss",
    "Dirichlet",
    "DirichletMixture",
    "Distribution",
    "Ensemble",
    "LogLoss",
    "LogisticNormal",
    "Loss",
    "MultiLabelEnsemble",
    "ProperCheck",
    "SphericalLoss",
    "SquaredLoss",
    "Uncertainty",
    "ZeroOneLoss",
    "check_proper",
    "decompose",
    "events",
    "from_models",
    "kernel_info",
]

# Imported when first used, so that `import labelwise` stays light.
_LATER = (
    "axioms",
    "calibration",
    "datasets",
    "decisions",
    "evaluation",
    "io",
    "joint",
    "metrics",
    "paper",
    "plots",
    "predictors",
    "report",
    "sets",
)
_FUNCTIONS = {"load_predictions": "io.load", "quantify": "io.quantify", "save_predictions": "io.save"}


def __getattr__(name: str) -> Any:
    if name == "from_models":
        return importlib.import_module(f"{__name__}.predictors.models").from_models
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_LATER, *_FUNCTIONS])
