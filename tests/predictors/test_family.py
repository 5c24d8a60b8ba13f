"""What all libraries share: columns of missing classes, class names that agree, and options that do not apply."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.predictors._family import aligned, only_one_way, same_names


def test_a_class_never_seen_has_probability_0() -> None:
    found = aligned(np.array([[0.2, 0.8]]), ["ant", "cat"], ["ant", "bee", "cat"])
    np.testing.assert_array_equal(found, [[0.2, 0, 0.8]])
    whole = np.eye(2)
    assert aligned(whole, [0, 1], [0, 1]) is whole


def test_names_must_agree_where_they_are_known() -> None:
    assert same_names([None, ("a", "b"), ("a", "b")]) == ("a", "b")
    assert same_names([None, None]) is None
    with pytest.raises(ValueError, match=r"same classes in the same order; got \('a', 'b'\) and \('b', 'a'\)"):
        same_names([("a", "b"), ("b", "a")])


def test_samples_are_for_dropout() -> None:
    only_one_way(None, "keras")
    with pytest.raises(ValueError, match=r"`n_samples` is for dropout in torch modules .* got 5 for keras"):
        only_one_way(5, "keras")
