"""Probability intervals: bounds of events against linear programs, and everything made of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import linprog

import labelwise as lw

EVENTS = {"first": [0], "two": [0, 2], "rest": [1, 2, 3], "all": [0, 1, 2, 3]}


def boxes(k: int, n: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random boxes around a probability vector each, many with bounds that are never attained."""
    rng = np.random.default_rng(seed)
    center = rng.dirichlet(np.ones(k), n)
    low = np.maximum(center - rng.random((n, k)) ** 2 * 0.6, 0)
    high = np.minimum(center + rng.random((n, k)) ** 2 * 0.6, 1)
    return low, high


def extreme(low: np.ndarray, high: np.ndarray, inside: Any, sign: float) -> float:
    """The smallest (or largest) probability of an event, by linear programming."""
    k = len(low)
    objective = np.zeros(k)
    objective[list(inside)] = sign
    bounds = list(zip(low, high, strict=True))
    found = linprog(objective, A_eq=np.ones((1, k)), b_eq=[1], bounds=bounds)
    assert found.status == 0
    return float(sign * found.fun)


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_labels_against_linear_programs(k: int) -> None:
    low, high = boxes(k)
    law = lw.Intervals(low, high).marginal()
    for i, (box_low, box_high) in enumerate(zip(low, high, strict=True)):
        for j in range(k):
            least, most = [extreme(box_low, box_high, [j], sign) for sign in (1.0, -1.0)]
            assert law.lower[0][i, j] == pytest.approx(least, abs=1e-12)
            assert law.upper[0][i, j] == pytest.approx(most, abs=1e-12)
            assert law.lower[1][i, j] == pytest.approx(1 - least, abs=1e-12)
            assert law.upper[1][i, j] == pytest.approx(1 - most, abs=1e-12)


def test_events_against_linear_programs() -> None:
    low, high = boxes(4, seed=1)
    law = lw.Intervals(low, high).marginal(EVENTS)
    for i, (box_low, box_high) in enumerate(zip(low, high, strict=True)):
        for j, inside in enumerate(EVENTS.values()):
            least, most = [extreme(box_low, box_high, inside, sign) for sign in (1.0, -1.0)]
            assert law.lower[0][i, j] == pytest.approx(least, abs=1e-12)
            assert law.upper[0][i, j] == pytest.approx(most, abs=1e-12)


def test_conditional_events_against_linear_programs() -> None:
    """θ_0/(θ_0+θ_1) ≥ r if and only if θ_0 − r (θ_0 + θ_1) can get no lower than 0."""
    low, high = boxes(4, seed=2)
    events = lw.events.one_vs_one(4)
    law = lw.Intervals(low, high).marginal(events)
    for i, bounds in enumerate(np.stack([low, high], -1)):
        for j, (inside, given) in enumerate(zip(events.inside, events.given or (), strict=True)):
            for end, sign in ((law.lower, 1.0), (law.upper, -1.0)):
                objective = np.zeros(4)
                objective[list(inside)] += sign
                objective[list(given)] -= sign * end[0][i, j]
                found = linprog(objective, A_eq=np.ones((1, 4)), b_eq=[1], bounds=bounds)
                assert found.fun == pytest.approx(0, abs=1e-9)


def test_the_mean_is_a_point_of_the_set() -> None:
    low, high = boxes(5, n=200)
    mean = lw.Intervals(low, high).mean()
    np.testing.assert_allclose(mean.sum(-1), 1)
    assert np.all((mean >= low - 1e-12) & (mean <= high + 1e-12))
    width = np.where(high > low, high - low, np.nan)
    share = (mean - low) / width
    np.testing.assert_allclose(share - share[:, :1], 0, atol=1e-9)  # of all intervals the same


def test_narrow_intervals_are_certain() -> None:
    probs = np.random.default_rng(3).dirichlet(np.ones(4), 100)
    q = lw.Intervals(probs, probs)
    for loss in ("log", "squared", "spherical", "zero_one"):
        u = lw.decompose(q, loss)
        np.testing.assert_allclose(u.total, lw.decompose(probs[None], loss).total, rtol=1e-12)
        assert np.all(u.epistemic == 0)
        assert np.all(np.asarray(u.regret) <= 1e-30)


@pytest.mark.parametrize("events", [None, EVENTS])
def test_sums_bound_the_largest_total(events: Any) -> None:
    q = lw.Intervals(*boxes(4, seed=4))
    u = lw.decompose(q, "squared")
    rng = np.random.default_rng(0)
    for i in range(12):
        draws = rng.dirichlet(np.ones(4), 20_000)
        fits = np.all((draws >= q.lower[i]) & (draws <= q.upper[i]), axis=-1)
        if fits.any():
            assert np.max((draws * (1 - draws)).sum(-1)[fits]) <= u.sum().total[i] + 1e-12
    assert "upper bounds" in repr(u.sum())
    assert "upper bounds" not in repr(u)


