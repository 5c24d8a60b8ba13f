"""Permutation tests that a factor has no main effect."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from .._engine.blocks import row_blocks


class PermutationTest(NamedTuple):
    """p-values of all labels together and of each label (K,), and the smallest possible one."""

    p: float
    label_p: np.ndarray
    smallest: float


def permute_levels(
    means: np.ndarray, n_permutations: int, rng: np.random.Generator
) -> PermutationTest:
    """The main effect of the first of two factors, from the cells' means (n, blocks, N, K).

    The levels of the first factor are permuted within each level of the second, a block, together
    with all cells that they have there. Without a main effect that changes nothing, so the test is
    exact.
    """
    n, blocks = means.shape[:2]
    # The first block keeps its order, because permuting all blocks alike changes nothing.
    orders = _orders_of_blocks(n, blocks - 1, n_permutations, rng)
    orders = np.insert(orders, 0, np.arange(n), axis=1)
    levels = orders.swapaxes(1, 2).reshape(len(orders), -1)
    effect = (means - means.mean(axis=0)).reshape(-1, *means.shape[2:])
    return _test_of_levels(effect, levels, (n - 1) * (blocks - 1), 1 / len(orders))


def permute_members(
    deviation: np.ndarray, codes: np.ndarray, n_permutations: int, rng: np.random.Generator
) -> PermutationTest:
    """The effect of a single factor, whose levels are permuted among the members (M, N, K)."""
    counts, m = np.bincount(codes), len(codes)
    levels = codes[_orders_of_blocks(m, 1, n_permutations, rng)[:, 0]]
    # Members of a level, and levels with equally many members, can change places.
    same = [*counts.tolist(), *np.bincount(counts).tolist()]
    smallest = max(prod(map(factorial, same)) / factorial(m), 1 / len(levels))
    effect = deviation - deviation.mean(axis=0)
    return _test_of_levels(effect, levels, m - len(counts), smallest)


def _orders_of_blocks(
    n: int, blocks: int, n_permutations: int, rng: np.random.Generator
) -> np.ndarray:
    """(P, blocks, n): orders of ``n`` units in each block, the first one as observed; all of them
    where there are few.
    """
    if factorial(n) ** blocks <= n_permutations + 1:
        return np.array([*product(permutations(range(n)), repeat=blocks)])
    observed = np.broadcast_to(np.arange(n), (1, blocks, n))
    drawn = rng.permuted(observed.repeat(n_permutations, axis=0), axis=2)
    return np.concatenate([observed, drawn])


def _test_of_levels(
    units: np.ndarray, levels: np.ndarray, noise_df: int, smallest: float
) -> PermutationTest:
    """The mean square between the levels that units (U, N, K) have, (P, U) in all arrangements,
    against that within them.
    """
    by_label = np.ascontiguousarray(units.transpose(2, 0, 1))
    products = (by_label @ by_label.transpose(0, 2, 1)) / units.shape[1]
    products = np.concatenate([products, products.sum(axis=0, keepdims=True)])
    flat = products.reshape(len(products), -1).T  # pairs of units, for each label and all together
    sizes = np.bincount(levels[0])
    squares = []
    for rows in row_blocks(len(levels), len(flat)):
        some = levels[rows]
        together = (some[:, :, None] == some[:, None, :]) / sizes[some][:, :, None]
        squares.append(together.reshape(len(some), -1) @ flat)
    between = np.maximum(np.concatenate(squares), 0)
    within = np.maximum(np.einsum("kuu->k", products) - between, 0)
    df = len(sizes) - 1
    return _permutation_p_values(between / df, df, within / noise_df, noise_df, smallest)


def _permutation_p_values(
    main: np.ndarray, df: int, noise: np.ndarray, noise_df: int, smallest: float
) -> PermutationTest:
    """From the mean squares (P, K + 1) of all arrangements, the observed one first; labels are
    adjusted by the largest statistic of all labels.

    The statistic is the main effect in standard errors, put into −1 to 1. Its mean square is
    compared with that of the interaction (or of the members of a level), which is what it is on
    average without an effect. The variances are those of normal effects, but for a common scale.
    """
    effect = main - noise
    scale = np.sqrt(noise**2 / df + noise**2 / noise_df + effect**2)
    # A label on which all members agree has no effect.
    statistic = np.where(scale > 0, effect / np.where(scale > 0, scale, 1), -1)
    reached = statistic[0] - 1e-9
    label_p = (statistic[:, :-1].max(axis=1)[:, None] >= reached[:-1]).mean(axis=0)
    return PermutationTest(float((statistic[:, -1] >= reached[-1]).mean()), label_p, smallest)
