"""What all libraries share: columns of missing classes, class names that agree, and options that do
not apply.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from labelwise._errors import InputError
from labelwise.models._adapter import (
    check_model_classes_agree,
    class_names_of_models,
    order_of_model_classes,
    predict_all_classes,
)


def classifier(probs: np.ndarray, classes: list[str]) -> Any:
    return SimpleNamespace(predict_proba=lambda X: probs, classes_=classes)


def test_a_class_never_seen_has_probability_0() -> None:
    model = classifier(np.array([[0.2, 0.8]]), ["ant", "cat"])
    found = predict_all_classes(model, None, np.array(["ant", "bee", "cat"]))
    np.testing.assert_array_equal(found, [[0.2, 0, 0.8]])
    whole = np.eye(2)
    model = classifier(whole, ["ant", "cat"])
    assert predict_all_classes(model, None, np.array(["ant", "cat"])) is whole


def test_names_must_agree_where_they_are_known() -> None:
    assert class_names_of_models([None, ("a", "b"), ("a", "b")]) == ("a", "b")
    assert class_names_of_models([None, None]) is None
    with pytest.raises(
        ValueError, match=r"same classes in the same order; got \('a', 'b'\) and \('b', 'a'\)"
    ):
        class_names_of_models([("a", "b"), ("b", "a")])


def test_classes_in_another_order_are_moved() -> None:
    model = classifier(np.array([[0.2, 0.8]]), ["cat", "ant"])
    found = predict_all_classes(model, None, np.array(["ant", "cat"]))
    np.testing.assert_array_equal(found, [[0.8, 0.2]])


def test_class_names_are_matched_by_name() -> None:
    own = ("ant", "bee", "cat")
    assert order_of_model_classes(own, None) == (own, None)
    assert order_of_model_classes(None, ["x", "y"]) == (["x", "y"], None)
    assert order_of_model_classes(own, ["cat", "ant", "bee"]) == (("cat", "ant", "bee"), [2, 0, 1])
    assert order_of_model_classes(own, {"bee": "Biene", "ant": "Ameise", "cat": "Katze"}) == (
        ["Ameise", "Biene", "Katze"],
        None,
    )
    with pytest.raises(InputError) as error:
        order_of_model_classes(own, ["Ameise", "Biene", "Katze"])
    assert str(error.value) == (
        "`class_names` must be the classes of the models, 'ant', 'bee', 'cat', in any order; got "
        "'Ameise'. "
        "To rename them, pass a mapping: class_names={'ant': ..., ...}"
    )
    with pytest.raises(InputError, match=r"in any order; got 'Ant'\. Did you mean 'ant'\?$"):
        order_of_model_classes(own, ["Ant", "bee", "cat"])


def test_integer_classes_are_named_in_order() -> None:
    assert order_of_model_classes(("0", "1"), ["no", "yes"]) == (("no", "yes"), None)
    assert order_of_model_classes(("False", "True"), ["no", "yes"]) == (("no", "yes"), None)
    assert order_of_model_classes(("0", "1"), {0: "no", 1: "yes"}) == (["no", "yes"], None)
    with pytest.warns(UserWarning, match="classes are named in their order: 1 = no, 2 = yes"):
        assert order_of_model_classes(("1", "2"), ["no", "yes"]) == (("no", "yes"), None)


def test_classes_written_differently_are_refused() -> None:
    with pytest.raises(InputError) as error:
        check_model_classes_agree([["cat", "dog"], ["CAT", "DOG"]])
    assert str(error.value) == (
        "the models must name their classes alike; one has 'CAT', another 'cat'. Train them on "
        "the same class names"
    )
    with pytest.raises(
        InputError,
        match=r"must have classes in common; model 0 has 'a', 'b', the others have 'c', 'd'",
    ):
        check_model_classes_agree([["a", "b"], ["c", "d"]])
    check_model_classes_agree([["a", "A", "b"], ["a", "b"]])  # one model knows both
    check_model_classes_agree([["a", "b"], ["b", "c"]])
    check_model_classes_agree([["a", "b"]])


def test_numbers_and_text_are_the_same_classes() -> None:
    check_model_classes_agree([np.array([0, 1]), np.array(["0", "1"])])
    with pytest.raises(InputError, match="model 0 has 'a', 'b', the others have '1', '2'"):
        check_model_classes_agree([np.array(["a", "b"], dtype=object), [1, 2]])