@pytest.mark.parametrize("quantiles", [(0.0, 1.0), (0.1, 0.9), (0.25, 0.75), (0.5, 1.0)])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 1.0, 4.0]])
def test_quantiles_of_members(quantiles: tuple[float, float], weights: Any) -> None:
    probs = np.random.default_rng(5).random((5, 40, 3))
    q = lw.MultiLabelEnsemble(probs, weights=weights)
    found = lw.Intervals.from_members(q, quantiles=quantiles)
    assert not found.exclusive
    w = np.ones(5) / 5 if weights is None else np.asarray(weights) / np.sum(weights)
    for ends, level, below in (
        (found.lower, quantiles[0], True),
        (found.upper, quantiles[1], False),
    ):
        for i, k in np.ndindex(40, 3):
            t = probs[:, i, k]
            if below:  # the smallest value with a share of at least `level` up to it
                shares = [w[t <= x].sum() for x in t]
                reached = [
                    x for x, s, own in zip(t, shares, w, strict=True) if s > level - 1e-9 and own
                ]
                assert ends[i, k] == min(reached)
            else:
                shares = [w[t >= x].sum() for x in t]
                reached = [
                    x
                    for x, s, own in zip(t, shares, w, strict=True)
                    if s > 1 - level - 1e-9 and own
                ]
                assert ends[i, k] == max(reached)


def test_members_of_events() -> None:
    """Extremes of an event are narrower than the bounds from its classes'."""
    probs = np.random.default_rng(6).dirichlet(np.ones(4), (5, 30))
    groups = {"even": [0, 2], "odd": [1, 3]}
    direct = lw.Intervals.from_members(probs, events=groups)
    assert direct.exclusive
    assert direct.class_names == ("even", "odd")
    np.testing.assert_allclose(direct.lower[:, 0], probs[..., [0, 2]].sum(-1).min(0))
    np.testing.assert_allclose(direct.upper[:, 1], probs[..., [1, 3]].sum(-1).max(0))
    law = lw.Intervals.from_members(probs).marginal(groups)
    assert np.all(direct.lower >= law.lower[0] - 1e-12)
    assert np.all(direct.upper <= law.upper[0] + 1e-12)
    assert not lw.Intervals.from_members(probs, events=lw.events.ordinal(4)).exclusive


def test_frames_are_matched_by_name() -> None:
    low, high = boxes(3, n=5)
    ids, names = list("vwxyz"), ["a", "b", "c"]
    lower = pd.DataFrame(low, index=ids, columns=names)
    upper = pd.DataFrame(high, index=ids, columns=names).iloc[::-1, ::-1]
    q = lw.Intervals(lower, upper)
    np.testing.assert_array_equal(q.upper, high)
    assert q.class_names == ("a", "b", "c")
    assert list(lw.decompose(q).to_frame().index) == ids


def test_tables_slices_and_rejection() -> None:
    q = lw.Intervals(*boxes(3, n=40), class_names=["a", "b", "c"])
    u = lw.decompose(q)
    frame = u.to_frame()
    assert {"total", "regret", "epistemic.b", "regret.c"} <= set(frame.columns)
    np.testing.assert_array_equal(lw.decompose(q[3:7]).regret, u.regret[3:7])
    y_true = np.random.default_rng(0).integers(3, size=40)
    curve = lw.evaluation.rejection_curve(u.sum().regret, correct=q.mean().argmax(-1) == y_true)
    assert curve.n == 40
    assert np.all(u.normalized().total <= 1)
    assert u.normalized()["a"].regret.max() <= 1
    assert "40 instances × 3 classes" in repr(q)
    again = pickle.loads(pickle.dumps(q))
    np.testing.assert_array_equal(lw.decompose(again).total, u.total)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_at_0_stay_at_0(dtype: type) -> None:
    """What others leave is not found by subtraction: steep entropies would show its rounding."""
    upper = np.random.default_rng(7).uniform(0.1, 0.9, 500).astype(dtype)
    low = np.stack([0 * upper, 1 - upper], axis=-1)
    high = np.stack([upper, 0 * upper + 1], axis=-1)
    u = lw.decompose(lw.Intervals(low, high), lw.BetaLoss(-0.5, -0.5))
    assert np.all(u.aleatoric == 0)
    point = np.eye(4, dtype=dtype)[None]
    u = lw.decompose(lw.Intervals(point, point), lw.BetaLoss(-0.5, -0.5))
    assert np.all(u.total == 0)


