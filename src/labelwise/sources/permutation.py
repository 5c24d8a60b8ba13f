"""Permutation tests that a factor has no main effect."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from .._arrays import quotient
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
    return _test_of_levels(effect, levels, 1 / len(orders))


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
    return _test_of_levels(effect, levels, smallest)


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


def _test_of_levels(units: np.ndarray, levels: np.ndarray, smallest: float) -> PermutationTest:
    """The share of the sum of squares of units (U, N, K) that lies between the levels that they
    have, (P, U) in all arrangements, the observed one first; labels are adjusted by the largest
    share of all labels.

    The share grows with the F statistic, the mean square between levels against that of the
    interaction (or of the members of a level).
    """
    by_label = np.ascontiguousarray(units.transpose(2, 0, 1))
    products = by_label @ by_label.transpose(0, 2, 1)
    products = np.concatenate([products, products.sum(axis=0, keepdims=True)])
    flat = products.reshape(len(products), -1).T  # pairs of units, for each label and all together
    sizes = np.bincount(levels[0])
    squares = []
    for rows in row_blocks(len(levels), len(flat)):
        some = levels[rows]
        together = (some[:, :, None] == some[:, None, :]) / sizes[some][:, :, None]
        squares.append(together.reshape(len(some), -1) @ flat)
    total = np.einsum("kuu->k", products)
    # A label on which all members agree has no effect.
    share = quotient(np.concatenate(squares), total, -1)
    reached = share[0] - 1e-9
    label_p = (share[:, :-1].max(axis=1)[:, None] >= reached[:-1]).mean(axis=0)
    return PermutationTest(float((share[:, -1] >= reached[-1]).mean()), label_p, smallest)
