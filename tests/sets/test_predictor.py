"""A fitted predictor gives other levels from the same cases."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.sets import fit_sets
from set_cases import cases


def test_another_level_from_the_same_cases() -> None:
    p, y = cases()
    np.testing.assert_array_equal(
        fit_sets(p, y).with_coverage(0.8).thresholds, fit_sets(p, y, coverage=0.8).thresholds
    )
    with pytest.raises(ValueError, match="needs at least"):
        fit_sets(p, y).with_coverage(0.999)