def test_labels_that_stand_for_themselves() -> None:
    low, high = np.array([[0.6, 0.7, 0.1]]), np.array([[0.8, 0.9, 0.2]])
    u = lw.decompose(lw.Intervals(low, high, exclusive=False), "squared")
    np.testing.assert_allclose(u.total, [[0.24, 0.21, 0.16]])
    np.testing.assert_allclose(u.aleatoric, [[0.16, 0.09, 0.09]])
    assert u.structure == "free"
    with pytest.raises(lw.InputError, match="have no meaning for a Intervals"):
        lw.decompose(lw.Intervals(low, high, exclusive=False), events={"a": [0, 1]})


def test_torch_and_dask() -> None:
    import dask.array as da

    low, high = boxes(4)
    u = lw.decompose(lw.Intervals(low, high))
    tensors = lw.decompose(lw.Intervals(torch.tensor(low), torch.tensor(high)))
    np.testing.assert_allclose(tensors.regret, u.regret, rtol=1e-9, atol=1e-15)
    lazy = lw.decompose(lw.Intervals(da.from_array(low, chunks=(5, 4)), da.from_array(high)))
    np.testing.assert_array_equal(lazy.regret.compute(), u.regret)
    wrong = lw.decompose(lw.Intervals(da.from_array(high), da.from_array(low)))
    with pytest.raises(lw.InputError, match="must not be above"):
        wrong.total.compute()


@pytest.mark.parametrize("loss", ["log", "squared", "spherical", lw.BetaLoss(0.5, 2.0)])
def test_gradients(loss: Any) -> None:
    low, high = [torch.tensor(x, requires_grad=True) for x in boxes(3, n=4)]

    def parts(low: torch.Tensor, high: torch.Tensor) -> Any:
        u = lw.decompose(lw.Intervals(low, high, exclusive=False), loss)
        return u.total, u.aleatoric, u.regret

    assert torch.autograd.gradcheck(parts, (low.clamp(0.05, 0.9), (high + 0.06).clamp(0.1, 0.95)))


@pytest.mark.parametrize(
    ("low", "high", "match"),
    [
        ([[0.6, 0.6]], [[0.7, 0.7]], "sum to at most 1"),
        ([[0.1, 0.1]], [[0.3, 0.3]], "at least 1"),
        ([[0.5, 0.1]], [[0.4, 0.9]], "`(lower|upper)` must"),
        ([[-0.1, 0.1]], [[0.4, 0.9]], "`(lower|upper)` must"),
        ([[0.1, 0.1]], [[0.4, 1.9]], "`(lower|upper)` must"),
        ([[0.1, np.nan]], [[0.4, 0.9]], "`lower` .*NaN"),
        ([[0.1, 0.1]], [[0.4, 0.9, 0.9]], "same shape"),
        ([[0.1]], [[0.4]], "at least 2 classes"),
    ],
)
def test_what_is_refused(low: Any, high: Any, match: str) -> None:
    with pytest.raises(lw.InputError, match=match):
        lw.Intervals(np.array(low), np.array(high))


def test_what_intervals_do_not_have() -> None:
    q = lw.Intervals(*boxes(3))
    for refused, match in (
        (lambda: q.sample(3), "nothing to sample"),
        (lambda: lw.joint.decompose(q), "no law"),
        (lambda: lw.joint.covariance(q), "no law"),
        (lambda: lw.joint.mutual_information_by_class(q, second_order=True), "no law"),
        (lambda: lw.joint.reverse_mutual_information(q), "no law"),
        (lambda: lw.decompose(q, "squared", correction="jackknife"), "no members"),
        (lambda: lw.decompose(q).sources(), "named factors"),
        (lambda: lw.decompose(q, forecast=q.lower), "no mean"),
        (lambda: lw.Intervals.from_members(lw.Dirichlet(np.ones((2, 3)))), "needs an ensemble"),
        (lambda: lw.Intervals.from_members(q.lower[None] + 0, quantiles=(0.9, 0.1)), "sum to 1"),
        (lambda: lw.Intervals.from_members(np.eye(3)[:, None], quantiles=(0.5, 0.6)), "farther"),
    ):
        with pytest.raises(lw.InputError, match=match):
            refused()


@pytest.mark.parametrize(
    "loss", ["log", "squared", "spherical", "zero_one", lw.BetaLoss(0.5, -0.5)], ids=str
)
def test_bounds_that_are_rounded_to_more_than_1(loss: Any) -> None:
    bounds = np.array([[1 + 5e-7, 0.0]]), np.array([[1 + 5e-7, 0.5]])
    u = lw.decompose(lw.Intervals(*bounds, exclusive=False), loss)
    for part in (u.total, u.aleatoric, u.epistemic, u.regret):
        assert part[0, 0] == 0
        assert part[0, 1] >= 0
