"""Wrong events get a sentence each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from wrong_input import NAMES, PROBS, refused


@pytest.mark.parametrize(
    ("events", "error", "sentence"),
    [
        (
            {"a": ["lugn"]},
            ValueError,
            "`events`: 'a' names the unknown class 'lugn'. Did you mean 'lung'?",
        ),
        (
            {"a": ["xyz"]},
            ValueError,
            "`events`: 'a' names the unknown class 'xyz'. Known: 'lung', 'lymphoma', 'melanoma'",
        ),
        (
            {"a": [0, 3]},
            ValueError,
            "`events`: 'a' names the unknown class 3. Known: 0, 1, 2",
        ),
        (
            {"a": [-1]},
            ValueError,
            "`events`: 'a' names the unknown class -1. Known: 0, 1, 2",
        ),
        (
            {"a": []},
            ValueError,
            "`events`: 'a' has no classes; an event that never occurs has no uncertainty",
        ),
        ({}, ValueError, "`events` must name at least one event; got an empty mapping"),
        ({"a": [0, 0]}, ValueError, "`events`: 'a' names a class twice: [0, 0]"),
        ({"a": ["lung", 0]}, ValueError, "`events`: 'a' names a class twice: ['lung', 0]"),
        ({1: [0], "1": [1]}, ValueError, "`events` must have different names; got '1' twice"),
        (
            {"a": "lung"},
            TypeError,
            (
                "`events`: 'a' must be a list of classes, such as ['lung', 'lymphoma'] or [0, 1]; "
                "got 'lung'"
            ),
        ),
        ({"a": 0}, TypeError, "`events`: 'a' must be a list of classes"),
        (
            {"a": [1.0]},
            TypeError,
            "`events`: classes are given by name or position; got 1.0 in 'a'",
        ),
        (
            {"a": [True]},
            TypeError,
            "`events`: classes are given by name or position; got True in 'a'",
        ),
        (
            ["lung"],
            TypeError,
            "`events` must be a mapping such as {'malignant': ['lung', 'lymphoma']}",
        ),
        (
            "ordinal",
            TypeError,
            "or made by lw.events.ordinal(K), .tree({...}) or .one_vs_one(K); got 'ordinal'",
        ),
        (
            lw.events.ordinal(4),
            ValueError,
            "`events` (ordinal) were made for 4 classes; the prediction has K = 3",
        ),
        (
            lw.events.one_vs_one(2),
            ValueError,
            "`events` (one_vs_one) were made for 2 classes; the prediction has K = 3",
        ),
        (lw.events.ordinal(["lung", "lymphoma", "x"]), ValueError, "names the unknown class 'x'"),
    ],
)
def test_events(events: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.decompose(lw.Ensemble(PROBS, class_names=NAMES), events=events)
    with refused(error, sentence):
        lw.Dirichlet(np.ones(3), class_names=NAMES).mean(events)


def test_events_by_name_need_names() -> None:
    with refused(
        ValueError,
        (
            "`events`: 'a' names the class 'lung', but the prediction has no class names. Pass "
            "`class_names` to the prediction"
        ),
    ):
        lw.decompose(lw.Ensemble(PROBS), events={"a": ["lung"]})


@pytest.mark.parametrize("family", [lw.events.ordinal, lw.events.one_vs_one])
def test_classes_of_a_family(family: Any) -> None:
    for value in (1, 0, -3, ["a"], []):
        with refused(ValueError, "`classes` must be at least 2", f"got {value!r}"):
            family(value)
    for value in ("abc", 2.5, None, True, {"a": 1, "b": 2}):
        with refused(
            TypeError,
            "`classes` must be the number of classes or the sequence of their names",
            f"got {value!r}",
        ):
            family(value)
    with refused(ValueError, "`classes` must have different names; got 'a' twice"):
        family(["a", "b", "a"])
    assert family(np.int64(3)) == family(3)


@pytest.mark.parametrize(
    ("spec", "error", "sentence"),
    [
        (
            {},
            TypeError,
            (
                "`spec` must map node names to children, such as {'malignant': ['lung', "
                "'lymphoma']}; got {}"
            ),
        ),
        (["a", "b"], TypeError, "`spec` must map node names to children"),
        ({"a": []}, ValueError, "`spec`: 'a' has no classes below it"),
        ({"a": {"b": {}}}, ValueError, "`spec`: 'b' has no classes below it"),
        (
            {"a": 1.5},
            TypeError,
            "`spec`: the children of 'a' must be a mapping or a list of classes; got 1.5",
        ),
        (
            {"a": [["x", "y"], "z"]},
            TypeError,
            "`spec`: every group needs a name; got ['x', 'y'] among the children of 'a'",
        ),
        (
            {"a": ["x"], "b": ["x", "y"]},
            ValueError,
            "the nodes of `spec` must have different names; got 'x' twice",
        ),
        (
            {"a": ["x", "y", "x"]},
            ValueError,
            "`spec`: the children of 'a' must have different names; got 'x' twice",
        ),
        (  # none of these classes may get lost
            {"a": [{"g": ["x"]}, {"g": ["y"]}], "b": "b"},
            ValueError,
            "`spec`: the children of 'a' must have different names; got 'g' twice",
        ),
    ],
)
def test_trees(spec: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.events.tree(spec)
