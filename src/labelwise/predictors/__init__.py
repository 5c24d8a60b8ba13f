"""Ways to a second-order prediction: deep ensembles, MC dropout, evidential networks, Laplace, scikit-learn.

Nothing is loaded before it is used, so that scikit-learn users need no torch and the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazily

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

__all__ = [
    "CNN",
    "MLP",
    "Evidence",
    "FittedEnsemble",
    "LabelwiseClassifier",
    "LastLayerLaplace",
    "Recipe",
    "ResNet",
    "annealing",
    "evidential_loss",
    "find_recipe",
    "fit_ensemble",
    "fit_evidential",
    "fit_laplace",
    "from_models",
    "load_ensemble",
    "predict_ensemble",
    "predict_evidential",
    "resnet18",
    "resnet50",
]

if TYPE_CHECKING:  # the same names for type checkers
    from .evidential import Evidence, annealing, evidential_loss, fit_evidential, predict_evidential
    from .laplace import LastLayerLaplace, fit_laplace
    from .models import from_models
    from .networks import CNN, MLP, ResNet, resnet18, resnet50
    from .prediction import predict_ensemble
    from .recipes import Recipe, find_recipe
    from .sklearn import LabelwiseClassifier
    from .training import FittedEnsemble, fit_ensemble, load_ensemble
else:
    __getattr__, __dir__ = lazily(__name__, _WHERE | {module: module for module in _WHERE.values()})
