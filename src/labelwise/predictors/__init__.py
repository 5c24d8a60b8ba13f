"""Ways to a second-order prediction: deep ensembles, MC dropout, evidential networks, Laplace, scikit-learn.

Nothing is loaded before it is used, so that scikit-learn users need no torch and the other way round.
"""

from __future__ import annotations

import importlib
from typing import Any

# Public name -> the module of this package that has it.
_WHERE = {
    "CNN": "networks",
    "MLP": "networks",
    "ResNet": "networks",
    "resnet18": "networks",
    "resnet50": "networks",
    "Recipe": "recipes",
    "find_recipe": "recipes",
    "FittedEnsemble": "training",
    "fit_ensemble": "training",
    "load_ensemble": "training",
    "predict_ensemble": "prediction",
    "Evidence": "evidential",
    "annealing": "evidential",
    "evidential_loss": "evidential",
    "fit_evidential": "evidential",
    "predict_evidential": "evidential",
    "LastLayerLaplace": "laplace",
    "fit_laplace": "laplace",
    "LabelwiseClassifier": "sklearn",
    "from_models": "models",
}

# Library that may be missing, which is also the name of the extra that brings it -> what it is called.
_EXTRAS = {"torch": "torch", "sklearn": "scikit-learn"}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE and name not in _WHERE.values():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_WHERE.get(name, name)}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        raise ImportError(f'{name} needs {_EXTRAS[missing]}; install it with: pip install "labelwise[{missing}]"') from error
    return getattr(module, name) if name in _WHERE else module


def __dir__() -> list[str]:
    return sorted({*_WHERE, *_WHERE.values()})
