"""Our runs beside the paper's means and deviations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from labelwise.paper.comparison import _beyond, _difference


def test_the_difference_from_the_paper_has_welchs_interval() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.85, 0.04, 4), rng.normal(0.89, 0.02, 5)
    found = _difference(list(ours), (theirs.mean(), theirs.std(ddof=1), 5))
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    assert [found["mean"], found["low"], found["high"]] == pytest.approx([ours.mean() - theirs.mean(), expected.low, expected.high])
    assert _difference([0.8], (0.9, 0.02, 5)) == {"mean": pytest.approx(-0.1), "low": None, "high": None}


def test_one_more_run_is_within_the_prediction_interval_as_often_as_it_should() -> None:
    rng = np.random.default_rng(1)
    outside = [_beyond([rng.normal()], list(rng.normal(size=5))) for _ in range(2000)]
    assert np.mean(outside) == pytest.approx(0.05, abs=0.015)
    assert _beyond([0.9], [0.8]) is None
