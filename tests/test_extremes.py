"""Extreme parameters: every distribution, loss and family of events gives finite, non-negative
parts that add up, and the right limits.
"""

from __future__ import annotations

import functools
from itertools import pairwise, product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.special import expit

import labelwise as lw

LOSSES = [
    "log",
    "squared",
    "spherical",
    "zero_one",
    lw.CostLoss(1e6, 1),
    lw.CostLoss(0, 1),
    lw.BetaLoss(-0.5, 2),
    lw.CustomLoss(lambda f, y: (1 - f) ** 2 if y else f**2),
]
JOINT = [
    "log",
    "squared",
    "spherical",
    "zero_one",
    lw.joint.CostMatrix([[0, 1, 5, 0.6], [2, 0, 1, 0.6], [9, 3, 0, 0.6]]),
]
EVENTS = {
    "labels": None,
    "ordinal": lw.events.ordinal(3),
    "pairs": lw.events.one_vs_one(3),
    "groups": lw.events.groups({"some": [0, 1], "all": [0, 1, 2]}),
    "tree": lw.events.tree({"x": {"y": [0, 1]}, "z": [2]}, conditional=True),
}
ALPHAS = {
    "float64": [1e-8, 1e-3, 1, 1e4, 1e10, 1e18, 1e30],
    "float32": [1e-6, 1e-3, 1, 1e4, 1e8, 1e18, 1e30],
}
VARIANCES = [0, 1e-30, 1e-16, 1e-8, 1e-2, 1, 1e2, 1e6]
MEANS = [
    [0, 0, 0],
    [5, 5, 5],
    [1e3, -1e3, 0],
    [5, -3, 1],
    [-1e3, 1e3, 1e3],
    [40, 0, 1],
    [1e-9, 0, 0],
]


def alphas(dtype: str) -> np.ndarray:
    every = np.array(list(product(ALPHAS[dtype], repeat=3)), dtype)
    known = np.array([[1e-6, 1e8, 1], [1e18, 1, 1e18], [1e-6, 1e3, 1e8]], dtype)
    return np.concatenate([known, np.random.default_rng(0).permutation(every)[:30]])


def normals(dtype: str, kind: str, k: int) -> lw.LogisticNormal:
    pairs = list(product(MEANS, VARIANCES))
    mean, variance = np.array([m[:k] for m, _ in pairs], dtype), np.array([v for _, v in pairs])
    factor = np.random.default_rng(0).normal(size=(len(pairs), k, k))
    if kind == "diagonal":
        cov = np.repeat(variance[:, None], k, axis=1)
        cov[1::3, 0] = 0  # one logit is known
    else:
        factor = {
            "full": factor,
            "rank 1": factor[..., :1],
            "constant": np.ones_like(factor[..., :1]),
        }[kind]
        cov = factor @ np.swapaxes(factor, 1, 2) * variance[:, None, None]
        cov = (cov + np.swapaxes(cov, 1, 2)) / 2
    return lw.LogisticNormal(mean, cov.astype(dtype), points=16)


def check(u: Any, dtype: str, what: object) -> None:
    total, *parts = (
        np.asarray(getattr(u, part), float) for part in ("total", "aleatoric", "epistemic")
    )
    for part in (total, *parts):
        assert np.all(np.isfinite(part)), what
        assert np.all(part >= 0), what
    slack = {"float64": 1e-8, "float32": 2e-4}[dtype] * total + 1e-37
    if u.error is not None:
        slack = slack + u.error.total + u.error.aleatoric + u.error.epistemic
        assert np.all(np.isfinite(slack)), what
    assert np.all(np.abs(total - sum(parts)) <= slack), what


@pytest.mark.parametrize("dtype", ALPHAS)
@pytest.mark.parametrize("name", EVENTS)
def test_dirichlets(dtype: str, name: str) -> None:
    alpha = alphas(dtype)
    for loss in LOSSES:
        check(lw.decompose(lw.Dirichlet(alpha), loss, events=EVENTS[name]), dtype, loss)
    for loss in ("log", "spherical", "zero_one"):
        check(
            lw.decompose(
                lw.DirichletMixture(np.stack([alpha, alpha[::-1]])), loss, events=EVENTS[name]
            ),
            dtype,
            loss,
        )


@pytest.mark.parametrize("dtype", ALPHAS)
@pytest.mark.parametrize("loss", JOINT, ids=str)
def test_joint_measures_of_dirichlets(dtype: str, loss: Any) -> None:
    alpha = alphas(dtype)[:12]
    for q in (lw.Dirichlet(alpha), lw.DirichletMixture(np.stack([alpha, alpha[::-1]]))):
        check(lw.joint.decompose(q, loss, n_samples=256), dtype, loss)


@pytest.mark.parametrize("dtype", ALPHAS)
@pytest.mark.parametrize("kind", ["diagonal", "full", "rank 1", "constant"])
@pytest.mark.parametrize("k", [2, 3])
def test_gaussian_logits(dtype: str, kind: str, k: int) -> None:
    q = normals(dtype, kind, k)
    for loss in LOSSES if k == 2 else ("log", "zero_one"):
        check(lw.decompose(q, loss), dtype, loss)
    for name, events in EVENTS.items():
        if k == 3 and name != "labels":
            for loss in ("log", "spherical", "zero_one"):
                check(lw.decompose(q, loss, events=events), dtype, (name, loss))
    if k == 3:
        few = lw.LogisticNormal(q.loc[::5], q.cov[::5])
        for loss in JOINT:
            check(lw.joint.decompose(few, loss, n_samples=256), dtype, loss)


