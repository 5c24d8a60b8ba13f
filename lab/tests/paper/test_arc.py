"""Whether accuracy rises as more is rejected."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labelwise.evaluation import rejection_curve
from labelwise_lab.paper.arc import monotonicity


def test_monotonicity_weighs_rises_against_falls():
    assert monotonicity(rejection_curve([1, 2, 3, 4], risk=[4.0, 3.0, 2.0, 1.0])) == 0
    assert monotonicity(rejection_curve([1, 2, 3, 4], risk=[1.0, 2.0, 3.0, 4.0])) == 1
    # by hand: values 1/2, 1/3, 1/2, 1 of 4, 3, 2, 1 kept; up 0, 0, 1/6, 2/3; down 0, 1/6, 0, 0
    curve = rejection_curve([1, 2, 3, 4], correct=[1, 0, 0, 1])
    np.testing.assert_allclose(curve.value, [1 / 2, 1 / 3, 1 / 2, 1])
    assert monotonicity(curve) == pytest.approx((2 / 6 + 2 / 3) / (2 / 6 + 2 / 3 + 3 / 6))
    n = 2000
    score, risk = np.arange(n), np.linspace(0, 0.3, n)
    risk[0] = 1  # one confident mistake at the very end hardly matters
    assert monotonicity(rejection_curve(score, risk=risk)) > 0.999
    # nor does the noise of single cases
    chance = np.random.default_rng(3).random((20, n))
    assert (
        np.mean([monotonicity(rejection_curve(score, correct=row > risk)) for row in chance]) > 0.98
    )
    # mistakes in the middle: rejecting the far end, which is easy, makes it worse at first
    middle = 0.4 * (1 - np.abs(np.linspace(-1, 1, n)))
    assert 0.6 < monotonicity(rejection_curve(score, risk=middle)) < 0.65
    # perfect, and flat
    assert monotonicity(rejection_curve([4, 1, 3], utility=[-4.0, -1.0, -3.0])) == pytest.approx(1)
    assert math.isnan(monotonicity(rejection_curve(np.full(10, 0.3), correct=np.arange(10) < 7)))
