from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelwise.decisions import Costs
from labelwise_lab.simulation import simulate

X, Y = make_classification(
    400, 6, n_informative=4, n_classes=3, weights=[0.7, 0.25, 0.05], random_state=0
)
NAMES = np.array(["common", "usual", "rare"])
DATA = {"X": X[:300], "y": NAMES[Y[:300]], "X_test": X[300:], "y_test": NAMES[Y[300:]]}


def run(estimator, **options):
    return simulate(estimator, **DATA, **({"budget": 10, "rounds": 3, "initial": 20} | options))


def test_a_curve_is_counted_right_and_comes_again_with_its_seed():
    forest = RandomForestClassifier(10)
    curve, again, other = (run(forest, rng=seed, costs=Costs(1 - np.eye(3))) for seed in (1, 1, 2))
    assert curve.n_labeled.tolist() == [20, 30, 40, 50]
    assert curve.class_names == ("common", "rare", "usual")
    assert len(set(curve.order.tolist())) == 50
    assert np.array_equal(curve.order, again.order)
    assert np.array_equal(curve.recall, again.recall)
    assert not np.array_equal(curve.order, other.order)
    for r, n in enumerate(curve.n_labeled):
        bought = DATA["y"][curve.order[:n]]
        assert curve.labeled_by_class[r].tolist() == [
            np.sum(bought == name) for name in curve.class_names
        ]
    share = np.array([np.mean(DATA["y_test"] == name) for name in curve.class_names])
    assert np.allclose(curve.recall @ share, curve.accuracy)
    assert np.allclose(curve.cost, 1 - curve.accuracy)
    assert np.allclose(curve.balanced_accuracy, curve.recall.mean(axis=1))


def test_strategies_start_from_the_same_cases_and_the_same_fit():
    curves = [
        run(RandomForestClassifier(10), strategy=s, rounds=1, rng=3)
        for s in ("label_wise", "entropy", "random")
    ]
    for curve in curves[1:]:
        assert np.array_equal(curve.order[:20], curves[0].order[:20])
        assert curve.accuracy[0] == curves[0].accuracy[0]
        assert not np.array_equal(curve.order, curves[0].order)


def test_a_function_can_be_the_strategy():
    def last(q, budget, rng):
        assert rng.random() < 1
        return np.arange(len(q.mean()))[-budget:]

    curve = run(GaussianNB(), strategy=last, initial=np.arange(20), rounds=2)
    assert sorted(curve.order[20:30].tolist()) == list(range(290, 300))
    assert sorted(curve.order[30:].tolist()) == list(range(280, 290))
    assert curve.strategy == "last"


@pytest.mark.parametrize(
    "estimator", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_any_classifier(estimator):
    curve = run(estimator, batch="balanced", n_members=3)
    assert curve.accuracy[-1] > 0.5
    assert np.unique(curve.order).size == 50


def test_a_class_that_is_not_labeled_yet_is_there_with_probability_zero():
    start = np.flatnonzero(DATA["y"] != "rare")[:20]
    curve = run(RandomForestClassifier(10), initial=start, strategy="random", rounds=6)
    rare = curve.class_names.index("rare")
    assert curve.labeled_by_class[0, rare] == 0
    assert curve.recall[0, rare] == 0
    assert np.array_equal(curve.order[:20], start)


def test_mistakes_are_told():
    forest = RandomForestClassifier(5)
    for options, message in (
        ({"initial": 1}, "`initial` must be between 2 and the pool's 300"),
        ({"initial": [1, 1]}, "different positions"),
        ({"initial": np.flatnonzero(DATA["y"] == "rare")[:4]}, "at least two classes"),
        ({"rounds": 100}, "20 initial cases and 10 × 100 more, out of 300"),
    ):
        with pytest.raises(ValueError, match=message):
            run(forest, **options)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(
        ValueError, match=r"`strategy` must be a function or one of .*; got 'labelwise'"
    ):
        run(RandomForestClassifier(10), strategy="labelwise")
