"""Variance components and the intervals of their shares, where the truth is known."""

from __future__ import annotations

import numpy as np

import labelwise as lw
from source_cases import levels


def test_variance_components_are_unbiased() -> None:
    """A linear model of two factors and replicates, in which they are known."""
    rng, (a, b, r), n = np.random.default_rng(3), (3, 4, 2), 40_000
    sd = {"f0": 0.02, "f1": 0.04, "interaction": 0.03, "replicates": 0.05}
    shapes = {"f0": (a, 1, 1), "f1": (1, b, 1), "interaction": (a, b, 1), "replicates": (a, b, r)}
    p = 0.5 + sum(
        sd[name] * np.clip(rng.normal(size=(*shape, n)), -3, 3) for name, shape in shapes.items()
    )
    p = np.clip(p, 0, 1).reshape(-1, n)
    factors = {name: np.repeat(x, r) for name, x in levels(a, b).items()}
    s = lw.decompose(
        lw.Ensemble(np.stack([p, 1 - p], axis=-1), factors=factors), "squared"
    ).sources(n_permutations=9, rng=0)
    np.testing.assert_allclose(np.sqrt(s.variance[:, 0]), list(sd.values()), rtol=0.02)


def test_variance_components_of_three_factors_solve_the_expected_mean_squares() -> None:
    rng, sizes, n = np.random.default_rng(4), (2, 3, 4), 20_000
    sd = {(0,): 0.04, (1,): 0.03, (2,): 0.02, (0, 1): 0.03, (0, 1, 2): 0.03}
    p = 0.5 + sum(
        x * rng.normal(size=(*(k if i in t else 1 for i, k in enumerate(sizes)), n))
        for t, x in sd.items()
    )
    p = np.clip(p, 0, 1).reshape(-1, n)
    s = lw.decompose(
        lw.Ensemble(np.stack([p, 1 - p], axis=-1), factors=levels(*sizes)), "squared"
    ).sources(n_permutations=9, rng=0)
    expected = [sd[(0,)] ** 2, sd[(1,)] ** 2, sd[(2,)] ** 2, sd[(0, 1)] ** 2 + sd[(0, 1, 2)] ** 2]
    np.testing.assert_allclose(s.variance[:, 0], expected, rtol=0.05, atol=2e-5)


def test_intervals_cover_the_share_of_the_variance() -> None:
    """Effects that are the same in all instances, so that a factor of four levels has three degrees
    of freedom.
    """
    rng, covered = np.random.default_rng(18), 0
    for _ in range(60):
        effects = (
            0.02 * rng.normal(size=(4, 1, 1))
            + 0.01 * rng.normal(size=(1, 4, 1))
            + 0.02 * rng.normal(size=(4, 4, 1))
        )
        p = np.broadcast_to(0.5 + effects, (4, 4, 5)).reshape(16, 5)
        q = lw.Ensemble(np.stack([p, 1 - p], axis=-1), member_axis=0, factors=levels(4, 4))
        low, high = lw.decompose(q, "squared").sources(n_permutations=1, rng=0).intervals[0]
        covered += low <= 4 / 9 <= high
    assert covered >= 51  # binomial with 0.95: P(fewer) < 0.002
