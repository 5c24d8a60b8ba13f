"""Fitted scikit-learn models, and whatever follows their interface, member by member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from ._adapter import Adapter, check_model_classes_agree, each_model, predict_all_classes
from ._batches import Batch
from .sklearn import LabelwiseClassifier

FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
WITH_MEMBERS = (
    *FORESTS, BaggingClassifier, VotingClassifier, CalibratedClassifierCV, LabelwiseClassifier,
)  # fmt: skip


def sklearn_adapter(models: Sequence[Any], *, single: bool) -> Adapter:
    """One ensemble by its members, or each model as one member; classes that a model has not seen
    have probability 0.
    """
    for model in models:
        _check_estimator(model)
    inner, transformers = _unwrap_estimator(models[0])
    if single and isinstance(inner, WITH_MEMBERS):
        names, weights = _voters(inner)
        return Adapter(
            lambda batch: _predict_members(inner, transformers, batch.only),
            "probabilities",
            tuple(map(str, inner.classes_)),
            weights=weights,
            member_names=names,
        )
    known = []
    for model in models:
        if not hasattr(model, "predict_proba"):
            raise TypeError(_without_predict_proba(model))
        known.append(model.classes_)
    check_model_classes_agree(known)
    if len({isinstance(names[0], str) for names in known}) > 1:  # numbers, and the same as text
        known = [np.asarray(names).astype(str) for names in known]
    classes = np.unique(np.concatenate(known))

    def predict(model: Any, batch: Batch) -> np.ndarray:
        return predict_all_classes(model, batch.only, classes)

    return Adapter(each_model(models, predict), "probabilities", tuple(map(str, classes)))


def _unwrap_estimator(model: Any) -> tuple[Any, list[Pipeline]]:
    """The model inside searches and at the end of pipelines, and the transformers before it."""
    transformers = []
    while True:
        if isinstance(model, Pipeline):
            if len(model) > 1:
                transformers.append(model[:-1])
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model, transformers


def _check_estimator(model: Any) -> None:
    if isinstance(model, type):
        raise TypeError(
            f"`model` must be a fitted model; got the class {model.__name__}. Call it and fit it "
            "first"
        )
    inner, _ = _unwrap_estimator(model)
    name = type(inner).__name__
    if isinstance(inner, BaseEstimator) and is_regressor(inner):
        raise TypeError(
            f"`model` must be a classifier; {name} is a regressor, and label-wise uncertainty is "
            "about classes"
        )
    if isinstance(inner, VotingClassifier) and inner.voting != "soft":
        raise ValueError(
            "`model` votes with labels (voting='hard'), which have no probabilities. Fit it with "
            "voting='soft'"
        )
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    # Of several outcomes a list; `n_outputs_` counts the output units of an MLPClassifier.
    classes = getattr(inner, "classes_", None)
    if isinstance(classes, list) and len(classes) > 1:
        raise ValueError(
            f"`model` must predict one outcome; this {name} has {len(classes)} outputs. Fit one "
            "for each"
        )


def _predict_members(model: Any, transformers: list[Pipeline], X: Any) -> list[np.ndarray]:
    """The probabilities of each member, with a column for every class of the ensemble."""
    for transformer in transformers:
        X = transformer.transform(X)
    if isinstance(model, LabelwiseClassifier):
        return list(model.predict_distribution(X).probs)
    if isinstance(model, CalibratedClassifierCV):  # which gives all members all its classes
        return [member.predict_proba(X) for member in model.calibrated_classifiers_]
    if not isinstance(model, VotingClassifier):  # whose members check the values, as these do
        kind = np.float32 if isinstance(model, FORESTS) else None
        X = validate_data(
            model,
            X,
            accept_sparse=["csr", "csc"],
            dtype=kind,
            ensure_all_finite=False,
            reset=False,
        )
    for member in model.estimators_:
        if not hasattr(member, "predict_proba"):
            raise ValueError(f"the members of {_without_predict_proba(member)}")
    # All fit their members on encoded labels: a member's classes_ are positions in the ensemble's.
    positions = np.arange(len(model.classes_))
    tasks = []
    for i, member in enumerate(model.estimators_):
        seen = X
        if isinstance(model, BaggingClassifier):
            seen = X[:, model.estimators_features_[i]]
        tasks.append(delayed(predict_all_classes)(member, seen, positions))
    return list(Parallel(n_jobs=model.n_jobs, require="sharedmem")(tasks))


def _voters(model: Any) -> tuple[list[str] | None, list[float] | None]:
    """The names and the weights of those who vote, if they have any."""
    if not isinstance(model, VotingClassifier):
        return None, None
    kept = [i for i, (_, member) in enumerate(model.estimators) if member != "drop"]
    weights = model.weights
    if weights is not None:
        weights = [weights[i] for i in kept]
    return [model.estimators[i][0] for i in kept], weights


def _without_predict_proba(model: Any) -> str:
    return (
        f"`model` must have predict_proba; {type(model).__name__} has none. Wrap it in "
        "sklearn.calibration.CalibratedClassifierCV and fit again"
    )
