"""A fitted predictor follows its definition."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from labelwise.sets import fit_sets
from set_cases import cases


def test_a_class_is_in_the_set_by_the_definition() -> None:
    p, y = cases()
    new, _ = cases(50, seed=1)
    member = fit_sets(p, y, coverage=0.85).predict(new).member
    for k in range(4):
        own = np.sort(1 - p[y == k, k])
        threshold = own[ceil(Fraction("0.85") * (len(own) + 1)) - 1]
        np.testing.assert_array_equal(member[:, k], 1 - new[:, k] <= threshold)
