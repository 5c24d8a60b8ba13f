"""Ways to a second-order prediction: deep ensembles, MC dropout, evidential networks, Laplace, scikit-learn.

Nothing is loaded before it is used, so that scikit-learn users need no torch and the other way round.
"""

from __future__ import annotations

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

__all__ = sorted(_WHERE)

__getattr__, __dir__ = lazily(__name__, _WHERE | {module: module for module in _WHERE.values()})
