"""Vacuity against its definition."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation import vacuity


def test_vacuity_of_evidence():
    evidence = np.random.default_rng(0).gamma(2, 3, (20, 4))
    np.testing.assert_allclose(vacuity(lw.Dirichlet(evidence + 1)), 4 / (evidence.sum(-1) + 4))
    assert vacuity(lw.Dirichlet(np.ones(5))) == 1
    with pytest.raises(TypeError, match=r"must be an lw\.Dirichlet"):
        vacuity(lw.Ensemble(np.full((2, 3, 2), 0.5)))
