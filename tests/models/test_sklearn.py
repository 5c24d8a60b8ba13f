"""scikit-learn: the checks for estimators, existing ensembles member by member, and what
practitioners put in.
"""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine, make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import labelwise as lw
from labelwise.models import LabelwiseClassifier

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn 1.6 cannot import its checks without
    from sklearn.utils.estimator_checks import parametrize_with_checks

X, CODES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
Y = NAMES[CODES]


@parametrize_with_checks(
    [
        LabelwiseClassifier(),
        LabelwiseClassifier(DecisionTreeClassifier(max_depth=3), n_members=3),
        LabelwiseClassifier(GaussianNB(), n_members=2),
    ]
)
def test_it_is_a_scikit_learn_estimator(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # otherwise one of the checks is skipped
    check(estimator)


ENSEMBLES = {
    "forest": RandomForestClassifier(15, random_state=0),
    "forest with leaves of 5, in parallel": RandomForestClassifier(
        15, min_samples_leaf=5, n_jobs=2, random_state=0
    ),
    "extra trees": ExtraTreesClassifier(10, random_state=0),
    "bagging": BaggingClassifier(GaussianNB(), 6, random_state=0),
    "bagging of feature subsets": BaggingClassifier(
        DecisionTreeClassifier(), 6, max_features=0.5, random_state=0
    ),
    "bagging that misses classes": BaggingClassifier(
        KNeighborsClassifier(1), 30, max_samples=3, random_state=0
    ),
    "voting": VotingClassifier(
        [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=2))], voting="soft"
    ),
    "voting with weights": VotingClassifier(
        [("a", GaussianNB()), ("b", "drop"), ("c", DecisionTreeClassifier(max_depth=2))],
        voting="soft",
        weights=[1, 7, 3],
    ),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
    "labelwise": LabelwiseClassifier(random_state=0),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("table", [False, True])
def test_the_members_average_to_the_ensemble(name, table, optional):
    x = optional("pandas").DataFrame(X, columns=["a", "b", "c", "d"]) if table else X
    model = clone(ENSEMBLES[name]).fit(x, Y)
    q = lw.from_models(model, x)
    np.testing.assert_allclose(q.mean(), model.predict_proba(x), rtol=0, atol=1e-12)
    assert q.class_names == tuple(NAMES)
    assert q.n_members == len(getattr(model, "estimators_", None) or model[-1].estimators_)


def test_a_class_that_a_member_has_not_seen_has_probability_0():
    model = clone(ENSEMBLES["bagging that misses classes"]).fit(X, Y)
    q = lw.from_models(model, X)
    partial = [
        (p, member)
        for p, member in zip(q.probs, model.estimators_, strict=True)
        if len(member.classes_) < 3
    ]
    assert partial
    for p, member in partial:
        np.testing.assert_array_equal(p[:, member.classes_], member.predict_proba(X))
        assert not np.delete(p, member.classes_, axis=1).any()


def test_each_member_of_a_forest_is_one_tree():
    forest = clone(ENSEMBLES["forest"]).fit(X, Y)
    q = lw.from_models(forest, X)
    for p, tree in zip(q.probs, forest.estimators_, strict=True):
        np.testing.assert_array_equal(p, tree.predict_proba(X.astype(np.float32)))
    assert lw.decompose(q)["versicolor"].epistemic.max() > 0.1


def test_missing_values_and_sparse_matrices_pass_where_the_forest_takes_them():
    from scipy.sparse import csr_matrix

    holes = X.copy()
    holes[::7, 1] = np.nan
    forest = RandomForestClassifier(5, random_state=0).fit(holes, Y)
    np.testing.assert_allclose(
        lw.from_models(forest, holes).mean(), forest.predict_proba(holes), atol=1e-12
    )
    forest = RandomForestClassifier(5, random_state=0).fit(csr_matrix(X), Y)
    np.testing.assert_allclose(
        lw.from_models(forest, csr_matrix(X)).mean(), forest.predict_proba(X), atol=1e-12
    )


def test_more_trees_than_instances_are_still_members():
    forest = RandomForestClassifier(100, random_state=0).fit(X, Y)
    assert lw.from_models(forest, X[:2]).n_members == 100


