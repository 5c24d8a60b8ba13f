"""Candidates of the search: valid distributions of every kind, changed at every scale, and rounded
without losing a member.
"""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.axioms.candidates import (
    SMALLEST_PROBABILITY,
    decode,
    draw_parameters,
    mutate_parameters,
    round_parameters,
    simplex,
)


@pytest.fixture
def params():
    return draw_parameters(np.random.default_rng(0), 3, 400, 4)


def test_candidates_are_distributions_of_every_kind(params):
    c = decode(params)
    atoms = np.asarray(c.q.probs)
    np.testing.assert_allclose(atoms.sum(axis=-1), 1)
    assert not np.any((atoms > 0) & (atoms < SMALLEST_PROBABILITY / 2))
    assert np.any(np.all(np.isin(atoms, (0.0, 1.0)), axis=(0, -1)))  # certain members
    assert np.any(np.all(atoms > 0.05, axis=(0, -1)))  # inside
    assert np.any(np.ptp(atoms, axis=0).max(axis=-1) < 0.1)  # nearly agreeing
    assert np.any(np.ptp(atoms, axis=0).max(axis=-1) > 0.9)
    assert np.all((c.share > 0) & (c.share <= 1))
    assert np.all((c.p >= 0.02) & (c.p <= 0.98))


def test_mutation_is_relative_and_keeps_zeros(params):
    children = mutate_parameters(np.random.default_rng(1), params, np.full(400, 0.01))
    assert not np.array_equal(children, params)
    np.testing.assert_array_equal(children == 0, params == 0)
    np.testing.assert_allclose(children, params, rtol=0.06)


def test_tidy_rounds_what_it_can(params):
    one = params[:, :1]
    simple = round_parameters(one, 2)
    np.testing.assert_allclose(simple[..., :4], np.round(simple[..., :4], 2), atol=1e-15)
    np.testing.assert_allclose(simple[..., :4].sum(axis=-1), 1)
    np.testing.assert_allclose(simple[..., :4], simplex(one[..., :4]), atol=0.02)
    vanishing = one.copy()
    vanishing[0, 0, 12] = 1e-9  # the weight of a member
    assert round_parameters(vanishing, 2) is None
