"""Candidates of the search: valid distributions of every kind, of short numbers."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.axioms.candidates import DECIMALS, draw_candidates, one_candidate


@pytest.fixture
def candidates():
    return draw_candidates(np.random.default_rng(0), 3, 400, 4)


def test_candidates_are_distributions_of_every_kind(candidates):
    c = candidates
    atoms = np.asarray(c.q.probs)
    np.testing.assert_allclose(atoms.sum(axis=-1), 1)
    assert np.any(np.all(np.isin(atoms, (0.0, 1.0)), axis=(0, -1)))  # certain members
    assert np.any(np.all(atoms > 0.05, axis=(0, -1)))  # inside
    assert np.any(np.ptp(atoms, axis=0).max(axis=-1) < 0.1)  # nearly agreeing
    assert np.any(np.ptp(atoms, axis=0).max(axis=-1) > 0.9)
    assert np.all((c.share > 0) & (c.share <= 1))
    assert np.all((c.p >= 0.02) & (c.p <= 0.98))


def test_numbers_are_short_and_no_member_vanishes(candidates):
    for shares in (candidates.q.probs, candidates.q.weights):
        np.testing.assert_allclose(shares, np.round(shares, DECIMALS), atol=1e-15)
    assert candidates.q.weights.min() > 0
    np.testing.assert_allclose(candidates.q.weights.sum(axis=0), 1)
    one = one_candidate(candidates, 7)
    np.testing.assert_array_equal(one.q.probs[:, 0], candidates.q.probs[:, 7])
    np.testing.assert_array_equal(one.p[:, 0], candidates.p[:, 7])
