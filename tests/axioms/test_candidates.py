"""Candidates of the search: valid distributions of every kind, rounded without losing a member."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import labelwise as lw
from labelwise.axioms.candidates import (
    SMALLEST_PROBABILITY,
    draw_candidates,
    one_candidate,
    round_candidate,
)


@pytest.fixture
def candidates():
    return draw_candidates(np.random.default_rng(0), 3, 400, 4)


def test_candidates_are_distributions_of_every_kind(candidates):
    c = candidates
    atoms = np.asarray(c.q.probs)
    np.testing.assert_allclose(atoms.sum(axis=-1), 1)
    assert not np.any((atoms > 0) & (atoms < SMALLEST_PROBABILITY / 2))
    assert np.any(np.all(np.isin(atoms, (0.0, 1.0)), axis=(0, -1)))  # certain members
    assert np.any(np.all(atoms > 0.05, axis=(0, -1)))  # inside
    assert np.any(np.ptp(atoms, axis=0).max(axis=-1) < 0.1)  # nearly agreeing
    assert np.any(np.ptp(atoms, axis=0).max(axis=-1) > 0.9)
    assert np.all((c.share > 0) & (c.share <= 1))
    assert np.all((c.p >= 0.02) & (c.p <= 0.98))


def test_numbers_are_rounded_where_no_member_vanishes(candidates):
    one = one_candidate(candidates, 0)
    simple = round_candidate(one, 2)
    np.testing.assert_allclose(simple.q.probs, np.round(simple.q.probs, 2), atol=1e-15)
    np.testing.assert_allclose(simple.q.probs.sum(axis=-1), 1)
    np.testing.assert_allclose(simple.q.probs, one.q.probs, atol=0.02)
    vanishing = lw.Ensemble(one.q.probs, weights=[1e-9, 0.5, 0.5], member_axis=0)
    assert round_candidate(replace(one, q=vanishing), 2) is None
