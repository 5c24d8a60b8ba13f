"""Ways to a second-order prediction: deep ensembles, MC dropout, evidential networks, Laplace, scikit-learn.

Nothing is loaded before it is used, so that scikit-learn users need no torch and the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazily

_NAMES = {
    "networks": ("CNN", "MLP", "ResNet", "resnet18", "resnet50"),
    "recipes": ("Recipe", "find_recipe"),
    "training": ("FittedEnsemble", "fit_ensemble", "load_ensemble"),
    "prediction": ("predict_ensemble",),
    "evidential": ("Evidence", "annealing", "evidential_loss", "fit_evidential", "predict_evidential"),
    "laplace": ("LastLayerLaplace", "fit_laplace"),
    "sklearn": ("LabelwiseClassifier",),
    "models": ("from_models",),
}
"""The public names of each module."""

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
    __getattr__, __dir__ = lazily(__name__, {name: module for module, names in _NAMES.items() for name in (module, *names)})
