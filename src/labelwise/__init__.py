"""Label-wise aleatoric and epistemic uncertainty of a classifier: how sure is it, about which
classes, and why?
"""

from __future__ import annotations

# isort: off
# first, so that Ctrl-C ends the command quietly while the others are imported
from . import _interrupts  # noqa: F401

# isort: on
from typing import TYPE_CHECKING

from . import events
from ._engine.kernel import kernel_info
from ._errors import InputError
from ._lazy import lazily
from .accumulator import Accumulator
from .decomposition import decompose, median_deviation
from .distributions import (
    Dirichlet,
    DirichletMixture,
    Distribution,
    Ensemble,
    Intervals,
    LogisticNormal,
    MultiLabelEnsemble,
)
from .losses import (
    BetaLoss,
    CostLoss,
    CustomLoss,
    LogLoss,
    Loss,
    SphericalLoss,
    SquaredLoss,
    ZeroOneLoss,
    check_proper,
)

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "BetaLoss",
    "CostLoss",
    "CustomLoss",
    "Dirichlet",
    "DirichletMixture",
    "Distribution",
    "Ensemble",
    "InputError",
    "Intervals",
    "LogLoss",
    "LogisticNormal",
    "Loss",
    "MultiLabelEnsemble",
    "SphericalLoss",
    "SquaredLoss",
    "ZeroOneLoss",
    "check_ensemble",
    "check_proper",
    "decompose",
    "events",
    "from_models",
    "kernel_info",
    "load_predictions",
    "median_deviation",
    "quantify",
    "save_predictions",
]

_MODULES = (
    "axioms",
    "calibration",
    "decisions",
    "demo",
    "dense",
    "evaluation",
    "io",
    "joint",
    "metrics",
    "models",
    "plots",
    "report",
    "sets",
    "typing",
)
if TYPE_CHECKING:  # the same names for type checkers
    from . import (  # noqa: F401
        axioms,
        calibration,
        decisions,
        demo,
        dense,
        evaluation,
        io,
        joint,
        metrics,
        models,
        plots,
        report,
        sets,
        typing,
    )
    from .evaluation.ensemble_health import check_ensemble as check_ensemble
    from .io.load import load_predictions as load_predictions
    from .io.quantify import quantify as quantify
    from .io.save import save_predictions as save_predictions
    from .models.predict import from_models
else:
    __getattr__, _later = lazily(
        __name__,
        dict(zip(_MODULES, _MODULES, strict=True))
        | {
            "check_ensemble": "evaluation.ensemble_health",
            "from_models": "models.predict",
            "load_predictions": "io.load",
            "quantify": "io.quantify",
            "save_predictions": "io.save",
        },
    )

    def __dir__() -> list[str]:
        return sorted({*__all__, *_later()})