def test_columns_in_another_order_are_refused(optional):
    table = optional("pandas").DataFrame(X, columns=["a", "b", "c", "d"])
    forest = RandomForestClassifier(3).fit(table, Y)
    with pytest.raises(ValueError, match="feature names"):
        lw.from_models(forest, table[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="expecting 4 features"):
        lw.from_models(RandomForestClassifier(3).fit(X, Y), X[:, :2])


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=2),
        GradientBoostingClassifier(n_estimators=2),
        LogisticRegression(max_iter=500),
    ],
)
def test_one_model_without_members_is_one_member(model):
    q = lw.from_models(model.fit(X, Y), X)
    assert q.n_members == 1
    np.testing.assert_array_equal(q.probs[0], model.predict_proba(X))


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        (
            RandomForestClassifier(),
            NotFittedError,
            "This RandomForestClassifier instance is not fitted yet",
        ),
        (
            make_pipeline(StandardScaler(), RandomForestClassifier()),
            NotFittedError,
            "This Pipeline instance is not fitted yet",
        ),
        (RandomForestClassifier, TypeError, "got the class RandomForestClassifier"),
        (RandomForestRegressor().fit(X, CODES), TypeError, "RandomForestRegressor is a regressor"),
        (BaggingRegressor().fit(X, CODES), TypeError, "BaggingRegressor is a regressor"),
        (
            VotingClassifier([("a", GaussianNB())]).fit(X, Y),
            ValueError,
            "Fit it with voting='soft'",
        ),
        (
            BaggingClassifier(RidgeClassifier()).fit(X, Y),
            ValueError,
            "RidgeClassifier has none. Wrap it in",
        ),
        (
            VotingClassifier([("a", RidgeClassifier())], voting="soft").fit(X, Y),
            ValueError,
            "RidgeClassifier has none",
        ),
        ([1, 2], TypeError, "all of one kind; got int"),
        (
            RandomForestClassifier(2).fit(X[:20], make_multilabel_classification(20)[1]),
            ValueError,
            "has 5 outputs. Fit one for each",
        ),
    ],
)
def test_other_models_get_a_sentence(model, error, sentence):
    with pytest.raises(error, match=sentence.replace(".", r"\.")):
        lw.from_models(model, X)


