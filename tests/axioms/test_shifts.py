"""Mean-preserving spreads, location shifts and center shifts, Definition 2.1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwise as lw
from labelwise.axioms import center_shift, largest_step, location_shift, mean_preserving_spread


def test_the_known_counterexample_of_log_loss():
    q = lw.Ensemble(np.array([[0.3, 0.7], [0.95, 0.05]]), weights=[0.7, 0.3], member_axis=0)
    shifted = center_shift(q, 0.5)
    np.testing.assert_allclose(shifted.mean(), [0.4975, 0.5025])
    before, after = (lw.decompose(x).sum().aleatoric for x in (q, shifted))
    assert (round(float(before), 4), round(float(after), 4)) == (1.4056, 1.4035)


@st.composite
def ensembles(draw):
    m, b, k = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = None if draw(st.booleans()) else rng.random((m, b)) + 0.1
    return lw.Ensemble(rng.dirichlet(np.ones(k), (m, b)), weights=weights, member_axis=0), rng


def directions(rng, shape):
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1]) - rng.dirichlet(
        np.ones(shape[-1]), shape[:-1]
    )


@settings(max_examples=60, deadline=None)
@given(ensembles(), st.floats(0.05, 0.95), st.floats(0.05, 1))
def test_spread_keeps_the_mean_and_adds_the_variance(drawn, p, share):
    q, rng = drawn
    z = directions(rng, q.probs.shape)
    z = z * (share * np.minimum(largest_step(q, (1 - p) * z), largest_step(q, -p * z)))[..., None]
    spread = mean_preserving_spread(q, z, p=p)
    assert spread.n_members == 2 * q.n_members
    assert spread.probs.min() >= 0
    np.testing.assert_allclose(spread.probs.sum(axis=-1), 1)
    np.testing.assert_allclose(spread.mean(), q.mean(), atol=1e-14)
    weights = np.full(q.probs.shape[:2], 1 / q.n_members) if q.weights is None else q.weights
    added = p * (1 - p) * np.sum(weights[..., None] * z**2, axis=0)  # Var(Z_k)
    before, after = (lw.decompose(x, "squared").epistemic for x in (q, spread))
    np.testing.assert_allclose(after, before + added, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(ensembles(), st.floats(0.05, 1))
def test_shifts_move_every_member_alike(drawn, share):
    q, rng = drawn
    z = directions(rng, q.probs.shape[1:])
    z = z * (share * largest_step(q, z))[..., None]
    shifted = location_shift(q, z)
    assert shifted.probs.min() >= 0
    np.testing.assert_allclose(shifted.probs, q.probs + z, atol=1e-14)
    with pytest.raises(ValueError, match="leaves the probability simplex"):
        location_shift(q, z * 1.01 / share)


@settings(max_examples=60, deadline=None)
@given(ensembles(), st.floats(0.05, 1))
def test_center_shifts_are_location_shifts_toward_the_uniform_vector(drawn, share):
    """Definition 2.1 (iii): Θ' = Θ + z for a constant z, and E Θ' = λ E Θ + (1 − λ)(1/K, …, 1/K)
    for a λ in (0, 1).
    """
    q, _ = drawn
    center = np.full(q.n_classes, 1 / q.n_classes)
    lam = 1 - 0.99 * share * np.minimum(largest_step(q, center - q.mean()), 1)
    assert np.all((lam > 0) & (lam < 1))
    shifted = center_shift(q, lam)
    z = shifted.probs - q.probs
    np.testing.assert_allclose(
        z, np.broadcast_to(z[:1], z.shape), atol=1e-14
    )  # the same for every member
    assert np.all(np.abs(z[0]).max(axis=-1) > 0)
    np.testing.assert_allclose(
        shifted.mean(), lam[..., None] * q.mean() + (1 - lam[..., None]) * center, atol=1e-14
    )
    np.testing.assert_allclose(
        shifted.probs,
        location_shift(q, (1 - lam)[..., None] * (center - q.mean())).probs,
        atol=1e-14,
    )
    before, after = (np.abs(x.mean() - center).max(axis=-1) for x in (q, shifted))
    assert np.all(after < before)
    np.testing.assert_allclose(
        lw.decompose(shifted, "squared").epistemic, lw.decompose(q, "squared").epistemic, atol=1e-14
    )
    for outside in (0.0, 1.0, 1.5, -0.1):
        with pytest.raises(ValueError, match="`lam` must lie strictly between 0 and 1"):
            center_shift(q, outside)


def test_what_does_not_move_is_neither_a_spread_nor_a_shift():
    """Definition 2.1 asks for max Var Z_k > 0, for z ≠ 0, and for a mean that is not the center."""
    q = lw.Ensemble(np.array([[0.3, 0.7], [0.95, 0.05]]), weights=[1.0, 0.0], member_axis=0)
    for z in ([0.0, 0.0], [[0.0, 0.0], [0.05, -0.05]]):  # a member of weight 0 does not spread Q
        with pytest.raises(ValueError, match="the spread would change nothing"):
            mean_preserving_spread(q, z)
    with pytest.raises(ValueError, match="the shift would change nothing"):
        location_shift(q, [0.0, 0.0])
    with pytest.raises(ValueError, match="already has its mean in the center"):
        center_shift(lw.Ensemble(np.array([[0.3, 0.7], [0.7, 0.3]]), member_axis=0), 0.5)


def test_shifts_reach_the_edge_exactly():
    q = lw.Ensemble(np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]), member_axis=0)
    z = np.array([-0.3, 0.1, 0.2])
    at_the_edge = location_shift(q, largest_step(q, z) * z)
    assert at_the_edge.probs[0, 0] == 0


def test_shifts_work_on_float32_and_torch(lib):
    q = lw.Ensemble(lib.array([[[0.3, 0.7]], [[0.95, 0.05]]], "float32"))
    np.testing.assert_allclose(center_shift(q, 0.5).mean(), [[0.5625, 0.4375]], rtol=1e-6)
