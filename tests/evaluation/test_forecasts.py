"""Mean probabilities and outcomes, validated."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.evaluation import brier_score


def test_rows_that_do_not_sum_to_one_are_refused():
    with pytest.raises(ValueError, match="must sum to 1"):
        brier_score(np.full((3, 2), 0.7), [0, 1, 0])
