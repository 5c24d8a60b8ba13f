"""A fitted predictor follows its definition."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

import labelwise as lw
from labelwise.sets import fit_sets
from set_cases import NAMES, cases, ensemble


def test_a_class_is_in_the_set_by_the_definition() -> None:
    p, y = cases()
    new, _ = cases(50, seed=1)
    member = fit_sets(p, y, coverage=0.85).predict(new).member
    for k in range(4):
        own = np.sort(1 - p[y == k, k])
        threshold = own[ceil(Fraction("0.85") * (len(own) + 1)) - 1]
        np.testing.assert_array_equal(member[:, k], 1 - new[:, k] <= threshold)


def test_ordinal_sets_have_no_gaps_and_grow_with_the_level() -> None:
    p, y = cases()
    scale = lw.events.ordinal(["angioma", "nevus", "lentigo", "melanoma"])
    order = [NAMES.index(name) for name in ("angioma", "nevus", "lentigo", "melanoma")]
    before = np.zeros((len(p), 4), bool)
    for coverage in (0.5, 0.7, 0.9, 0.95):
        plain = fit_sets(ensemble(p), y, coverage=coverage)
        member = (
            fit_sets(ensemble(p), y, coverage=coverage, shape=scale).predict(ensemble(p)).member
        )
        assert (plain.predict(ensemble(p)).member <= member).all()
        for row in member[:, order]:
            where = np.flatnonzero(row)
            assert len(where) == 0 or len(where) == where[-1] - where[0] + 1
        assert (before <= member).all()
        before = member
