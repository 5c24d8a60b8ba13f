"""Data frames and labeled arrays: names win over positions, and what does not fit is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from labelwise._frames import frame, index_columns, is_positions, library_of_frame, same_rows
from optional_libraries import optional
from wrong_input import refused

NAMES = ["cat", "dog", "fox"]
IDS = [f"img{i}" for i in range(40)]
PROBS = np.random.default_rng(0).dirichlet(np.ones(3), (2, 40))
ORDER = np.random.default_rng(1).permutation(40)
EPISTEMIC = lw.decompose(lw.Ensemble(PROBS)).epistemic


def frames(values: np.ndarray = PROBS) -> list[Any]:
    pandas = optional("pandas")
    return [pandas.DataFrame(member, columns=NAMES, index=IDS) for member in values]


def test_arrays_have_no_names() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.Ensemble(list(PROBS)).ids is None
    assert library_of_frame(PROBS) is None
    assert is_positions(("0", "1", "2"))
    assert not is_positions(("1", "2"))


def test_rows_of_series() -> None:
    pandas = optional("pandas")
    score = pandas.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    label = pandas.Series(["x", "y", "z"], index=["c", "a", "b"])
    assert same_rows(score=score, label=label)[1].tolist() == ["y", "z", "x"]
    assert same_rows(score=score, label=np.array(["x", "y", "z"]))[1].tolist() == ["x", "y", "z"]
    with pytest.warns(
        UserWarning,
        match=(
            "The rows of `label` are matched to those of `score` by position: `score` has only "
            "row numbers"
        ),
    ):
        assert same_rows(score=score.reset_index(drop=True), label=label)[1].tolist() == [
            "x",
            "y",
            "z",
        ]
    with refused(
        InputError,
        "`score` and `label` must have the same rows; 'd' is in the index of only one",
    ):
        same_rows(score=score, label=label.rename({"c": "d"}))


CLASSES = np.array(NAMES)
Y = PROBS.mean(axis=0).argmax(axis=-1)
Y[::3] = (Y[::3] + 1) % 3
LABELS = CLASSES[Y]
CORRECT = PROBS.mean(axis=0).argmax(axis=-1) == Y
GROUPS = np.arange(40) // 4
SCORE = EPISTEMIC.sum(axis=-1)
VOTES = np.random.default_rng(3).multinomial(5, [0.5, 0.3, 0.2], 40)
BOOTSTRAP: dict[str, Any] = {"n_bootstrap": 20, "rng": 0}


def series(values: np.ndarray) -> Any:
    """Values by the name of each case, in another order."""
    pandas = optional("pandas")
    return pandas.Series(values, index=IDS).iloc[ORDER]


def classes(values: np.ndarray) -> Any:
    """Values of each case and class by name, both in another order."""
    pandas = optional("pandas")
    return pandas.DataFrame(values, index=IDS, columns=NAMES).iloc[ORDER][["fox", "cat", "dog"]]


def several(q: Any) -> Any:
    named = lw.MultiLabelEnsemble(q.probs, class_names=NAMES)
    vars(named)["ids"] = q.ids
    return named


def costs() -> Any:
    return lw.decisions.Costs(default=1, missed={"dog": 5}, ask=0.3)


FUNCTIONS = {
    "brier score": lambda q, s, c: lw.evaluation.brier_score(q, s(LABELS), groups=s(GROUPS)),
    "log loss": lambda q, s, c: lw.evaluation.log_loss(q, s(LABELS), groups=s(GROUPS)),
    "outcomes": lambda q, s, c: lw.evaluation.brier_score(
        several(q), c(Y[:, None] != np.arange(3))
    ),
    "by class": lambda q, s, c: (
        lw.evaluation.by_class(
            lw.decompose(q), s(LABELS), groups=s(GROUPS), intervals=True
        ).own.epistemic
    ),
    "calibration errors": lambda q, s, c: lw.calibration.calibration_errors(
        q, s(LABELS), groups=s(GROUPS), **BOOTSTRAP
    ),
    "calibration check": lambda q, s, c: (
        lw.calibration.check_calibration(q, s(LABELS), groups=s(GROUPS), **BOOTSTRAP).overconfidence
    ),
    "reliability": lambda q, s, c: [
        curve.frequency
        for curve in lw.calibration.reliability_curves(q, s(LABELS), n_bins=3).values()
    ],
    "temperature": lambda q, s, c: lw.calibration.fit_calibration(q, s(LABELS)),
    "calibration": lambda q, s, c: (
        lw.calibration.fit_calibration(q, s(LABELS), method="isotonic")(q).probs
    ),
    "votes": lambda q, s, c: lw.calibration.vote_reliability(q, c(VOTES), groups=s(GROUPS)),
    "sets": lambda q, s, c: (
        lw.sets.fit_sets(q, s(LABELS), coverage=0.5, groups=s(GROUPS)).thresholds
    ),
    "evaluated sets": lambda q, s, c: str(
        lw.sets.fit_sets(lw.Ensemble(PROBS, class_names=NAMES), LABELS, coverage=0.5).evaluate(
            q, s(LABELS), groups=s(GROUPS)
        )
    ),
    "labels": lambda q, s, c: lw.sets.fit_labels(
        several(q), c(Y[:, None] != np.arange(3)), miss_rate=0.4, false_alarm_rate=0.4
    ),
    "evaluated labels": lambda q, s, c: (
        lw.sets.fit_labels(
            lw.MultiLabelEnsemble(PROBS, class_names=NAMES),
            Y[:, None] != np.arange(3),
            miss_rate=0.4,
            false_alarm_rate=0.4,
        )
        .evaluate(several(q), c(Y[:, None] != np.arange(3)), groups=s(GROUPS))
        .missed
    ),
    "vote score": lambda q, s, c: lw.calibration.score_votes(c(EPISTEMIC), q, c(VOTES)).score,
    "summary": lambda q, s, c: str(
        lw.decisions.decide(q, costs(), task="multiclass").summary(s(LABELS), groups=s(GROUPS))
    ),
    "plan": lambda q, s, c: (
        lw.decisions.decide(q, costs(), task="multiclass")
        .to_frame(y_true=s(LABELS))["y_true"]
        .tolist()
    ),
}


def same(a: Any, b: Any) -> None:
    if hasattr(a, "__dict__"):
        for key, value in vars(a).items():
            same(value, vars(b)[key])
    elif isinstance(a, dict):
        for key, value in a.items():
            same(value, b[key])
    elif callable(a) or type(a).__module__.startswith("labelwise"):
        assert type(a) is type(b)
    else:
        np.testing.assert_equal(a, b)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_and_classes_are_matched_everywhere(name: str) -> None:
    """Each function with everything in another order gives what it gives with arrays in the order
    of the predictions.
    """
    function = FUNCTIONS[name]
    expected = function(lw.Ensemble(PROBS, class_names=NAMES), np.asarray, np.asarray)
    same(function(lw.Ensemble(frames()), series, classes), expected)


def test_scores_are_matched_by_their_own_index() -> None:
    pandas = optional("pandas")
    score = pandas.Series(SCORE, index=IDS)
    curve = lw.evaluation.rejection_curve(
        score, correct=series(CORRECT), groups=series(GROUPS), **BOOTSTRAP
    )
    expected = lw.evaluation.rejection_curve(SCORE, correct=CORRECT, groups=GROUPS, **BOOTSTRAP)
    np.testing.assert_array_equal(curve.value, expected.value)
    np.testing.assert_array_equal(curve.band.low, expected.band.low)
    assert float(lw.evaluation.rank_agreement(score, series(SCORE))) == 1
    inside, outside = score[CORRECT], score[~CORRECT]
    found = lw.evaluation.compare_detection(
        inside, outside, series(SCORE)[CORRECT[ORDER]], series(SCORE)[~CORRECT[ORDER]]
    )
    assert float(found) == 0
    assert str(
        lw.decisions.choose_threshold(score, series(CORRECT), target=0.4, confidence=0.6)
    ) == str(lw.decisions.choose_threshold(SCORE, CORRECT, target=0.4, confidence=0.6))
    mean = lw.evaluation.clustered_mean(score, series(GROUPS))
    assert mean.low == lw.evaluation.clustered_mean(SCORE, GROUPS).low


def test_mean_probabilities_in_a_frame_are_read_by_name() -> None:
    mean = frames()[0]
    expected = lw.evaluation.brier_score(PROBS[0], Y).value
    assert lw.evaluation.brier_score(mean, series(LABELS)).value == expected
    np.testing.assert_array_equal(
        lw.sets.fit_sets(mean, series(LABELS), coverage=0.5).thresholds,
        lw.sets.fit_sets(PROBS[0], Y, coverage=0.5).thresholds,
    )


def test_weights_by_name() -> None:
    pandas = optional("pandas")
    u = lw.decompose(lw.Ensemble(PROBS, class_names=NAMES))
    np.testing.assert_array_equal(
        u.sum(pandas.Series({"fox": 3, "cat": 1, "dog": 2})).total, u.sum([1, 2, 3]).total
    )


def test_a_class_by_number() -> None:
    q = lw.Ensemble(PROBS, class_names=[1, 2, 3])
    assert lw.decisions.acquire(q, budget=2, label=1).label == ("1", "1")
    assert lw.decisions.acquire(lw.Ensemble(PROBS, class_names=NAMES), budget=2, label=1).label == (
        "dog",
        "dog",
    )
    plan = lw.decisions.decide(q, lw.decisions.Costs(false_alarm=1, missed=2), task="per_label")
    assert plan.explain(0, label=1) == plan.explain(0, label="1")


def test_acquired_cases_have_their_index() -> None:
    choice = lw.decisions.acquire(lw.Ensemble(frames()), budget=3)
    assert list(choice.to_frame().index) == [IDS[i] for i in choice.indices]


def test_an_index_of_words_beside_arrays_is_said() -> None:
    pandas = optional("pandas")
    q = lw.Ensemble(PROBS)
    y = pandas.Series(Y, index=IDS)
    said = (
        "The rows of `y_true` are matched to those of the predictions by position: `y_true` has an "
        "index, the predictions none. "
        "Give both an index, or leave it out: .to_numpy()"
    )
    with pytest.warns(UserWarning, match="by position") as caught:
        value = lw.evaluation.brier_score(q, y).value
    assert [str(one.message) for one in caught] == [said]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.evaluation.brier_score(q, y.to_numpy()).value == value
        split = pandas.Series(Y, index=ORDER)  # as train_test_split leaves it
        assert lw.evaluation.brier_score(q, split).value == value
        assert lw.evaluation.brier_score(lw.Ensemble(frames()), Y).value == value
        assert same_rows(score=pandas.Series([1.0, 2.0], index=["a", "b"]), label=np.array([1, 0]))[
            1
        ].tolist() == [1, 0]
    label = pandas.Series(["x", "y", "z"], index=["c", "a", "b"])
    groups = pandas.Series([1, 2, 3], index=["a", "b", "c"])
    with pytest.warns(
        UserWarning, match="The rows of `label` are matched to those of `score` by position"
    ):
        _, label, groups = same_rows(score=np.arange(3.0), label=label, groups=groups)
    assert (label.tolist(), groups.tolist()) == (["x", "y", "z"], [3, 1, 2])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: str, optional) -> None:
    optional(library)
    table = frame({"id": np.array(["a", "b"]), "x": np.array([0.5, np.nan])}, library)
    assert list(table.columns) == ["id", "x"]
    assert table["id"].to_list() == ["a", "b"]
    missing = table["x"].is_null() if library == "polars" else table["x"].isna()
    assert missing.to_list() == [False, True]


def test_names_of_instances() -> None:
    assert index_columns((2,))["instance"].tolist() == [0, 1]
    assert {k: v.tolist() for k, v in index_columns((2, 2), where=np.array([3, 0])).items()} == {
        "axis_0": [1, 0],
        "axis_1": [1, 0],
    }
    assert index_columns((2, 2), ids=[["a", "b"], ["c", "d"]], where=np.array([2]))[
        "id"
    ].tolist() == ["c"]
    assert index_columns(()) == {}
    with pytest.raises(
        ValueError,
        match=r"`ids` must name each of the 4 instances, shape \(2, 2\); got shape \(3,\)",
    ):
        index_columns((2, 2), ids=[1, 2, 3])
