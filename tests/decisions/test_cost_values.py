"""Costs as users write them: what is not named, and what is wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.decisions import Costs, decide
from optional_libraries import optional

MATRIX = {"nevus": {"melanoma": 1}, "melanoma": {"nevus": 50}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs a `default`"),
        ({"matrix": [[0, 1, 2], [1, 0, 2]]}, "must be square"),
        ({"matrix": [[0, 1], [1]]}, "must have equal lengths"),
        (
            {"matrix": [[0, -1], [1, 0]]},
            "true class 0, predicted class 1, must be finite and not negative; got -1",
        ),
        ({"matrix": [[0, np.nan], [1, 0]]}, "must be finite"),
        ({"matrix": [["0", "1"], ["1", "0"]]}, "must be numbers"),
        ({"matrix": [[0, 1], [1, 0]], "class_names": ["a"]}, "a row for each of the 1 names"),
        ({"matrix": [[0, 1], [1, 0]], "class_names": ["a", "a"]}, "'a' twice"),
        ({"matrix": [[0, 1], [1, 0]], "class_names": "ab"}, "sequence of 2 names"),
        ({"matrix": {"a": {"b": 1}, "b": {"c": 1}}}, "`matrix of 'b'` names 'c', which is not"),
        ({"matrix": {"a": {"b": 1}, "b": {}}}, "missing: 'a'"),
        ({"matrix": {"a": 1, "b": 2}}, "must be a mapping from predicted classes"),
        ({"matrix": {"a": {"b": "x"}, "b": {"a": 1}}}, "`matrix` must be numbers; got"),
        ({"matrix": [[0, 1], [1, 0]], "ask": -2}, "`ask` must be finite and not negative; got -2"),
        ({"matrix": [[0, 1], [1, 0]], "ask": "2"}, "`ask` must be a number; got '2'"),
        ({"matrix": [[0, 1], [1, 0]], "ask": True}, "`ask` must be a number; got True"),
        ({"matrix": [[0, 1], [1, 0]], "expert_error": 1.0}, "at least 0 and below 1; got 1.0"),
        (
            {"matrix": [[0, 1], [1, 0]], "expert_error": None},
            "`expert_error` must be a number; got None",
        ),
        (
            {"false_alarm": [1, 2], "missed": 1},
            "`false_alarm` must be a number or a mapping from class names; got [1, 2]",
        ),
    ],
)
def test_wrong_costs_are_refused_with_the_reason(arguments, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        Costs(**arguments)


def test_unknown_and_missing_class_names_are_told():
    costs = Costs(MATRIX)
    with pytest.raises(ValueError, match="`costs` names 'nevus', which is not among"):
        costs.problem("multiclass", 2, ("mole", "melanoma"))
    with pytest.raises(ValueError, match="`costs` names 'nevus', which is not among"):
        Costs(
            {
                "nevus": {"melanoma": 1, "x": 1},
                "melanoma": {"nevus": 1, "x": 1},
                "x": {"nevus": 1, "melanoma": 1},
            }
        ).problem("multiclass", 2, ("x", "melanoma"))


def test_what_is_not_named_costs_the_default():
    names = ("akiec", "mel", "nv")
    costs = Costs(default=1, missed={"mel": 20}, false_alarm={"mel": 0.5}, ask=2)
    table = costs.problem("multiclass", 3, names)[0].table
    assert np.array_equal(
        table, [[0, 1.5, 1], [20, 0, 20], [1, 1.5, 0]]
    )  # missed[k] + the named false alarms
    each = costs.problem("per_label", 3, names)[0].table
    assert np.array_equal(each[:, 1, 0], [1, 20, 1])
    assert np.array_equal(each[:, 0, 1], [1, 0.5, 1])
    assert np.array_equal(
        Costs(missed={"mel": 20}).problem("multiclass", 3, names)[0].table[1], [20, 0, 20]
    )
    assert np.array_equal(
        Costs(default=3).problem("multiclass", 2, None)[0].table, [[0, 3], [3, 0]]
    )
    ordered = Costs(missed={"mel": 20}, class_names=names)
    assert ordered.problem("multiclass", 3, None)[0].table[1, 0] == 20
    assert ordered.problem("multiclass", 3, ("mel", "nv", "akiec"))[0].table[0, 1] == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Costs(missed={"mell": 20}).problem("multiclass", 2, ("mel", "nv")), (
            "which is not among 'mel', 'nv'. Did you mean 'mel'?"
        )),
        (lambda: Costs(false_alarm={"mell": 2}).problem("per_label", 2, ("mel", "nv")), "`false_alarm` names 'mell'"),  # noqa: E501
        (lambda: Costs(missed={"mel": 20}).problem("multiclass", 2, None), (
            "the prediction has no class names"
        )),
        (lambda: Costs(missed={"mel": -1}), "`missed` of 'mel' must be finite and not negative"),
        (lambda: Costs(default=1e200), "`default` must be finite and not negative; got 1e+200"),
        (lambda: Costs(default="1"), "`default` must be a number"),
        (lambda: Costs([[0, 1], [1, 0]], default=1), "`default` replaces `matrix`; give one or"),
    ],
)  # fmt: skip
def test_wrong_defaults_are_refused_with_the_reason(make, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        make()


COSTS = [[0, 1, 1], [20, 0, 20], [1, 1, 0]]
CLASSES = ("cat", "dog", "fox")


def costs_in_another_order(library: str) -> Any:
    """Missing a dog costs 20; rows and columns in other orders."""
    pandas = optional("pandas")
    frame = pandas.DataFrame(COSTS, index=CLASSES, columns=CLASSES).loc[
        ["fox", "cat", "dog"], ["dog", "fox", "cat"]
    ]
    if library == "pandas":
        return frame
    if library == "polars":
        return optional("polars").DataFrame(frame.reset_index(names="truth"))
    return optional("xarray").DataArray(frame, dims=("truth", "prediction"))


@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_a_frame_of_costs_is_read_by_name(library: str) -> None:
    costs = Costs(costs_in_another_order(library))
    for names in (CLASSES, CLASSES[::-1]):
        order = [CLASSES.index(name) for name in names]
        np.testing.assert_array_equal(
            costs.problem("multiclass", 3, names)[0].table, np.asarray(COSTS)[np.ix_(order, order)]
        )
    np.testing.assert_array_equal(
        Costs(costs_in_another_order(library), class_names=CLASSES).matrix, COSTS
    )
    with pytest.raises(
        ValueError,
        match="these costs are given by class name, but the prediction has no class names",
    ):
        costs.problem("multiclass", 3, None)


def test_a_frame_of_costs_decides_by_name() -> None:
    q = lw.Ensemble(np.array([[[0.8, 0.1, 0.1]]]), class_names=CLASSES)
    plans = [
        decide(q, Costs(x, class_names=CLASSES), task="multiclass")
        for x in (COSTS, costs_in_another_order("pandas"))
    ]
    assert [plan.action_names.tolist() for plan in plans] == [["dog"], ["dog"]]


def test_frames_of_costs_with_fewer_names() -> None:
    pandas = optional("pandas")
    assert Costs(pandas.DataFrame(COSTS)).class_names is None
    with pytest.raises(ValueError, match=r"both in its index \(the truth\) and in its columns"):
        Costs(pandas.DataFrame(COSTS, columns=CLASSES))
    with pytest.raises(
        ValueError, match=r"`matrix of 'cat'` names 'DOG', which is not among .* Did you mean 'dog'"
    ):
        Costs(pandas.DataFrame(COSTS, columns=["cat", "DOG", "fox"], index=CLASSES))
    with pytest.raises(ValueError, match=r"must be square, .* got shape \(2, 3\)"):
        Costs(pandas.DataFrame(COSTS[:2]))


def test_series_of_costs_are_read_by_name() -> None:
    pandas = optional("pandas")
    costs = Costs(
        false_alarm=pandas.Series({"b": 1, "a": 2}),
        missed=pandas.Series([3, 4], index=["a", "b"]),
    )
    table = costs.problem("per_label", 2, ("a", "b"))[0].table
    assert table[:, 0, 1].tolist() == [2, 1]
    assert table[:, 1, 0].tolist() == [3, 4]
    assert Costs(default=1, missed=pandas.Series({"a": 20})).missed == {"a": 20}


def test_names_by_position() -> None:
    assert Costs(COSTS, class_names={0: "cat", 1: "dog", 2: "fox"}).class_names == CLASSES
