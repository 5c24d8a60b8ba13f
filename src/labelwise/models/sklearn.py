"""scikit-learn: any classifier as an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import assert_all_finite, check_random_state, get_tags, resample
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ..distributions import Ensemble
from ._adapter import predict_all_classes


class LabelwiseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that tells how unsure it is about each class, within and between its members: M
    copies of any scikit-learn classifier.

    Parameters
    ----------
    estimator : classifier with predict_proba, optional
        Fitted ``n_members`` times, each time as a fresh clone. By default logistic regression on
        standardized features.
    n_members : int
        M, at least 2.
    bootstrap : bool
        Fit each member on its own sample with replacement, drawn within each class, so that no
        member misses one. ``False``: all members see all instances and differ by their
        ``random_state`` only; that makes sense for estimators that use it, such as forests and
        networks (logistic regression has one, but most of its solvers do not use it).
    random_state : int, RandomState or None
        Seeds the samples and every ``random_state`` of the members.
    n_jobs : int, optional
        Members that are fitted at the same time, as everywhere in scikit-learn.

    Attributes
    ----------
    classes_ : array (K,)
    estimators_ : list of the M fitted members
    n_features_in_ : int

    Examples
    --------
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["healthy", "healthy", "ill", "ill"]
    >>> model = LabelwiseClassifier(random_state=0).fit(X, y)
    >>> model.predict(X)
    array(['healthy', 'healthy', 'ill', 'ill'], dtype='<U7')
    >>> u = lw.decompose(model.predict_distribution(X))
    >>> u["ill"].epistemic.shape
    (4,)
    """

    def __init__(
        self,
        estimator: Any = None,
        n_members: int = 5,
        bootstrap: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_members = n_members
        self.bootstrap = bootstrap
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _base(self) -> Any:
        if self.estimator is None:
            return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base()).input_tags
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def fit(self, X: Any, y: Any) -> LabelwiseClassifier:
        """Fit the members on instances ``X`` (N, features) and labels ``y`` (N,)."""
        base = self._check_parameters()
        X = self._check_input(X, y, reset=True)
        check_consistent_length(X, y)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"`y` must have at least 2 classes; got {len(self.classes_)} class(es) in {len(y)} "
                "instances"
            )
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=self.n_members
        )
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_member)(base, X, y, codes, self.bootstrap, seed) for seed in seeds
        )
        # Refuses what it cannot use, also where its sample missed it.
        self.estimators_[0].predict_proba(X)
        return self

    def _check_input(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Number and names of the features. The members check the values: they may take tables,
        text and missing values.
        """
        if not (hasattr(X, "columns") or issparse(X)):
            X = np.asarray(X)
        if X.ndim != 1:
            validate_data(self, X, y, reset=reset, skip_check_array=True)
        return X

    def _check_parameters(self) -> Any:
        base = self._base()
        usable = not isinstance(base, type) and hasattr(base, "get_params") and is_classifier(base)
        if not usable or not hasattr(base, "predict_proba"):
            raise TypeError(
                "`estimator` must be a scikit-learn classifier with predict_proba, for instance "
                f"RandomForestClassifier(); got {base!r}. One without can be wrapped in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        m = self.n_members
        if not isinstance(m, int | np.integer) or m < 2:
            raise ValueError(
                "`n_members` must be an integer of at least 2 (one member says nothing about "
                f"epistemic uncertainty); got {m!r}"
            )
        name = "the default estimator" if self.estimator is None else type(base).__name__
        if not self.bootstrap and (self.estimator is None or not _random_state_parameters(base)):
            raise ValueError(
                f"without bootstrap all members would be the same: {name} has no `random_state` "
                "to vary. Set bootstrap=True, or choose another `estimator`"
            )
        return base

    def predict_distribution(self, X: Any) -> Ensemble:
        """The predictions of the members, `labelwise.Ensemble` with ``probs`` (M, N, K) and the
        classes as names.
        """
        check_is_fitted(self)
        X = self._check_input(X, reset=False)
        members = [predict_all_classes(member, X, self.classes_) for member in self.estimators_]
        names = tuple(map(str, self.classes_))
        return Ensemble(np.stack(members), member_axis=0, class_names=names)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the members' probabilities, (N, K)."""
        return self.predict_distribution(X).mean()

    def predict(self, X: Any) -> np.ndarray:
        """The class with the highest mean probability, (N,)."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]


def _random_state_parameters(estimator: Any) -> list[str]:
    """The names of all parameters that seed something, also those of the steps of a pipeline."""
    names = sorted(estimator.get_params())
    return [name for name in names if f"__{name}".endswith("__random_state")]


def _fit_member(
    base: Any, X: Any, y: np.ndarray, codes: np.ndarray, bootstrap: bool, seed: int
) -> Any:
    rng = check_random_state(seed)
    member = clone(base)
    for name in _random_state_parameters(member):
        member.set_params(**{name: int(rng.randint(np.iinfo(np.int32).max))})
    if bootstrap:
        X, y = resample(X, y, stratify=codes, random_state=rng)
    return member.fit(X, y)
