"""The risk of a deployed forecast, against brute force over members and forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given

import labelwise as lw
from strategies import LOSSES, distributions, loss_id, probabilities

EVENTS = {"first two": [0, 1], "outer": [0, 3], "all but one": [1, 2, 3]}
INFINITE = [lw.LogLoss(), lw.BetaLoss(-0.5, -0.5), lw.BetaLoss(0.0, 1.0)]


@pytest.fixture
def probs() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(4, 0.7), (5, 30))


@pytest.fixture
def forecast() -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.ones(4), 30)


def expected_loss(loss: lw.Loss, truth: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    """φ(f, θ) straight from the loss, Eq. (7)."""
    forecast = forecast + 0 * truth
    one, zero = np.asarray(loss.phi(forecast, 1)), np.asarray(loss.phi(forecast, 0))
    return truth * one + (1 - truth) * zero


def sums(p: np.ndarray) -> np.ndarray:
    return np.stack([p[..., classes].sum(-1) for classes in EVENTS.values()], axis=-1)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 4.0, 0.5]])
@pytest.mark.parametrize("events", [None, EVENTS])
@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_the_risk_is_the_expected_loss(
    loss: lw.Loss, events: Any, weights: Any, probs: np.ndarray, forecast: np.ndarray
) -> None:
    q = lw.Ensemble(probs, weights=weights)
    u = lw.decompose(q, loss, events=events, forecast=forecast)
    p, f = (probs, forecast) if events is None else (sums(probs), sums(forecast))
    risk = np.average(expected_loss(loss, p, f), axis=0, weights=weights)
    entropy = np.average(expected_loss(loss, p, p), axis=0, weights=weights)
    mean = np.average(p, axis=0, weights=weights)
    regret = expected_loss(loss, mean, f) - expected_loss(loss, mean, mean)
    scale = 1e-14 * (1 + np.abs(risk))
    assert np.all(np.abs(u.total - risk) <= scale)
    assert np.all(np.abs(u.epistemic - (risk - entropy)) <= scale)
    assert np.all(np.abs(u.regret - regret) <= scale)
    assert np.all(np.abs(u.total - u.aleatoric - u.epistemic) <= scale)


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_members_as_forecasts(loss: lw.Loss, probs: np.ndarray) -> None:
    """One member, and a random one: pairwise and reverse divergences over all pairs of members."""
    q, w = lw.Ensemble(probs, weights=np.arange(1.0, 6.0)), np.arange(1.0, 6.0) / 15
    losses = np.array([[expected_loss(loss, t, f) for f in probs] for t in probs])
    entropy = np.array([expected_loss(loss, t, t) for t in probs])
    mean = np.tensordot(w, probs, 1)
    of_mean = [expected_loss(loss, mean, f) for f in probs]

    def compare(found: np.ndarray, exact: np.ndarray, size: np.ndarray) -> None:
        """Up to the rounding of numbers of this size."""
        assert np.all(np.abs(found - exact) <= 1e-14 * (1 + size))

    for i in range(5):
        u = lw.decompose(q, loss, forecast=i)
        risk = np.tensordot(w, losses[:, i], 1)
        compare(u.total, risk, risk)
        compare(u.epistemic, np.tensordot(w, losses[:, i] - entropy, 1), risk)
        compare(u.regret, of_mean[i] - expected_loss(loss, mean, mean), risk)
    u = lw.decompose(q, loss, forecast="member")
    risk = np.einsum("i,j,ijnk->nk", w, w, losses)
    compare(u.total, risk, risk)
    compare(u.epistemic, np.einsum("i,j,ijnk->nk", w, w, losses - entropy[:, None]), risk)
    compare(u.regret, np.tensordot(w, of_mean, 1) - expected_loss(loss, mean, mean), risk)


def test_two_classes_are_the_joint_measures(probs: np.ndarray) -> None:
    two = np.stack([probs[..., 0], 1 - probs[..., 0]], axis=-1)
    u = lw.decompose(two, forecast="member")
    reverse = lw.joint.reverse_mutual_information(lw.Ensemble(two))
    np.testing.assert_allclose(u.regret, np.stack([reverse, reverse], -1), rtol=1e-10)
    np.testing.assert_allclose(
        u["0"].epistemic, lw.joint.expected_pairwise_kl(lw.Ensemble(two)), rtol=1e-10
    )


@pytest.mark.parametrize("kind", range(7))
@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_every_distribution(loss: lw.Loss, kind: int) -> None:
    q = distributions()[kind]
    f = np.array([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05]])
    u, mean = lw.decompose(q, loss, forecast=f), lw.decompose(q, loss)
    m = np.asarray(q.mean())
    regret = expected_loss(loss, m, f) - expected_loss(loss, m, m)
    np.testing.assert_allclose(u.regret, regret, atol=1e-9)
    np.testing.assert_allclose(u.total, mean.total + u.regret, rtol=1e-13)
    np.testing.assert_allclose(u.epistemic, mean.epistemic + u.regret, rtol=1e-13, atol=1e-15)


def test_bounds_cover_the_error_of_a_sampled_mean() -> None:
    rng = np.random.default_rng(3)
    loc, scale = rng.normal(size=(40, 3)), rng.gamma(2.0, size=(40, 3))
    f = rng.dirichlet(np.ones(3), 40)
    u = lw.decompose(lw.LogisticNormal(loc, scale, points=16), forecast=f)
    exact = lw.decompose(lw.LogisticNormal(loc, scale, points=2048), forecast=f)
    assert u.error is not None
    assert exact.error is not None
    bound = u.error.total + exact.error.total
    assert np.mean(np.abs(u.total - exact.total) <= bound) >= 0.95
    plain = lw.decompose(lw.LogisticNormal(loc, scale, points=16)).error
    assert plain is not None
    assert np.all(u.error.total >= plain.total)


@pytest.mark.parametrize("loss", INFINITE, ids=loss_id)
def test_a_forecast_that_rules_out_the_possible(loss: lw.Loss) -> None:
    q = lw.Ensemble(np.array([[[0.5, 0.5, 0.0]], [[0.3, 0.7, 0.0]]]))
    u = lw.decompose(q, loss, forecast=np.array([[0.0, 1.0, 0.0]]))
    never, always = loss.unbounded
    assert np.isinf(u.regret[0, 0]) == never  # it never expected label 0
    assert np.isinf(u.regret[0, 1]) == always  # and always label 1
    assert u.regret[0, 2] == 0  # neither does anyone expect label 2
    assert not np.any(np.isnan(u.total))


def test_losses_that_stay_finite() -> None:
    q = lw.Ensemble(np.array([[[0.5, 0.5]], [[0.3, 0.7]]]))
    for loss in ("squared", "spherical", "zero_one", lw.BetaLoss(0.5, 2.0)):
        u = lw.decompose(q, loss, forecast=np.array([[0.0, 1.0]]))
        assert np.all(np.isfinite(u.total))
    own = lw.CustomLoss(lambda f, y: -np.log(f) if y else -np.log1p(-f))
    assert np.all(np.isinf(lw.decompose(q, own, forecast=np.array([[0.0, 1.0]])).total))


@given(probabilities(members=(2, 4)), probabilities(members=(1, 1)))
def test_never_negative_never_nan(p: np.ndarray, f: np.ndarray) -> None:
    k = min(p.shape[-1], f.shape[-1])
    p, f = p[..., :k] + 1e-300, f[..., :k] + 1e-300
    p, f = p / p.sum(-1, keepdims=True), f / f.sum(-1, keepdims=True)
    for loss in LOSSES:
        for given_forecast in (f[0], 0, "member"):
            u = lw.decompose(p, loss, forecast=given_forecast)
            assert u.regret is not None
            for part in (u.total, u.aleatoric, u.epistemic, u.regret):
                assert np.all(part >= 0)


def test_a_member_without_weight_is_ignored() -> None:
    probs = np.array([[[0.5, 0.5]], [[0.4, 0.6]], [[1.0, 0.0]]])
    u = lw.decompose(lw.Ensemble(probs, weights=[1, 1, 0]), forecast="member")
    np.testing.assert_allclose(u.total, lw.decompose(probs[:2], forecast="member").total)
    assert np.all(np.isinf(lw.decompose(probs, forecast="member").total))


def test_the_mean_has_no_regret(probs: np.ndarray) -> None:
    q = lw.Ensemble(probs)
    for loss in LOSSES:
        u = lw.decompose(q, loss, forecast=q.mean())
        np.testing.assert_allclose(u.regret, 0, atol=1e-15)
    assert lw.decompose(q).regret is None


def test_the_action_at_a_tie() -> None:
    """At t = a/(a+b) the package does not act, so a forecast there is charged for that."""
    q = lw.Ensemble(np.array([[[0.8, 0.2]], [[0.6, 0.4]]]))
    u = lw.decompose(q, "zero_one", forecast=np.array([[0.5, 0.5]]))
    np.testing.assert_allclose(u.regret, [[0.4, 0.0]])


def test_members_are_compared_with_themselves() -> None:
    """× M/(M−1) makes the expectation over iid members that of an independent one."""
    rng = np.random.default_rng(5)
    members = rng.beta(2, 3, (20_000, 3))
    probs = np.stack([members.T, 1 - members.T], axis=-1)  # 3 members of 20,000 ensembles
    pairwise = 2 * (2 * 3 / (25 * 6))  # E (Θ − Θ')² = 2 Var
    for given_forecast in (0, "member"):
        u = lw.decompose(probs, "squared", forecast=given_forecast)
        assert u["0"].epistemic.mean() * 3 / 2 == pytest.approx(pairwise, rel=0.02)
    u = lw.decompose(probs, "squared", forecast=np.full((20_000, 2), 0.5))
    assert u["0"].epistemic.mean() == pytest.approx(6 / 150 + 0.01, rel=0.02)


@pytest.mark.parametrize("loss", ["log", "squared", "spherical", lw.BetaLoss(0.5, 2.0)])
def test_gradients(loss: Any, probs: np.ndarray, forecast: np.ndarray) -> None:
    p = torch.tensor(probs[:3, :2, :3] / probs[:3, :2, :3].sum(-1, keepdims=True))
    f = torch.tensor(forecast[:2, :3] / forecast[:2, :3].sum(-1, keepdims=True))

    def risk(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        q = lw.Ensemble(torch.softmax(z, -1))
        return lw.decompose(q, loss, forecast=torch.softmax(y, -1)).total

    start = p.log().requires_grad_(), f.log().requires_grad_()
    assert torch.autograd.gradcheck(risk, start)


def test_jax(probs: np.ndarray, forecast: np.ndarray) -> None:
    import jax
    import jax.numpy as jnp

    u = lw.decompose(probs, forecast=forecast)
    traced = jax.jit(lambda p, f: lw.decompose(p, forecast=f).total)
    np.testing.assert_allclose(
        traced(jnp.asarray(probs), jnp.asarray(forecast)), u.total, rtol=1e-4
    )


@pytest.mark.parametrize("events", [None, EVENTS, lw.events.one_vs_one(4)])
@pytest.mark.parametrize("given_forecast", ["array", 2, "member"])
def test_dask(events: Any, given_forecast: Any, probs: np.ndarray, forecast: np.ndarray) -> None:
    import dask.array as da

    if given_forecast == "array":
        given_forecast = forecast
    lazy = lw.decompose(
        da.from_array(probs, chunks=(5, 7, 4)), events=events, forecast=given_forecast
    )
    u = lw.decompose(probs, events=events, forecast=given_forecast)
    np.testing.assert_array_equal(lazy.total.compute(), u.total)


def test_single_precision_keeps_small_complements() -> None:
    q = lw.Ensemble(np.array([[[0.5, 0.5]]], np.float32))
    u = lw.decompose(q, forecast=np.array([[1e-12, 1 - 1e-12]]))
    assert u.total.dtype == np.float32
    np.testing.assert_allclose(u.total, -0.5 * np.log2(1e-12), rtol=1e-5)


def test_frames_are_matched_by_name(probs: np.ndarray, forecast: np.ndarray) -> None:
    ids, names = [f"p{i}" for i in range(30)], list("abcd")
    members = [pd.DataFrame(p, index=ids, columns=names) for p in probs]
    shuffled = pd.DataFrame(forecast, index=ids, columns=names).iloc[::-1, ::-1]
    u = lw.decompose(lw.Ensemble(members), forecast=shuffled)
    np.testing.assert_array_equal(u.total, lw.decompose(probs, forecast=forecast).total)
    with pytest.raises(lw.InputError, match="no class names"):
        lw.decompose(probs, forecast=shuffled.reset_index(drop=True))


def test_results_carry_the_regret(probs: np.ndarray, forecast: np.ndarray) -> None:
    u = lw.decompose(probs, "squared", forecast=forecast)
    np.testing.assert_array_equal(u[3:5].regret, u.regret[3:5])
    np.testing.assert_array_equal(u["2"].regret, u.regret[:, 2])
    np.testing.assert_allclose(u.sum().regret, u.regret.sum(-1))
    assert {"regret", "regret.0", "regret.3"} <= set(u.to_frame().columns)
    assert u.to_dict()["regret.1"] == pytest.approx(u.regret[:, 1].mean())
    assert u.top(3, by="regret").positions[0] == u.regret.sum(-1).argmax()
    with pytest.raises(lw.InputError, match="by"):
        lw.decompose(probs).top(3, by="regret")
    curve = lw.evaluation.rejection_curve(u.sum().total, correct=np.arange(30) % 2 == 0)
    assert curve.n == 30


def test_there_is_no_largest_total(probs: np.ndarray, forecast: np.ndarray) -> None:
    u = lw.decompose(probs, "squared", forecast=forecast)
    with pytest.raises(lw.InputError, match="may exceed"):
        u.normalized()


@pytest.mark.parametrize(
    ("given_forecast", "match"),
    [
        ("mean", "must be probabilities"),
        (5, "from 0 to 4"),
        (-1, "from 0 to 4"),
        (True, "from 0 to 4"),
        (np.ones((3, 4)) / 4, r"shape \(30, 4\)"),
        (np.ones((30, 4)), "`forecast` must sum to 1"),
    ],
)
def test_other_forecasts_are_refused(given_forecast: Any, match: str, probs: np.ndarray) -> None:
    with pytest.raises(lw.InputError, match=match):
        lw.decompose(probs, forecast=given_forecast)


def test_refused_combinations(probs: np.ndarray, forecast: np.ndarray) -> None:
    with pytest.raises(lw.InputError, match="M/"):
        lw.decompose(probs, "squared", forecast=forecast, correction="jackknife")
    with pytest.raises(lw.InputError, match="has no members"):
        lw.decompose(lw.Dirichlet(np.ones((2, 3))), forecast="member")
    q = lw.Ensemble(probs[:4], factors={"prompt": list("aabb")})
    with pytest.raises(lw.InputError, match="`forecast`"):
        lw.decompose(q, forecast=forecast).sources()
