"""Costs as users write them: what is not named, and what is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

from labelwise.decisions import Costs

MATRIX = {"nevus": {"melanoma": 1}, "melanoma": {"nevus": 50}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs a `default`"),
        ({"false_positive": 1}, "belong together"),
        ({"matrix": [[0, 1, 2], [1, 0, 2]]}, "must be square"),
        ({"matrix": [[0, 1], [1]]}, "unequal lengths"),
        ({"matrix": [[0, -1], [1, 0]]}, "got -1 for true class 0, predicted class 1"),
        ({"matrix": [[0, np.nan], [1, 0]]}, "must be finite"),
        ({"matrix": [["0", "1"], ["1", "0"]]}, "must be numbers"),
        ({"matrix": [[0, 1], [1, 0]], "class_names": ["a"]}, "a row for each of the 1 names"),
        ({"matrix": [[0, 1], [1, 0]], "class_names": ["a", "a"]}, "'a' twice"),
        ({"matrix": [[0, 1], [1, 0]], "class_names": "ab"}, "sequence of class names"),
        ({"matrix": {"a": {"b": 1}, "b": {"c": 1}}}, "unknown class 'c'"),
        ({"matrix": {"a": {"b": 1}, "b": {}}}, "missing: 'a'"),
        ({"matrix": {"a": 1, "b": 2}}, "must be a mapping from predicted classes"),
        ({"matrix": {"a": {"b": "x"}, "b": {"a": 1}}}, "must be a number; got 'x'"),
        ({"matrix": [[0, 1], [1, 0]], "ask": -2}, "`ask` must be finite and not negative; got -2"),
        ({"matrix": [[0, 1], [1, 0]], "ask": "2"}, "`ask` must be a number; got '2'"),
        ({"matrix": [[0, 1], [1, 0]], "ask": True}, "`ask` must be a number; got True"),
        ({"matrix": [[0, 1], [1, 0]], "expert_error": 1.0}, "at least 0 and below 1; got 1.0"),
        ({"matrix": [[0, 1], [1, 0]], "expert_error": None}, "at least 0 and below 1; got None"),
        ({"false_positive": {"a": 1, "b": 1}, "false_negative": {"a": 1}}, "missing: 'b'"),
        ({"false_positive": {"a": 1, "b": 1}, "false_negative": {"a": 1, "bb": 1}}, "unknown class 'bb'"),
        ({"false_positive": {"a": 1, "b": 1}, "false_negative": [1, 2]}, "pass `class_names` for its order"),
        ({"false_positive": [1, 2], "false_negative": [1, 2, 3]}, "2 and 3"),
        ({"false_positive": [[1, 2]], "false_negative": 1}, "one number per class; got shape"),
        ({"false_positive": [1, 2], "false_negative": 1, "class_names": ["a", "b", "c"]}, "one for each of the 3 classes"),
    ],
)
def test_wrong_costs_are_refused_with_the_reason(arguments, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        Costs(**arguments)


def test_unknown_and_missing_class_names_are_told():
    costs = Costs(MATRIX)
    with pytest.raises(ValueError, match="the costs lack class 'mole'"):
        costs.problem("multiclass", 2, ("mole", "melanoma"))
    with pytest.raises(ValueError, match="name 'nevus', which is not a class"):
        Costs({"nevus": {"melanoma": 1, "x": 1}, "melanoma": {"nevus": 1, "x": 1}, "x": {"nevus": 1, "melanoma": 1}}).problem(
            "multiclass", 2, ("x", "melanoma")
        )


def test_what_is_not_named_costs_the_default():
    names = ("akiec", "mel", "nv")
    costs = Costs(default=1, missed={"mel": 20}, false_alarm={"mel": 0.5}, ask=2)
    table = costs.problem("multiclass", 3, names)[0].table
    assert np.array_equal(table, [[0, 1.5, 1], [20, 0, 20], [1, 1.5, 0]])  # missed[k] + the named false alarms
    each = costs.problem("per_label", 3, names)[0].table
    assert np.array_equal(each[:, 1, 0], [1, 20, 1])
    assert np.array_equal(each[:, 0, 1], [1, 0.5, 1])
    assert np.array_equal(Costs(missed={"mel": 20}).problem("multiclass", 3, names)[0].table[1], [20, 0, 20])
    assert np.array_equal(Costs(default=3).problem("multiclass", 2, None)[0].table, [[0, 3], [3, 0]])
    ordered = Costs(missed={"mel": 20}, class_names=names)
    assert ordered.problem("multiclass", 3, None)[0].table[1, 0] == 20
    assert ordered.problem("multiclass", 3, ("mel", "nv", "akiec"))[0].table[0, 1] == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Costs(missed={"mell": 20}).problem("multiclass", 2, ("mel", "nv")), "which is not a class of the prediction. Did you mean 'mel'?"),
        (lambda: Costs(false_alarm={"mell": 2}).problem("per_label", 2, ("mel", "nv")), "`false_alarm` names 'mell'"),
        (lambda: Costs(missed={"mel": 20}).problem("multiclass", 2, None), "the prediction has no class names"),
        (lambda: Costs(missed={"mell": 20}, class_names=["mel", "nv"]), "the unknown class 'mell'. Did you mean 'mel'?"),
        (lambda: Costs(missed={"mel": -1}), "`missed` of 'mel' must be finite and not negative"),
        (lambda: Costs(default=1e308, false_alarm={"mel": 1e308}).problem("multiclass", 2, ("mel", "nv")), "a sum below 1e308"),
        (lambda: Costs(missed=20), "`missed` must be a mapping from class names to costs"),
        (lambda: Costs(default="1"), "`default` must be a number"),
        (lambda: Costs([[0, 1], [1, 0]], default=1), "`default` replaces `matrix`"),
        (lambda: Costs.from_dict({}), "The shortest are: default = 1"),
    ],
)  # fmt: skip
def test_wrong_defaults_are_refused_with_the_reason(make, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        make()
