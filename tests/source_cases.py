"""Ensembles of crossed factors for the tests of their sources."""

from __future__ import annotations

from itertools import product

import numpy as np


def levels(*sizes: int) -> dict[str, list[str]]:
    """A complete crossing, the last factor fastest."""
    cells = list(product(*(range(n) for n in sizes)))
    return {f"f{i}": [f"level {cell[i]}" for cell in cells] for i in range(len(sizes))}


def crossed(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    effects: dict[tuple[int, ...], float],
    n: int = 30,
) -> np.ndarray:
    """Logits (M, n, 3) with normal effects of these sizes for some subsets of factors."""
    z = 2 * rng.normal(size=(n, 3)) + np.zeros((*sizes, n, 3))
    for subset, size in effects.items():
        z = z + size * rng.normal(
            size=(*(k if i in subset else 1 for i, k in enumerate(sizes)), n, 3)
        )
    return z.reshape(-1, n, 3)


def unbalanced(
    rng: np.random.Generator, means: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Members whose mean in each cell is one of ``means`` (C, N, K), and their factors in a 3 × 4
    design.
    """
    members = []
    for mean, count in zip(means, counts, strict=True):
        noise = 0.02 * rng.normal(size=(count, *mean.shape))
        noise -= noise.mean(axis=0)
        members.append(mean + noise - noise.mean(axis=-1, keepdims=True))
    return np.concatenate(members), {name: np.repeat(x, counts) for name, x in levels(3, 4).items()}