class TestLabelwiseClassifier:
    def test_prediction_and_distribution_belong_together(self):
        model = LabelwiseClassifier(random_state=0).fit(X, Y)
        q = model.predict_distribution(X)
        assert q.probs.shape == (5, 150, 3)
        assert q.class_names == tuple(NAMES)
        for p, member in zip(q.probs, model.estimators_, strict=True):
            np.testing.assert_array_equal(p, member.predict_proba(X))
        np.testing.assert_array_equal(model.predict_proba(X), q.mean())
        np.testing.assert_array_equal(model.predict(X), NAMES[q.mean().argmax(-1)])
        assert model.score(X, Y) > 0.95

    def test_the_members_differ_and_the_seed_decides_how(self):
        with parallel_config("threading"):  # worker processes take seconds to start
            probs = [
                LabelwiseClassifier(random_state=seed, n_jobs=n_jobs)
                .fit(X, Y)
                .predict_distribution(X)
                .probs
                for seed, n_jobs in ((0, None), (0, 2), (1, None))
            ]
        np.testing.assert_array_equal(probs[0], probs[1])
        assert not np.array_equal(probs[0], probs[2])
        assert not np.array_equal(probs[0][0], probs[0][1])

    def test_random_states_inside_a_pipeline_are_seeded_differently(self):
        base = make_pipeline(StandardScaler(), RandomForestClassifier(2))
        model = LabelwiseClassifier(base, n_members=3, bootstrap=False, random_state=0).fit(X, Y)
        states = [member[-1].random_state for member in model.estimators_]
        assert len(set(states)) == 3
        assert base[-1].random_state is None

    def test_bootstrap_samples_keep_the_number_of_each_class(self):
        y = np.repeat(["rare", "common", "usual"], [1, 20, 129])
        model = LabelwiseClassifier(DummyClassifier(), n_members=4, random_state=0).fit(X, y)
        for member in model.estimators_:
            np.testing.assert_array_equal(member.class_prior_ * 150, [20, 1, 129])

    def test_bootstrap_samples_leave_out_a_third_of_the_instances(self):
        """A nearest neighbour fitted to noise is right about the share 1 − 1/e that it has seen,
        and about 1/3 of the rest.
        """
        noise = np.random.default_rng(0).permutation(Y)
        model = LabelwiseClassifier(KNeighborsClassifier(1), n_members=40, random_state=0).fit(
            np.arange(150.0)[:, None], noise
        )
        right = np.mean(
            [member.score(np.arange(150.0)[:, None], noise) for member in model.estimators_]
        )
        assert right == pytest.approx(1 - 1 / np.e + 1 / np.e / 3, abs=0.03)

    def test_without_bootstrap_only_a_random_estimator_makes_sense(self):
        for base in (None, GaussianNB()):
            with pytest.raises(ValueError, match="without bootstrap all members would be the same"):
                LabelwiseClassifier(base, bootstrap=False).fit(X, Y)
        x = np.linspace(X.min(0), X.max(0), 50)
        model = LabelwiseClassifier(
            DecisionTreeClassifier(splitter="random"), bootstrap=False, random_state=0
        ).fit(X, Y)
        assert lw.decompose(model.predict_distribution(x)).epistemic.max() > 0

    def test_tables_text_missing_values_and_class_weights_reach_the_members(self, optional):
        table = optional("pandas").DataFrame(
            {"size": X[:, 2], "colour": np.where(X[:, 0] > 5.5, "red", "blue")}
        )
        base = make_pipeline(
            make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["size"])),
            LogisticRegression(class_weight={"setosa": 1, "versicolor": 5, "virginica": 5}),
        )
        model = LabelwiseClassifier(base, random_state=0).fit(table, Y)
        assert model.score(table, Y) > 0.8
        assert list(model.feature_names_in_) == ["size", "colour"]
        texts = ["good film", "fine film", "bad film", "awful film"] * 5
        words = LabelwiseClassifier(
            make_pipeline(TfidfVectorizer(), LogisticRegression()), random_state=0
        )
        assert list(words.fit(texts, ["+", "+", "-", "-"] * 5).predict(texts[:3])) == [
            "+",
            "+",
            "-",
        ]
        holes = X.copy()
        holes[::9, 0] = np.nan
        for base in (
            HistGradientBoostingClassifier(max_iter=5),
            make_pipeline(SimpleImputer(), GaussianNB()),
        ):
            assert (
                LabelwiseClassifier(base, n_members=2, random_state=0).fit(holes, Y).score(holes, Y)
                > 0.9
            )
        with pytest.raises(ValueError, match="NaN"):
            LabelwiseClassifier(GaussianNB(), random_state=0).fit(holes, Y)

    def test_it_works_inside_search_and_cross_validation(self):
        x, y = load_wine(return_X_y=True)
        search = GridSearchCV(
            LabelwiseClassifier(DecisionTreeClassifier(), random_state=0),
            {"estimator__max_depth": [1, 3], "n_members": [2, 4]},
            cv=3,
        )
        assert search.fit(x, y).best_score_ > 0.85
        assert cross_val_score(LabelwiseClassifier(random_state=0), x, y, cv=3).mean() > 0.95
        assert lw.from_models(search.best_estimator_, x).class_names == ("0", "1", "2")

    @pytest.mark.parametrize(
        ("parameters", "error", "sentence"),
        [
            ({"n_members": 1}, ValueError, "`n_members` must be an integer of at least 2"),
            ({"n_members": 2.0}, ValueError, "`n_members` must be an integer of at least 2"),
            (
                {"estimator": "tree"},
                TypeError,
                "`estimator` must be a scikit-learn classifier.*got 'tree'",
            ),
            ({"estimator": GaussianNB}, TypeError, "`estimator` must be a scikit-learn classifier"),
            (
                {"estimator": LinearRegression()},
                TypeError,
                "`estimator` must be a scikit-learn classifier.*got LinearRegression",
            ),
            ({"estimator": RidgeClassifier()}, TypeError, "got RidgeClassifier.*can be wrapped in"),
        ],
    )
    def test_wrong_parameters_get_a_sentence(self, parameters, error, sentence):
        with pytest.raises(error, match=sentence):
            LabelwiseClassifier(**parameters).fit(X, Y)

    def test_wrong_data_get_a_sentence(self):
        with pytest.raises(ValueError, match="`y` must have at least 2 classes; got 1 class"):
            LabelwiseClassifier().fit(X, np.zeros(150))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            LabelwiseClassifier().fit(X, Y[:-1])
        with pytest.raises(NotFittedError, match="not fitted"):
            LabelwiseClassifier().predict_distribution(X)

    def test_a_wrapped_classifier_without_probabilities_works(self):
        model = LabelwiseClassifier(
            CalibratedClassifierCV(RidgeClassifier(), cv=3), n_members=2, random_state=0
        ).fit(X, Y)
        assert model.score(X, Y) > 0.8
