"""Monte Carlo with error bounds, and the expected maximum of a Dirichlet."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from joint_cases import COSTS, entropy_of


@pytest.mark.parametrize("alpha", [[0.7, 0.7], [2.0, 3.0, 4.0], [1.0] * 6, [0.01, 0.02, 0.5], [400.0, 410.0, 2.0]])
def test_dirichlet_zero_one_against_monte_carlo(alpha: list[float]) -> None:
    q = lw.Dirichlet(np.array(alpha))
    u = lw.joint.decompose(q, "zero_one")
    largest = q.sample(400_000, rng=3).max(-1)
    assert abs(float(u.aleatoric) - (1 - largest.mean())) < 5 * largest.std() / 400_000**0.5
    np.testing.assert_allclose(u.total, 1 - max(alpha) / sum(alpha), rtol=1e-12)


def test_dirichlet_zero_one_uniform_in_closed_form() -> None:
    """E max of a uniform Dirichlet is the harmonic number over K."""
    for k in (2, 3, 10, 100):
        best = sum(1 / i for i in range(1, k + 1)) / k
        u = lw.joint.decompose(lw.Dirichlet(np.ones(k)), "zero_one")
        assert float(u.epistemic) == pytest.approx(best - 1 / k, rel=1e-10)


@pytest.mark.parametrize(("loss", "at_least"), [("spherical", 0.92), (lw.joint.CostMatrix(COSTS, abstain=0.6), 0.88)], ids=str)
def test_sampled_measures_stay_within_their_bounds(loss: object, at_least: float) -> None:
    """All instances share the draws of one seed, so their errors go together: the bounds are right on average over the seeds.

    Costs that are rarely paid have skewed replicates, whose 95 % bounds hold a little less often.
    """
    alphas = np.random.default_rng(4).gamma(1.0, 2.0, (30, 3)) + 0.05
    draws = lw.Dirichlet(alphas).sample(200_000, rng=5)
    entropies = entropy_of(loss, draws)
    truth, noise = entropies.mean(0), entropies.std(0) / 200_000**0.5
    inside = []
    for seed in range(40):
        u = lw.joint.decompose(lw.Dirichlet(alphas), loss, rng=seed)
        assert u.error is not None
        assert np.all(u.epistemic >= 0)
        inside.append(np.abs(u.aleatoric - truth) <= np.hypot(u.error.aleatoric, 2 * noise))
    assert np.mean(inside) >= at_least
    again = lw.joint.decompose(lw.Dirichlet(alphas), loss, rng=seed)
    assert np.array_equal(u.epistemic, again.epistemic)


@pytest.mark.parametrize("loss", ["log", "squared", "zero_one", "spherical"])
def test_mixture_and_logistic_normal_against_samples(loss: str) -> None:
    rng = np.random.default_rng(6)
    mixture = lw.DirichletMixture(rng.gamma(1.0, 3.0, (3, 8, 4)) + 0.2, weights=[1, 2, 3])
    normal = lw.LogisticNormal(rng.normal(0, 2, (8, 4)), rng.gamma(1.0, 1.0, (8, 4)))
    for q in (mixture, normal):
        u = lw.joint.decompose(q, loss, n_samples=16_384)
        draws = q.sample(60_000, rng=7)
        truth = entropy_of(loss, draws)
        slack = 5 * truth.std(0) / 60_000**0.5 + (0 if u.error is None else 2 * u.error.aleatoric)
        assert np.all(np.abs(u.aleatoric - truth.mean(0)) < slack + 1e-12)
        np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, rtol=1e-6, atol=1e-9)
