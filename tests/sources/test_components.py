"""Variance components where the truth is known."""

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
