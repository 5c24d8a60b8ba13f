"""Isotonic maps against scikit-learn."""

from __future__ import annotations

import numpy as np

from labelwise.calibration._maps import fit_isotonic


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
