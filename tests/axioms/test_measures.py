"""Measures to check: from losses, from functions, and with classes merged."""

from __future__ import annotations

import numpy as np

import labelwise as lw
from axiom_cases import changed, squared
from labelwise.axioms import check
from labelwise.axioms.measures import as_measure


def test_a_function_is_checked_like_the_loss_it_comes_from():
    assert changed(squared) == {}
    assert check(squared).name == "squared"


def test_merged_class_has_the_highest_cost_of_its_members():
    measure = as_measure(
        lw.CostLoss(false_positive={"a": 1.0, "b": 2.0, "c": 5.0, "d": 3.0}, false_negative=7)
    ).merged((1, 3))
    assert measure.n_classes == 3
    np.testing.assert_array_equal(measure.loss.false_positive, [2.0, 3.0, 5.0])
    assert measure.loss.false_negative == 7
