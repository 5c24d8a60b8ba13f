"""Permutation tests that a factor has no main effect."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from .design import degrees_of_freedom, project


class PermutationTest(NamedTuple):
    """p-values of all labels together and of each label (K,), and the smallest possible one."""

    p: float
    label_p: np.ndarray
    smallest: float


class Interaction(NamedTuple):
    """The mean square of an interaction, for permutations and labels (P, K + 1)."""

    square: np.ndarray
    df: int
    order: int
    """The number of other factors."""


def permute_levels(
    means: np.ndarray, factor: int, n_permutations: int, rng: np.random.Generator
) -> PermutationTest:
    """The main effect of one of several factors, from the cells' means (*sizes, N, K).

    For each other factor B, the factor's levels are permuted within each level of B, together with
    all cells that they have there. Without a main effect that changes nothing if all of the
    factor's interactions include B, so the largest p-value over B is exact if it interacts with one
    factor only. The statistic is unbiased and studentized for any interactions, so that the test is
    approximate, not wrong, if it interacts with several.
    """
    tests = []
    for other in range(means.ndim - 2):
        if other != factor:
            tests.append(_test_within(means, factor, other, n_permutations, rng))
    p, label_p, smallest = zip(*tests, strict=True)
    return PermutationTest(max(p), np.max(label_p, axis=0), max(smallest))


def _test_within(
    means: np.ndarray, factor: int, other: int, n_permutations: int, rng: np.random.Generator
) -> PermutationTest:
    """Permute the levels of ``factor`` within each level of ``other``, a block."""
    sizes = means.shape[:-2]
    n, blocks = sizes[factor], sizes[other]
    orders = _orders(n, blocks, n_permutations, rng)
    rest = sorted({*range(len(sizes))} - {factor, other})
    main, interactions = np.empty(0), []
    for order in range(len(rest) + 1):
        for term in combinations(rest, order):
            effect = project(means, centered=(factor, *term), kept=(other,))
            # Each effect stands for as many cells as were averaged, and instances are averaged.
            weight = means.size / effect.size / means.shape[-2]
            effect = np.moveaxis(effect, (factor, other), (0, 1))
            products = weight * _products(effect.reshape(n * blocks, -1, means.shape[-1]))
            products = products.reshape(n, blocks, n, blocks, -1)
            # Cells of the same level in two blocks: only their products change.
            within = np.einsum("ibibk->k", products)
            across = 0.0
            for b, c in combinations(range(blocks), 2):
                across = across + products[orders[:, b], b, orders[:, c], c].sum(axis=1)
            between = np.maximum((within + 2 * across) / blocks, 0)
            df = degrees_of_freedom(sizes, (factor, *term))
            if term:
                interactions.append(Interaction(between / df, df, order))
            else:
                main = between / df
            df *= blocks - 1
            with_other = np.maximum(within - between, 0) / df
            interactions.append(Interaction(with_other, df, order + 1))
    return _p_values(_studentized(main, n - 1, interactions), 1 / len(orders))


def _products(x: np.ndarray) -> np.ndarray:
    """(U, U, K + 1): products of units (U, X, K) for each label, and for all labels together."""
    by_label = np.ascontiguousarray(x.transpose(2, 0, 1))
    products = (by_label @ by_label.transpose(0, 2, 1)).transpose(1, 2, 0)
    return np.concatenate([products, products.sum(axis=-1, keepdims=True)], axis=-1)


def _orders(n: int, blocks: int, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """(P, blocks, n): orders of the levels in each block, the first one as observed; all of them
    where there are few.

    The first block keeps its order, because permuting all blocks alike changes nothing.
    """
    observed = np.broadcast_to(np.arange(n), (blocks, n))
    if factorial(n) ** (blocks - 1) <= n_permutations + 1:
        orders = list(permutations(range(n)))
        return np.array([(orders[0], *chosen) for chosen in product(orders, repeat=blocks - 1)])
    drawn = rng.permuted(np.broadcast_to(observed, (n_permutations, blocks, n)), axis=2)
    drawn[:, 0] = observed[0]
    return np.concatenate([observed[None], drawn])


def permute_members(
    deviation: np.ndarray, codes: np.ndarray, n_permutations: int, rng: np.random.Generator
) -> PermutationTest:
    """The effect of a single factor, whose levels are permuted among the members (M, N, K)."""
    counts = np.bincount(codes)
    n, m = len(counts), len(codes)
    assignments = _assignments(codes, n_permutations, rng)
    products = _products(deviation - deviation.mean(axis=0)) / deviation.shape[1]
    inside = assignments[:, None, :] == np.arange(n)[:, None]
    inside = inside / np.sqrt(counts)[:, None]  # (P, n, M)
    between = np.einsum("pau,uvk,pav->pk", inside, products, inside, optimize=True)
    total = np.einsum("uuk->k", products)
    noise = Interaction(np.maximum(total - between, 0) / (m - n), m - n, 1)
    # Levels with equally many members can change places.
    same = prod(factorial(x) for x in np.bincount(counts).tolist())
    groupings = _n_assignments(counts) // same
    return _p_values(
        _studentized(between / (n - 1), n - 1, [noise]), max(1 / groupings, 1 / len(assignments))
    )


def _n_assignments(counts: np.ndarray) -> int:
    return factorial(int(counts.sum())) // prod(factorial(x) for x in counts.tolist())


def _assignments(codes: np.ndarray, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """(P, M): levels of the members, the first one as observed; all of them where there are few."""
    counts = np.bincount(codes)
    if _n_assignments(counts) > n_permutations + 1:
        drawn = rng.permuted(np.broadcast_to(codes, (n_permutations, len(codes))), axis=1)
        return np.concatenate([codes[None], drawn])
    found = [np.full(len(codes), -1)]
    for level, count in enumerate(counts):
        longer = []
        for given in found:
            for chosen in combinations(np.flatnonzero(given < 0), count):
                filled = given.copy()
                filled[list(chosen)] = level
                longer.append(filled)
        found = longer
    others = [x for x in found if not np.array_equal(x, codes)]
    return np.stack([codes, *others])


def _studentized(main: np.ndarray, df: int, interactions: Sequence[Interaction]) -> np.ndarray:
    """A main effect in standard errors, put into −1 to 1; for permutations and labels (P, K + 1).

    Its mean square is compared with what the interactions of the factor make it on average. The
    variances are those of normal effects, but for a common scale.
    """
    expected, noise = np.zeros_like(main), np.zeros_like(main)
    for x in interactions:
        expected += (-1) ** (x.order + 1) * x.square
        noise += x.square**2 / x.df
    effect = main - expected
    variance = np.maximum(expected, 0) ** 2 / df + noise
    scale = np.sqrt(variance + effect**2)
    # A label on which all members agree has no effect.
    return np.asarray(np.where(scale > 0, effect / np.where(scale > 0, scale, 1), -1))


def _p_values(statistic: np.ndarray, smallest: float) -> PermutationTest:
    """From the statistic (P, K + 1) of all arrangements, the observed one first; labels are
    adjusted by the largest of all labels.
    """
    reached = statistic[0] - 1e-9
    label_p = (statistic[:, :-1].max(axis=1)[:, None] >= reached[:-1]).mean(axis=0)
    return PermutationTest(float((statistic[:, -1] >= reached[-1]).mean()), label_p, smallest)
