"""Monotone maps against scikit-learn, and by their gradient."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.calibration._maps import fit_isotonic, fit_slope


def test_isotonic_is_that_of_scikit_learn(optional):
    isotonic = optional("sklearn.isotonic")
    rng = np.random.default_rng(4)
    x, w = rng.integers(0, 40, size=200) / 40, rng.uniform(0.1, 2, size=200)
    y = x + rng.normal(size=200)
    new = rng.uniform(-0.2, 1.2, size=500)
    expected = (
        isotonic.IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=w).predict(new)
    )
    np.testing.assert_allclose(fit_isotonic(x, y, w)(new), expected, atol=1e-12)


def test_the_slope_has_the_gradient_zero_and_finds_the_truth():
    rng = np.random.default_rng(5)
    p = rng.beta(1, 1, size=20_000)
    logit = np.log(p) - np.log1p(-p)
    y = (rng.random(len(p)) < 1 / (1 + np.exp(-0.6 * logit))).astype(float)
    found = fit_slope(p[None], y)
    assert found.slope == pytest.approx(0.6, abs=0.03)
    # the prior pulls by at most the distance from the identity
    assert abs(np.sum((y - found(p)) * logit)) < 0.5
