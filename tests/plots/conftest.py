"""Drawing without a screen, and predictions to draw."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


@pytest.fixture(autouse=True)
def _headless(optional):
    optional("matplotlib").use("Agg")
    yield
    optional("matplotlib.pyplot").close("all")


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.6), (5, 60))
    q = lw.Ensemble(probs, class_names=["lung", "lymphoma", "$melanoma$", "negative"])
    y = rng.integers(0, 4, 60)
    return q, lw.decompose(q), y
