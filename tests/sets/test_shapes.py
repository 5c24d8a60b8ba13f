"""Sets without gaps on a scale."""

from __future__ import annotations

import numpy as np

import labelwise as lw
from labelwise.sets import fit_sets
from set_cases import NAMES, cases, ensemble


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
