"""Prevalences of new cases are estimated."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.sets import estimate_prevalence, fit_sets


@pytest.mark.parametrize("method", ["em", "bbse"])
def test_prevalences_are_estimated(method: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [3500, 1500]), np.repeat([0, 1], [1000, 4000])
    odds = [np.exp(2 * rng.normal(2 * z) - 2) * 3 / 7 for z in y]
    q = [np.stack([1 / (1 + o), o / (1 + o)], axis=-1) for o in odds]
    found = estimate_prevalence(q[0], y[0], q[1], method=method)
    np.testing.assert_allclose(found.values, [0.2, 0.8], atol=0.03)
    sets = fit_sets(q[0], y[0], per="marginal", prevalence=found)
    assert "approximately" in sets.guarantee
    known = fit_sets(
        q[0], y[0], per="marginal", prevalence=[0.2, 0.8], source_prevalence=[0.7, 0.3]
    )
    assert "approximately" not in known.guarantee
    same = fit_sets(q[0], y[0], per="marginal", prevalence=[0.7, 0.3])
    np.testing.assert_allclose(same.thresholds, fit_sets(q[0], y[0], per="marginal").thresholds)