@pytest.mark.parametrize("dtype", ALPHAS)
@pytest.mark.parametrize("events", [None, lw.events.one_vs_one(2)], ids=["labels", "pairs"])
@pytest.mark.parametrize("singular", [False, True], ids=["variances", "covariance"])
def test_known_logits_are_a_point_mass(dtype: str, events: Any, singular: bool) -> None:
    mean = np.array([[0, 0], [5, 0], [-40, 3], [1e3, -1e3]], dtype)
    cov = np.ones((4, 2, 2), dtype) if singular else np.zeros((4, 2), dtype)
    odds = (mean - mean[:, ::-1])[:, :1] if events else mean - mean[:, ::-1]
    t, c = expit(odds), expit(-odds)
    for loss in LOSSES:
        u = lw.decompose(lw.LogisticNormal(mean, cov), loss, events=events)
        np.testing.assert_array_equal(u.epistemic, 0)
        for part in (u.total, u.aleatoric):
            np.testing.assert_allclose(
                part,
                lw.losses.as_loss(loss).entropy(t, c),
                rtol={"float64": 1e-13, "float32": 2e-5}[dtype],
            )


@pytest.mark.parametrize("dtype", ALPHAS)
@pytest.mark.parametrize("variance", [1e-18, 1e-16, 1e-12])
def test_narrow_gaussian_logits_have_the_variance_of_their_tangent(
    dtype: str, variance: float
) -> None:
    q = lw.LogisticNormal(np.array([5, 0], dtype), np.array([variance, 0], dtype))
    slope = 1 / (2 + np.exp(5) + np.exp(-5))
    np.testing.assert_allclose(
        lw.decompose(q, "squared").epistemic,
        slope**2 * variance,
        rtol={"float64": 1e-9, "float32": 1e-5}[dtype],
    )


def test_covariances_with_rounding_below_zero_are_factorizable() -> None:
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    exact, rounded = ((axes * [1, 0.5, low]) @ axes.T for low in (0, -1e-13))
    rounded = (rounded + rounded.T) / 2
    ours, theirs = (
        lw.decompose(lw.LogisticNormal(np.zeros(3), cov)).epistemic
        for cov in (rounded, (exact + exact.T) / 2)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("n", [1e3, 1e10, 1e18])
def test_zero_one_loss_of_even_betas(n: float) -> None:
    u = lw.decompose(lw.Dirichlet(np.array([n, n])), "zero_one")
    with mp.workdps(50):  # E |Θ − ½| of Beta(n, n)
        expected = mp.gamma(mp.mpf(n) + 0.5) / (2 * mp.sqrt(mp.pi) * mp.gamma(mp.mpf(n) + 1))
    np.testing.assert_allclose(u.epistemic, float(expected), rtol=1e-6)
    np.testing.assert_allclose(u.aleatoric, 0.5 - float(expected), rtol=1e-14)


def quadrature(a: float, b: float) -> dict[str, tuple[Any, Any]]:
    """TU and EU of Beta(a, b) for each loss, integrated over the log-odds in 40 digits."""
    a, b = mp.mpf(a), mp.mpf(b)
    center, spread = mp.log((a + 1) / (b + 1)), mp.sqrt(1 / a + 1 / b)

    def cuts(most: Any) -> list[Any]:
        steps = [min(spread, mp.mpf(1))]
        while steps[-1] < most:
            steps.append(min(3 * steps[-1], most))
        return steps

    low, high = (max(60 / x, 12 * spread) for x in (a, b))
    ends = {
        center,
        *(center - x for x in cuts(low)),
        *(center + x for x in cuts(high)),
        min(max(mp.mpf(0), center - low), center + high),
    }
    peak = -a * mp.log1p(mp.exp(-center)) - b * mp.log1p(mp.exp(center))

    @functools.cache  # the mass and every loss are integrated over the same nodes
    def density(x: Any) -> Any:
        return mp.exp(-a * mp.log1p(mp.exp(-x)) - b * mp.log1p(mp.exp(x)) - peak)

    def integral(f: Any) -> Any:
        points = sorted(ends)
        return sum(mp.quad(f, pair) for pair in pairwise(points))

    def expected(entropy: Any) -> Any:
        return integral(lambda x: density(x) * entropy(1 / (1 + mp.exp(-x)), 1 / (1 + mp.exp(x))))

    mass = integral(density)
    parts = {}
    for loss, entropy in ENTROPIES.items():
        total = entropy(a / (a + b), b / (a + b))
        parts[loss] = total, total - expected(entropy) / mass
    return parts


ENTROPIES = {"zero_one": min, "spherical": lambda t, c: 2 * t * c / (1 + mp.sqrt(t * t + c * c))}


@pytest.mark.parametrize(
    ("a", "b"), [(1e-6, 1e8), (1e8, 1.0), (1e18, 1.0), (1e18, 2e18), (1e-8, 1.0), (1e14, 1e13)]
)
def test_quadrature_agrees_with_mpmath(a: float, b: float) -> None:
    single = np.array([a, b], np.float32)
    alpha = single.astype(np.float64)  # the same numbers in both dtypes: one integral serves both
    with mp.workdps(40):
        exact = quadrature(*alpha.tolist())
    for loss, (total, epistemic) in exact.items():
        for given, accuracy in ((alpha, 1e-9), (single, 1e-5)):
            u = lw.decompose(lw.Dirichlet(given), loss)
            for ours, theirs in (
                (u.total, total),
                (u.epistemic, epistemic),
                (u.aleatoric, total - epistemic),
            ):
                gap = abs(float(ours[0]) - float(theirs))
                assert gap <= accuracy * float(total), (given.dtype, loss)
