"""LogisticNormal: quadrature for two classes, error bounds that hold for more. The same for K = 10
with 10⁷ points is in benchmarks/verify_logistic_normal.py.
"""

from __future__ import annotations

import functools
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import ndtri
from scipy.stats import qmc

import labelwise as lw
from optional_libraries import optional
from oracle import ENTROPY, FALSE_NEGATIVE, FALSE_POSITIVE

LOSSES = {
    "log": lw.LogLoss(),
    "squared": lw.SquaredLoss(),
    "spherical": lw.SphericalLoss(),
    "zero_one": lw.ZeroOneLoss(),
    "cost": lw.CostLoss(FALSE_POSITIVE, FALSE_NEGATIVE),
    "boosting": lw.BetaLoss(-0.5, -0.5),
}
# mean and standard deviation of the log-odds; in the last ones E Θ comes from 4 to 20 deviations
# out
TWO_CLASSES = [(0, 1), (0.5, 1e-4), (-3, 0.3), (1, 4), (0, 100), (-30, 4), (40, 12), (-300, 20)]


SIDES = (lambda t, c: t, lambda t, c: c)


def normal_log_odds(
    entropy: Any, loc: float, scale: float, corner: float | None
) -> tuple[Any, Any]:
    """TU and AU of Θ = sigmoid(loc + scale z)."""
    mean = [expect(side, loc, scale, None) for side in SIDES]
    return entropy(*mean), expect(entropy, loc, scale, corner)


@functools.cache  # the means are those of every loss
def expect(f: Any, loc: float, scale: float, corner: float | None) -> Any:
    """E f(Θ, 1 − Θ) by tanh-sinh quadrature in pieces over z, in 20 digits."""
    mu, sd = mpf(loc), mpf(scale)
    far = min(mp.mpf(abs(loc)) / sd, sd)  # where t · density (or c · density) is largest
    ends = {mpf(x) for x in (-13 - far, -4, 0, 4, 13 + far)} | {
        -mu / sd + x / sd for x in (-20, -5, 0, 5, 20)
    }
    ends |= {s * far + x for s in (-1, 1) for x in (-4, 0, 4)}
    if corner is not None:
        ends.add((mp.log(mpf(corner) / (1 - mpf(corner))) - mu) / sd)
    inside = sorted(x for x in ends if abs(x) <= 13 + far)

    def integrand(z: Any) -> Any:
        density, t, c = law_at(mu + sd * z, z)
        return density * f(t, c)

    most = max(integrand(z) for z in inside)  # quad works to an absolute accuracy
    return most * mp.quad(lambda z: integrand(z) / most, inside, maxdegree=6)


@functools.cache  # the nodes are those of every loss
def law_at(log_odds: Any, z: Any) -> tuple[Any, Any, Any]:
    """The density at z, and Θ and 1 − Θ there."""
    odds = mp.exp(log_odds)
    return mp.npdf(z), odds / (1 + odds), 1 / (1 + odds)


@pytest.mark.parametrize("name", LOSSES)
def test_two_classes(name: str) -> None:
    corner = {"zero_one": 0.5, "cost": FALSE_POSITIVE / (FALSE_POSITIVE + FALSE_NEGATIVE)}.get(name)
    with mpmath.workdps(20):
        truth = [normal_log_odds(ENTROPY[name], *case, corner) for case in TWO_CLASSES]
    loc, scale = (np.array(x, float) for x in zip(*TWO_CLASSES, strict=True))
    mean = np.stack([loc, 0 * loc], axis=-1)
    variance = np.stack([0.36 * scale**2, 0.64 * scale**2], axis=-1)
    u = lw.decompose(lw.LogisticNormal(mean, variance), LOSSES[name])
    error = u.error
    assert error is not None
    for i, (total, aleatoric) in enumerate(truth):
        for found, exact, bound in (
            (u.total, total, error.total),
            (u.aleatoric, aleatoric, error.aleatoric),
            (u.epistemic, total - aleatoric, error.epistemic),
        ):
            assert abs(found[i, 0] - exact) <= 1e-11 * total, (TWO_CLASSES[i], name)
            assert bound[i, 0] >= abs(found[i, 0] - exact)
            assert bound[i, 0] <= 1.1e-9 * total  # the accuracy that is stated
    single = lw.decompose(
        lw.LogisticNormal(mean.astype(np.float32), variance.astype(np.float32)), LOSSES[name]
    )
    possible = u.aleatoric[:, 0] > 1e-30  # the rest is too small for float32
    np.testing.assert_array_less(
        abs(single.epistemic - u.epistemic)[possible], 1e-5 * u.total[possible]
    )


