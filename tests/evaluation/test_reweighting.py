"""Other member weights without new predictions: against decomposing again."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation._reweighting import reweighted

LOSSES = ["log", "squared", "spherical", "zero_one", lw.CostLoss(1, 5)]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("events", [None, {"a or b": [0, 1], "c": [2]}])
def test_reweighting_equals_decomposing_anew(loss, weighted, events):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], size=(6, 7))
    q = lw.Ensemble(probs, weights=rng.random(6) if weighted else None)
    u = lw.decompose(q, loss, events=events)
    counts = rng.multinomial(6, np.full(6, 1 / 6), size=10)
    weights = counts / counts.sum(1, keepdims=True)
    for w, x in zip(weights, reweighted(q, u, weights), strict=True):
        again = lw.decompose(lw.Ensemble(probs, weights=w), loss, events=events)
        np.testing.assert_allclose(x[0], again.aleatoric, atol=1e-14)
        np.testing.assert_allclose(x[1], again.epistemic, atol=1e-14)


def test_reweighting_keeps_the_digits_when_members_nearly_agree():
    base = np.array([0.3, 0.5, 0.2])
    shift = np.array([1.0, -1.0, 0.0]) * 1e-9
    probs = np.stack([base + m * shift for m in range(4)])[:, None]
    q = lw.Ensemble(probs)
    u = lw.decompose(q, "log")
    (x,) = reweighted(q, u, np.array([[0.5, 0.5, 0.0, 0.0]]))
    again = lw.decompose(lw.Ensemble(probs[:2]), "log")
    np.testing.assert_allclose(x[1][0, :2], again.epistemic[0, :2], rtol=1e-5)
    agree = lw.Ensemble(np.broadcast_to(base, (4, 1, 3)).copy())
    (x,) = reweighted(agree, lw.decompose(agree), np.array([[0.5, 0.5, 0.0, 0.0]]))
    assert np.all(x[1] == 0)
