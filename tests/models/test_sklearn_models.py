"""Fitted scikit-learn models, member by member."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import labelwise as lw
from labelwise._errors import InputError
from model_cases import X, Y
from optional_libraries import optional


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (RandomForestClassifier(7, random_state=0), 7),
        (ExtraTreesClassifier(6, random_state=0), 6),
        (BaggingClassifier(LogisticRegression(), 4, max_features=3, random_state=0), 4),
        (
            VotingClassifier(
                [("a", GaussianNB()), ("b", LogisticRegression())], voting="soft", weights=[1, 3]
            ),
            2,
        ),
        (GridSearchCV(RandomForestClassifier(5, random_state=0), {"max_depth": [2, 3]}, cv=2), 5),
        (CalibratedClassifierCV(LinearSVC(), cv=3), 3),
        (CalibratedClassifierCV(GaussianNB(), cv=3, ensemble=False), 1),
        (make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)), 5),
        (
            GridSearchCV(
                make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), cv=2)), {}, cv=2
            ),
            2,
        ),
        (lw.models.LabelwiseClassifier(n_members=3, random_state=0), 3),
        (HistGradientBoostingClassifier(max_iter=5), 1),
        (GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2), 1),
        (make_pipeline(StandardScaler(), GaussianNB()), 1),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, int) else str(value),
)
def test_the_mean_of_the_members_is_the_prediction_of_the_model(model, n):
    model.fit(X, Y)
    q = lw.from_models(model, X[:20])
    assert q.n_members == n
    assert q.class_names == ("ant", "bee", "cat")
    np.testing.assert_allclose(q.mean(), model.predict_proba(X[:20]), atol=1e-6)


def test_lists_and_cross_validation():
    models = [LogisticRegression(C=c).fit(X, Y) for c in (0.1, 1, 10)]
    q = lw.from_models(models, X)
    np.testing.assert_allclose(q.probs, np.stack([m.predict_proba(X) for m in models]))
    folds = cross_validate(LogisticRegression(), X, Y, cv=4, return_estimator=True)
    q = lw.from_models(folds["estimator"], X)
    np.testing.assert_allclose(q.probs, np.stack([m.predict_proba(X) for m in folds["estimator"]]))
    assert q.n_members == 4
    forests = [RandomForestClassifier(3, random_state=i).fit(X, Y) for i in range(2)]
    assert lw.from_models(forests, X).n_members == 2  # of a list, each is one member
    with pytest.raises(TypeError, match="must be torch modules, classifiers with predict_proba"):
        lw.from_models(folds, X)


def test_members_that_have_not_seen_a_class_give_it_no_probability():
    some = Y != "bee"
    models = [
        DecisionTreeClassifier(max_depth=2).fit(X, Y),
        DecisionTreeClassifier(max_depth=2).fit(X[some], Y[some]),
    ]
    q = lw.from_models(models, X)
    assert q.class_names == ("ant", "bee", "cat")
    assert q.probs[1, :, 1].max() == 0
    np.testing.assert_allclose(q.probs[1][:, [0, 2]], models[1].predict_proba(X))


def test_tables_of_pandas_and_their_string_labels():
    pandas = optional("pandas")
    table = pandas.DataFrame(X, columns=list("abcd"))
    y = pandas.Series(Y)
    q = lw.from_models([GaussianNB().fit(table, y), LogisticRegression().fit(table, y)], table)
    assert lw.evaluation.by_class(lw.decompose(q), y).counts.sum() == 60
    assert float(lw.calibration.calibration_errors(q, y.astype("category")).ece) < 0.5


def test_class_names_in_another_order_are_matched_by_name():
    model = GaussianNB().fit(X, Y)
    order = [str(name) for name in model.classes_[::-1]]
    q = lw.from_models(model, X, class_names=order)
    np.testing.assert_array_equal(q.probs[0], model.predict_proba(X)[:, ::-1])
    assert q.class_names == tuple(order)
    right = np.array(q.class_names)[q.mean().argmax(-1)] == np.asarray(Y).astype(str)
    assert right.mean() == (model.predict(X) == Y).mean()


def test_models_trained_on_other_words_are_refused():
    upper = np.char.upper(np.asarray(Y).astype(str))
    models = [GaussianNB().fit(X, np.asarray(Y).astype(str)), GaussianNB().fit(X, upper)]
    with pytest.raises(
        InputError,
        match=r"the models must name their classes alike; one has '[A-Z]+', another '[a-z]+'",
    ):
        lw.from_models(models, X)


def test_classes_as_numbers_and_as_text_are_matched():
    codes = np.unique(Y, return_inverse=True)[1]
    models = [GaussianNB().fit(X, codes), GaussianNB().fit(X, codes.astype(str))]
    q = lw.from_models(models, X)
    assert q.class_names == ("0", "1", "2")
    np.testing.assert_array_equal(q.probs[0], q.probs[1])


def test_output_units_are_no_outputs():
    """`MLPClassifier` calls its output units outputs."""
    model = MLPClassifier((8,), max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    np.testing.assert_array_equal(
        lw.from_models([model, model], X).probs[1], model.predict_proba(X)
    )


def test_numbers_and_the_same_as_text_are_the_same_classes() -> None:
    """As of labels that pandas read as objects, and of labels that it read as numbers."""
    X = np.arange(24.0)[:, None]
    y = np.arange(24) % 12
    models = [
        DecisionTreeClassifier().fit(X, y),
        DecisionTreeClassifier().fit(X, y.astype(str).astype(object)),
    ]
    q = lw.from_models(models, X)
    assert set(q.class_names) == set(map(str, range(12)))
    predicted = np.array(q.class_names)[q.probs.argmax(-1)]
    np.testing.assert_array_equal(predicted, [y.astype(str)] * 2)
    with pytest.warns(UserWarning, match="named in their order: 0 = c0, 1 = c1, 10 = c2"):
        lw.from_models(models, X, class_names=[f"c{k}" for k in range(12)])
