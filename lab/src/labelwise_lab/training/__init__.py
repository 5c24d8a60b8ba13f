"""Deep ensembles: networks, recipes, training that can be interrupted, and prediction."""

from __future__ import annotations

from .fitting import FittedEnsemble, fit_ensemble, load_ensemble
from .networks import CNN, MLP, ResNet, resnet18, resnet50
from .prediction import predict_ensemble
from .recipes import Recipe, find_recipe

__all__ = [
    "CNN",
    "MLP",
    "FittedEnsemble",
    "Recipe",
    "ResNet",
    "find_recipe",
    "fit_ensemble",
    "load_ensemble",
    "predict_ensemble",
    "resnet18",
    "resnet50",
]
