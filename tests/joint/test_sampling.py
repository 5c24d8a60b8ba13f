"""Monte Carlo with error bounds, and the expected maximum of a Dirichlet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from joint_cases import COSTS, WITH_ABSTAINING, entropy_of


@pytest.mark.parametrize(
    "alpha", [[0.7, 0.7], [2.0, 3.0, 4.0], [1.0] * 6, [0.01, 0.02, 0.5], [400.0, 410.0, 2.0]]
)
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


@pytest.mark.parametrize("loss", ["spherical", lw.joint.CostMatrix(WITH_ABSTAINING)], ids=str)
def test_sampled_measures_stay_within_their_bounds(loss: object) -> None:
    """All instances share the draws of one seed, so their errors go together: the bounds are right
    on average over the seeds.
    """
    alphas = np.random.default_rng(4).gamma(1.0, 2.0, (10, 3)) + 0.05
    draws = lw.Dirichlet(alphas).sample(200_000, rng=5)
    entropies = entropy_of(loss, draws)
    truth, noise = entropies.mean(0), entropies.std(0) / 200_000**0.5
    inside = []
    for seed in range(40):
        u = lw.joint.decompose(lw.Dirichlet(alphas), loss, rng=seed)
        assert u.error is not None
        assert np.all(u.epistemic >= 0)
        inside.append(np.abs(u.aleatoric - truth) <= np.hypot(u.error.aleatoric, 2 * noise))
    assert np.mean(inside) >= 0.92
    repeated = lw.joint.decompose(lw.Dirichlet(alphas), loss, rng=seed)
    assert np.array_equal(u.epistemic, repeated.epistemic)


def errors(k: int, cost: float = 2.0) -> lw.joint.CostMatrix:
    """Every error costs the same. Unlike zero-one loss, which it is a multiple of, it is
    sampled.
    """
    return lw.joint.CostMatrix(cost * (1 - np.eye(k)))


def estimates(
    q: Any, loss: object, n_samples: int, seeds: int = 100
) -> tuple[np.ndarray, np.ndarray]:
    """Epistemic uncertainty and its error bound for each seed."""
    results = [lw.joint.decompose(q, loss, rng=seed, n_samples=n_samples) for seed in range(seeds)]
    return np.array([u.epistemic for u in results]), np.array(
        [u.error.epistemic for u in results if u.error is not None]
    )


@pytest.mark.parametrize("n_samples", [512, 2048])
@pytest.mark.parametrize("alpha", [[3.0] * 3, [1.0] * 10, [30.0, 31.0, 5.0], [12.0, 3.0, 1.0]])
def test_costs_are_unbiased_and_within_their_bound(alpha: list[float], n_samples: int) -> None:
    """Where actions are (nearly) as good as each other, choosing the best one by the draws would
    understate every regret.
    """
    q = lw.Dirichlet(np.array(alpha))
    exact = 2 * float(lw.joint.decompose(q, "zero_one").epistemic)
    values, bounds = estimates(q, errors(len(alpha)), n_samples)
    assert abs(values.mean() - exact) < 3 * values.std() / 10
    assert np.mean(np.abs(values - exact) <= bounds) >= 0.93


def test_ties_of_gaussian_logits_are_unbiased() -> None:
    """The mean is sampled too, from other points than the regrets. By symmetry TU = 2/3."""
    q = lw.LogisticNormal(np.zeros(3), np.ones(3))
    exact = 2 / 3 - (1 - q.sample(400_000, rng=99).max(axis=-1).mean())
    values, bounds = estimates(q, "zero_one", 512)
    assert abs(values.mean() - exact) < 3 * values.std() / 10
    assert np.mean(np.abs(values - exact) <= bounds) >= 0.93
    results = [lw.joint.decompose(q, "zero_one", rng=seed, n_samples=512) for seed in range(100)]
    for part, truth in (("total", 2 / 3), ("aleatoric", 2 / 3 - exact)):
        inside = [abs(getattr(u, part) - truth) <= getattr(u.error, part) for u in results]
        assert np.mean(inside) >= 0.9


def test_regret_that_was_not_drawn_is_not_ruled_out() -> None:
    n = 512
    certain = lw.Dirichlet(np.array([400.0, 30.0, 10.0]))
    values, bounds = estimates(certain, errors(3), n, seeds=3)
    assert np.all(values == 0)
    np.testing.assert_allclose(bounds, 2 * (1 - 0.025 ** (1 / n)), rtol=1e-9)
    # Missing the first class costs 1000, but on average no more than TU: no bound has to be above
    # it.
    rare = lw.joint.CostMatrix([[0, 1000, 1000], [1, 0, 1], [1, 1, 0]])
    u = lw.joint.decompose(lw.Dirichlet(np.array([1e-5, 10.0, 10.0])), rare, n_samples=n)
    assert u.error is not None
    assert u.error.epistemic <= u.total


def test_seldom_drawn_high_costs_stay_within_the_bound() -> None:
    """Small regrets are seen in every sample, but the large ones, a third of the total, in half of
    them.
    """
    costs = np.array([[0.0, 1000, 1000], [1, 0, 1], [1, 1, 0]])
    q = lw.Dirichlet(np.array([0.001, 10.0, 10.0]))
    values, bounds = estimates(q, lw.joint.CostMatrix(costs), 512)
    assert np.mean(np.abs(values - 0.1354) <= bounds) >= 0.93  # from lab/studies/joint_sampling.py


def test_value_of_knowledge_is_unbiased() -> None:
    """An evidential network without evidence: all classes are as good as each other."""
    alpha = np.ones((20, 10))
    costs = lw.decisions.Costs(2 * (1 - np.eye(10)))
    plan = lw.decisions.decide(lw.Dirichlet(alpha), costs, task="multiclass")
    exact = 2 * lw.joint.decompose(lw.Dirichlet(alpha), "zero_one").epistemic
    assert plan.error is not None
    assert np.all(np.abs(plan.value_of_knowledge - exact) <= plan.error)


@pytest.mark.parametrize("loss", ["spherical", lw.joint.CostMatrix(WITH_ABSTAINING)], ids=str)
def test_an_instance_does_not_depend_on_its_batch(loss: object) -> None:
    rng = np.random.default_rng(1)
    alphas = rng.gamma(1.0, 2.0, (300, 3)) + 0.01
    for q in (lw.Dirichlet(alphas), lw.LogisticNormal(np.log(alphas), alphas)):
        u = lw.joint.decompose(q, loss, n_samples=512)
        assert np.all((u.epistemic >= 0) & (u.epistemic <= u.total) & (u.aleatoric >= 0))
        for i in (0, 170, 299):
            own = lw.joint.decompose(q[i : i + 1], loss, n_samples=512)
            for part in ("total", "aleatoric", "epistemic"):
                assert getattr(own, part)[0] == getattr(u, part)[i]


def test_array_libraries_sample_alike(lib) -> None:
    alpha = np.random.default_rng(2).gamma(1.0, 2.0, (4, 3)) + 0.1
    loss = lw.joint.CostMatrix(COSTS)
    for q, ours in (
        (lw.Dirichlet(alpha), lw.Dirichlet(lib.array(alpha))),
        (lw.LogisticNormal(alpha, alpha), lw.LogisticNormal(lib.array(alpha), lib.array(alpha))),
    ):
        u, v = (
            lw.joint.decompose(q, loss, n_samples=512),
            lw.joint.decompose(ours, loss, n_samples=512),
        )
        np.testing.assert_allclose(lib.numpy(v.epistemic), u.epistemic, rtol=1e-9, atol=1e-12)
        assert u.error is not None
        assert v.error is not None
        np.testing.assert_allclose(
            lib.numpy(v.error.epistemic), u.error.epistemic, rtol=1e-6, atol=1e-12
        )


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
