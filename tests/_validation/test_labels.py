"""One rule for labels wherever they come in: text is a name; integers are names where all class
names are integers, else positions.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.ensemble import RandomForestClassifier

import labelwise as lw
from labelwise._validation.labels import as_labels
from labelwise.cli import main
from labelwise.io import Predictions, save_predictions
from optional_libraries import optional

PROBS = np.array([[[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.98, 0.01]]] * 2)
"""Certain of the first class, and twice of the second; nothing is of the third."""
NAMED = [
    pytest.param(("1", "2", "3"), [1, 2, 2], id="from 1"),
    pytest.param(("2", "0", "1"), [2, 0, 0], id="in another order"),
    pytest.param(("-1", "0", "1"), [-1, 0, 0], id="negative"),
    pytest.param(("01", "02", "10"), [1, 2, 2], id="with leading zeros"),
    pytest.param(("1.0", "2.0", "3.0"), [1.0, 2.0, 2.0], id="floating point"),
    pytest.param(("0", "1", "2"), [0, 1, 1], id="equal to positions"),
    pytest.param(("a", "b", "c"), [0, 1, 1], id="text"),
    pytest.param(("1", "2", "c"), [0, 1, 1], id="not all integers"),
    pytest.param(None, [0, 1, 1], id="none"),
]


@pytest.mark.parametrize(("names", "y"), NAMED)
def test_the_same_classes_everywhere(names: tuple[str, ...] | None, y: list[int]) -> None:
    q = lw.Ensemble(PROBS, class_names=names)
    known = q.class_names or ("0", "1", "2")
    u = lw.decompose(q)
    plan = lw.decisions.decide(q, lw.decisions.Costs(1 - np.eye(3)), task="multiclass")
    for labels in (np.array(y), [known[0], known[1], known[1]]):
        assert float(lw.calibration.calibration_errors(q, labels).ece) == pytest.approx(0.02)
        curves = lw.calibration.reliability_curves(q, labels)
        assert curves[known[1]].frequency.tolist() == [0, 1]
        assert lw.calibration.check_calibration(
            q, labels, rng=0, n_bootstrap=50
        ).ece == pytest.approx(0.02)
        assert lw.calibration.fit_calibration(q, labels).temperature < 1  # all are right
        assert lw.evaluation.by_class(u, labels).counts.tolist() == [1, 2, 0]
        assert not plan.summary(labels).by_class["missed_before"].any()
        assert Predictions(q=q, y_true=np.asarray(labels)).true_class.tolist() == [0, 1, 1]


@pytest.mark.parametrize("numbers", [int, float])
def test_integer_classes_of_scikit_learn_match_by_value(numbers: type) -> None:
    x = np.arange(60.0)[:, None]
    y = np.repeat([1, 2, 3], 20).astype(numbers)
    q = lw.from_models(RandomForestClassifier(20, random_state=0).fit(x, y), x)
    inside = slice(
        0, 40
    )  # the last class is absent: as positions, these labels would be in range too
    some = lw.Ensemble(q.probs[:, inside], class_names=q.class_names)
    assert np.mean(np.asarray(q.class_names)[q.mean().argmax(-1)].astype(float) == y) == 1
    assert float(lw.calibration.calibration_errors(some, y[inside]).ece) < 0.1


@pytest.mark.parametrize(
    ("names", "y", "sentence"),
    [
        (
            ("1", "2", "3"),
            [0, 1, 2],
            (
                r"`y_true` must be among the class names, which are integers: 1, 2, 3; got 0( in "
                r"row 0)?\. If these are positions"
            ),
        ),
        (("1", "2", "3"), [1, 2, 4], "which are integers: 1, 2, 3; got 4"),
        (
            ("a", "b", "c"),
            [1, 2, 3],
            (r"`y_true` must lie between 0 and 2 \(K = 3 classes\); got 3( in row 2)?"),
        ),
        (("1", "2", "c"), [1, 2, 3], "must lie between 0 and 2"),
        (("1", "01", "2"), [1, 1, 3], "must lie between 0 and 2"),
        (("1", "2", "3"), ["1", "2", "4"], "names the unknown class '4' in row 2"),
    ],
)
def test_other_labels_are_refused(names: tuple[str, ...], y: list[object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        as_labels(np.array(y), "y_true", names, (3,))
    if not isinstance(y[0], str):
        with pytest.raises(ValueError, match=sentence):
            Predictions(probs=PROBS, y_true=np.array(y), class_names=names)


def test_prediction_files_follow_the_rule(tmp_path) -> None:
    path = save_predictions(
        tmp_path / "p.npz", probs=PROBS, y_true=np.array([1, 2, 2]), class_names=["1", "2", "3"]
    )
    assert lw.io.load_predictions(path).true_class.tolist() == [0, 1, 1]
    run = CliRunner().invoke(main, ["evaluate", str(path), "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.output)
    assert found["accuracy"] == 1
    assert found["calibration_error"] == pytest.approx(0.02)
    costs = tmp_path / "costs.toml"
    costs.write_text('class_names = ["1", "2", "3"]\nmissed = {3 = 2}\n')
    for task in ("multiclass", "per_label"):
        run = CliRunner().invoke(
            main, ["decide", str(path), "--costs", str(costs), "--task", task, "--json"]
        )
        assert run.exit_code == 0, run.output
        assert json.loads(run.output)["summary"]["cost_after"] == 0


TEXT = ("ant", "bee", "cat")


def series(values: list[object], **options: object) -> object:
    return optional("pandas").Series(values, **options)


@pytest.mark.parametrize(
    ("names", "make"),
    [
        pytest.param(TEXT, lambda: np.array(["ant", "bee", "bee"], dtype=object), id="objects"),
        pytest.param(
            TEXT,
            lambda: np.array(["ant", "bee", "bee"], dtype=np.dtypes.StringDType()),
            id="NumPy strings",
        ),
        pytest.param(TEXT, lambda: series(["ant", "bee", "bee"]), id="pandas strings"),
        pytest.param(
            TEXT, lambda: series(["ant", "bee", "bee"], index=[7, 8, 9]), id="pandas index"
        ),
        pytest.param(
            TEXT, lambda: series(["ant", "bee", "bee"], dtype="category"), id="pandas categories"
        ),
        pytest.param(TEXT, lambda: series([0, 1, 1], dtype="Int64"), id="nullable integers"),
        pytest.param(
            TEXT, lambda: series([0, 1, 1], dtype="category"), id="categories of integers"
        ),
        pytest.param(
            ("1", "2", "3"),
            lambda: series([1, 2, 2], dtype="Int8"),
            id="nullable integers by value",
        ),
        pytest.param(TEXT, lambda: series([0.0, 1.0, 1.0]).to_frame(), id="one column"),
        pytest.param(TEXT, lambda: np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]]), id="one-hot"),
        pytest.param(TEXT, lambda: np.eye(3, dtype=bool)[[0, 1, 1]], id="one-hot booleans"),
        pytest.param(TEXT, lambda: np.eye(3)[[0, 1, 1]], id="one-hot floats"),
        pytest.param(TEXT, lambda: [0.0, 1.0, 1.0], id="whole floats"),
        pytest.param(TEXT, lambda: np.array([0, 1, 1], dtype=object), id="integer objects"),
        pytest.param(
            TEXT,
            lambda: np.array([0, np.int8(1), 1.0], dtype=object),
            id="whole numbers of several types",
        ),
        pytest.param(("False", "True"), lambda: [False, True, True], id="booleans by name"),
        pytest.param(TEXT, lambda: np.array([b"ant", b"bee", b"bee"]), id="bytes"),
        pytest.param(TEXT, lambda: optional("torch").tensor([[0], [1], [1]]), id="torch column"),
    ],
)
def test_labels_are_matched_to_class_values(
    names: tuple[str, ...], make: Callable[[], object]
) -> None:
    assert as_labels(make(), "y_true", names, (3,)).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["ant", None, "bee"], "none missing; got None in row 1"),
        (["ant", "bee", 2], "all class names or all whole numbers, none missing; got 2 in row 2"),
        ([0, 1, np.nan], "none missing; got nan in row 2"),
        ([0, 0.5, 1], "must be whole numbers or class names, none missing; got 0.5 in row 1"),
        (["ant", "be", "cat"], "unknown class 'be' in row 1. Did you mean 'bee'"),
        (
            [[1, 1, 0], [0, 1, 0], [1, 0, 0]],
            r"row 0 is not\. Labels that may occur together need a MultiLabelEnsemble",
        ),
        (
            [[0.2, 0.8, 0.0], [0, 1, 0], [1, 0, 0]],
            "row 0 is not",
        ),
        (
            [True, False, True],
            "got bool",
        ),
        ([0, 1], r"one class per instance, shape \(3,\); got shape \(2,\)"),
        ([10**30, 1, 2], "all whole numbers, none missing"),
    ],
)
def test_anything_else_is_refused_with_the_first_row(y: list[object], sentence: str) -> None:
    dtype = object if any(type(value) is not type(y[0]) or value == 10**30 for value in y) else None
    with pytest.raises((ValueError, TypeError), match=sentence):
        as_labels(np.array(y, dtype=dtype), "y_true", TEXT, (3,))


def test_missing_values_of_pandas_are_refused() -> None:
    for y in (
        series(["ant", None, "bee"]),
        series([0, None, 1], dtype="Int64"),
        series(["ant", None, "bee"], dtype="category"),
    ):
        with pytest.raises(ValueError, match=r"none missing; got .* in row 1"):
            as_labels(y, "y_true", TEXT, (3,))
