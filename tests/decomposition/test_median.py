"""The deviation from the median, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


@pytest.mark.parametrize("m", [1, 2, 5, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_smallest_mean_distance(m: int, weighted: bool) -> None:
    rng = np.random.default_rng(m)
    probs = rng.dirichlet(np.ones(3), (m, 50))
    weights = rng.gamma(1.0, size=m) if weighted else np.ones(m)
    found = lw.median_deviation(lw.Ensemble(probs, weights=weights if weighted else None))
    w = weights / weights.sum()
    distances = [np.tensordot(w, np.abs(probs - center), 1) for center in probs]
    np.testing.assert_allclose(found, np.min(distances, axis=0), atol=1e-15)


def test_axioms() -> None:
    """A0, A1 and A5 hold; it is not a part of a sum."""
    agree = np.repeat(np.random.default_rng(0).dirichlet(np.ones(3), (1, 9)), 4, axis=0)
    assert np.all(lw.median_deviation(agree) == 0)
    q = lw.Ensemble(np.array([[[0.5, 0.3, 0.2]], [[0.4, 0.3, 0.3]], [[0.2, 0.5, 0.3]]]))
    moved = lw.axioms.location_shift(q, [0.1, -0.1, 0.0])
    assert np.all(lw.median_deviation(q) > 0)
    np.testing.assert_allclose(lw.median_deviation(moved), lw.median_deviation(q), atol=1e-15)


def test_events_and_refusals() -> None:
    probs = np.random.default_rng(1).dirichlet(np.ones(3), (5, 4))
    found = lw.median_deviation(probs, events={"not the last": [0, 1]})
    np.testing.assert_allclose(found[:, 0], lw.median_deviation(probs)[:, 2])
    with pytest.raises(lw.InputError, match="needs members"):
        lw.median_deviation(lw.Dirichlet(np.ones((2, 3))))
    with pytest.raises(lw.InputError, match="intervals have none") as refused:
        lw.median_deviation(lw.Intervals(np.array([0.1, 0.2]), np.array([0.8, 0.9])))
    assert "sample" not in str(refused.value)  # which intervals do not have either