def random_instances(n: int, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances from nearly certain to wide open, every other one diagonal."""
    mean = rng.normal(size=(n, k)) * 10 ** rng.uniform(-1, 0.7, (n, 1))
    root = rng.normal(size=(n, k, k)) * 10 ** rng.uniform(-1, 0.5, (n, 1, 1))
    cov = root @ np.swapaxes(root, -1, -2)
    cov[::2] = np.eye(k) * 10 ** rng.uniform(-2, 1.3, (len(cov[::2]), 1, k))
    return mean, cov


def fine_grid(
    mean: np.ndarray, cov: np.ndarray, size: int = 181
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K = 3: the probabilities, their complements and the weights of a trapezoidal rule over the
    two log-odds, exact to 1e-6.
    """
    z = np.linspace(-8.5, 8.5, size)
    density = np.exp(-z * z / 2)
    density /= density.sum()
    to_odds = np.array([[1, 0, -1], [0, 1, -1]])
    factor = np.linalg.cholesky(to_odds @ cov @ to_odds.T)
    points = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    odds = np.concatenate([to_odds @ mean + points @ factor.T, np.zeros((len(points), 1))], axis=1)
    t = np.exp(odds - odds.max(axis=1, keepdims=True))
    t /= t.sum(axis=1, keepdims=True)
    return (
        t,
        np.stack([t[:, [1, 2]].sum(1), t[:, [0, 2]].sum(1), t[:, [0, 1]].sum(1)], axis=1),
        np.outer(density, density).reshape(-1, 1),
    )


@functools.cache
def normal_points(k: int) -> np.ndarray:
    uniform = qmc.Sobol(k, rng=np.random.default_rng(99)).random(2**17)
    return np.asarray(ndtri(uniform))


def many_points(mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Any K: 32 times as many points as the law itself uses, of another sequence."""
    z = mean + normal_points(len(mean)) @ np.linalg.cholesky(cov).T
    t = np.exp(z - z.max(axis=1, keepdims=True))
    t /= t.sum(axis=1, keepdims=True)
    return t, 1 - t, 1 / len(t)


@pytest.mark.parametrize(
    ("n", "k", "names"),
    [(180, 3, ["log", "squared", "zero_one"]), (8, 10, ["log", "spherical", "cost"])],
)
def test_error_bounds_hold(n: int, k: int, names: list[str]) -> None:
    """At least 93 of 100 errors are within the 95 % bounds: total, aleatoric, epistemic; n · K
    cases for each loss.
    """
    mean, cov = random_instances(n, k, np.random.default_rng(k))
    truth: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for i in range(n):
        t, c, w = (fine_grid if k == 3 else many_points)(mean[i], cov[i])
        for name in names:
            total = LOSSES[name].entropy((w * t).sum(0), (w * c).sum(0))
            aleatoric = (w * LOSSES[name].entropy(t, c)).sum(0)
            truth[name].append(np.stack([total, aleatoric, total - aleatoric]))
    for name in names:
        u = lw.decompose(lw.LogisticNormal(mean, cov), LOSSES[name])
        assert u.error is not None
        found = np.stack([u.total, u.aleatoric, u.epistemic], axis=1)
        bound = np.stack([u.error.total, u.error.aleatoric, u.error.epistemic], axis=1)
        exact = np.stack(truth[name])
        covered = np.mean(abs(found - exact) <= bound, axis=(0, 2))
        assert np.all(covered >= 0.93), (name, covered)
        assert np.median(bound / exact[:, :1]) < 1e-2  # and they are not merely wide


def test_more_points_make_the_bounds_narrower() -> None:
    mean, cov = random_instances(10, 4, np.random.default_rng(1))
    few, many = (lw.decompose(lw.LogisticNormal(mean, cov, points=n)).error for n in (64, 1024))
    assert few is not None
    assert many is not None
    assert np.median(many.epistemic / few.epistemic) < 0.25


@pytest.mark.parametrize(
    "loss", ["log", "squared", "spherical", lw.CostLoss(1, 9), lw.BetaLoss(1, 2)]
)
def test_tensors_have_the_values_of_arrays(loss: Any) -> None:
    torch = optional("torch")
    rng = np.random.default_rng(4)
    mean, variance = rng.standard_normal((20, 4)), rng.random((20, 4))
    expected = lw.decompose(lw.LogisticNormal(mean, variance), loss)
    q = lw.LogisticNormal(torch.from_numpy(mean), torch.from_numpy(variance))
    found = lw.decompose(q, loss)
    for part in ("total", "aleatoric", "epistemic"):
        x, y = getattr(found, part), getattr(expected, part)
        assert isinstance(x, torch.Tensor)
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(
            getattr(found.error, part).numpy(), getattr(expected.error, part), rtol=1e-8, atol=1e-13
        )


@pytest.mark.parametrize("loss", ["log", "squared", "spherical"])
def test_derivatives_of_atoms(loss: str) -> None:
    torch = optional("torch")
    rng = np.random.default_rng(5)
    factor = torch.from_numpy(rng.standard_normal((2, 3, 3)))
    mean = torch.from_numpy(rng.standard_normal((2, 3)))

    def parts(mean: Any, factor: Any) -> Any:
        q = lw.LogisticNormal(mean, factor @ factor.mT, points=16)
        u = lw.decompose(q, loss)
        return u.total, u.aleatoric, u.epistemic

    given = mean.requires_grad_(), factor.requires_grad_()
    assert torch.autograd.gradcheck(parts, given, rtol=1e-4)
    if loss == "log":
        assert torch.autograd.gradgradcheck(parts, given, rtol=1e-3)
