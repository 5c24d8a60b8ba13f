"""The test for bad calibration: no false alarms, and what is wrong is found and said."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from calibration_cases import draw, sharpen
from labelwise.calibration import check_calibration


def test_check_raises_no_false_alarm():
    rng = np.random.default_rng(4)
    alarms = 0
    for i in range(60):
        p = rng.dirichlet([1, 0.5, 0.02], size=(30, 150)[i % 2])
        alarms += not check_calibration(p, draw(p, rng), rng=rng, n_bootstrap=100).ok
    assert alarms <= 3


def test_check_finds_over_confidence_and_says_so():
    rng = np.random.default_rng(15)
    p = rng.dirichlet([1, 1, 1], size=400)
    y = draw(p, rng)
    check = check_calibration(sharpen(p, 3), y, rng=0, n_bootstrap=200)
    assert not check.ok
    assert 0.05 < check.at_least < check.ece
    assert check.p_value < 0.02
    assert "percentage points" in str(check)
    fine = check_calibration(p, y, rng=0, n_bootstrap=200)
    assert fine.ok
    assert fine.p_value > 0.02
    assert "No sign" in str(fine)
    # more than one can live with, not merely not perfect
    assert check_calibration(sharpen(p, 3), y, rng=0, n_bootstrap=200, tolerance=0.5, class_tolerance=1).ok


def test_check_finds_a_rare_class_that_is_wrong():
    """Cases of the rare class happen three times as often as said; the top label hardly notices."""
    rng = np.random.default_rng(6)
    p = np.tile([0.9, 0.09, 0.01], (3000, 1))
    y = draw(np.tile([0.88, 0.09, 0.03], (3000, 1)), rng)
    check = check_calibration(lw.Ensemble(p[None], class_names=["none", "mild", "severe"]), y, rng=0, n_bootstrap=200)
    assert check.at_least < 0.05
    assert list(check.classes) == ["severe"]
    assert 0.5 < check.classes["severe"] < 2
    assert "'severe'" in str(check)


def test_clusters_make_the_check_careful():
    rng = np.random.default_rng(7)
    patient = np.repeat(np.arange(12), 50)
    p = np.full((600, 2), 0.5)
    y = (rng.permutation(12) < 3).astype(int)[patient]  # whole patients, so there are only twelve outcomes
    assert not check_calibration(p, y, rng=0, n_bootstrap=200).ok
    assert check_calibration(p, y, rng=0, n_bootstrap=200, groups=patient).ok


def test_friendly_errors_of_the_check():
    with pytest.raises(ValueError, match="`tolerance`"):
        check_calibration(np.full((3, 2), 0.5), [0, 1, 0], rng=0, tolerance=-1)
    with pytest.raises(ValueError, match="`n_bootstrap` must be an integer of at least 2"):
        check_calibration(np.full((3, 2), 0.5), [0, 1, 0], n_bootstrap=0)
