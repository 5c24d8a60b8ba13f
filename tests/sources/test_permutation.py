"""The permutation tests: against all permutations by loops, planted effects, interactions."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import prod

import numpy as np
import pytest

import labelwise as lw
from labelwise.sources.permutation import PermutationTest, permute_levels, permute_members
from source_cases import crossed, levels


def test_a_planted_effect_is_found_and_interaction_is_not_taken_for_one() -> None:
    rng = np.random.default_rng(5)
    q = lw.Ensemble.from_logits(
        crossed(rng, (4, 4), {(0,): 0.5, (0, 1): 0.3}), factors=levels(4, 4)
    )
    s = lw.decompose(q).sources(rng=0)
    assert s.found == ("f0",)
    assert s.p_values[0] == 0.001
    assert "More than chance (permutation test, 5 % level): f0." in repr(s)
    alarms = 0
    for i in range(40):
        q = lw.Ensemble.from_logits(crossed(rng, (4, 3), {(0, 1): 0.5}, n=8), factors=levels(4, 3))
        alarms += len(lw.decompose(q).sources(rng=i, n_permutations=99).found)
    assert alarms <= 11  # of 80; binomial with 0.05: P(more) < 0.002


def mean_squares(y: np.ndarray) -> dict[tuple[int, ...], tuple[float, int]]:
    """Mean square and degrees of freedom of each effect on values (*sizes, X), from differences of
    marginal means.
    """
    axes = range(y.ndim - 1)
    squares = {}
    for term in (t for k in axes for t in combinations(axes, k + 1)):
        effect = np.zeros_like(y)
        for part in (t for k in range(len(term) + 1) for t in combinations(term, k)):
            mean = y.mean(axis=tuple(j for j in axes if j not in part), keepdims=True)
            effect = effect + (-1) ** (len(term) - len(part)) * mean
        freedom = prod(y.shape[j] - 1 for j in term)
        squares[term] = float((effect**2).sum()) / freedom, freedom
    return squares


def statistic(y: np.ndarray) -> float:
    """Estimated variance of the first factor's main effect in standard errors."""
    squares = mean_squares(y)
    main, freedom = squares[(0,)]
    interactions = [
        (square, df, len(term))
        for term, (square, df) in squares.items()
        if 0 in term and len(term) > 1
    ]
    expected = sum((-1) ** size * square for square, _, size in interactions)
    variance = max(expected, 0) ** 2 / freedom + sum(
        square**2 / df for square, df, _ in interactions
    )
    return float((main - expected) / variance**0.5)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4)])
def test_p_values_are_those_of_all_permutations_of_whole_blocks(sizes) -> None:
    probs = np.random.default_rng(12).dirichlet([1, 1, 1], size=(*sizes, 4))
    q = lw.Ensemble(probs.reshape(-1, 4, 3), member_axis=0, factors=levels(*sizes))
    s = lw.decompose(q, "squared").sources()  # few enough to need no seed
    for factor in range(len(sizes)):
        largest = 0.0
        for other in set(range(len(sizes))) - {factor}:
            y = np.moveaxis(probs.reshape(*sizes, -1), (factor, other), (0, 1))
            orders = product(permutations(range(len(y))), repeat=y.shape[1])
            values = [
                statistic(np.stack([y[list(order), b] for b, order in enumerate(chosen)], axis=1))
                for chosen in orders
            ]
            largest = max(largest, np.mean(np.array(values) >= statistic(y) - 1e-7))
        assert s.p_values[factor] == pytest.approx(largest)
        assert s.smallest_p[factor] == max(
            1 / prod(range(1, sizes[factor] + 1)) ** (n - 1)
            for j, n in enumerate(sizes)
            if j != factor
        )


def test_few_members_of_one_factor_are_enumerated() -> None:
    probs = np.random.default_rng(19).dirichlet([1, 1, 1], size=(4, 5))
    s = lw.decompose(lw.Ensemble(probs, factors={"a": [0, 1, 0, 1]}), "squared").sources()
    assert s.smallest_p.tolist() == [1 / 3]
    x = probs.reshape(4, -1)
    splits = [((0, 2), (1, 3)), ((0, 1), (2, 3)), ((0, 3), (1, 2))]
    between = [((x[list(a)].mean(axis=0) - x[list(b)].mean(axis=0)) ** 2).sum() for a, b in splits]
    assert s.p_values[0] == pytest.approx(np.mean(np.array(between) >= between[0]))


def test_two_by_two_is_too_small_to_find_anything() -> None:
    q = lw.Ensemble.from_logits(
        crossed(np.random.default_rng(7), (2, 2), {(0,): 2.0}), factors=levels(2, 2)
    )
    s = lw.decompose(q).sources(rng=0)
    assert s.smallest_p.tolist() == [0.5, 0.5]
    assert s.p_values.min() >= 0.4
    assert "Too few levels or permutations to show an effect of: f0, f1." in s.sentence


def one_factor(rng: np.random.Generator, effect: float) -> PermutationTest:
    codes = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    members = rng.standard_t(3, size=(8, 4, 3)) + effect * rng.normal(size=(3, 4, 3))[codes]
    return permute_members(members - members.mean(axis=0), codes, 199, rng)


def two_factors(rng: np.random.Generator, effect: float) -> PermutationTest:
    cells = rng.standard_t(3, size=(5, 3, 4, 3)) + rng.normal(size=(3, 4, 3))
    return permute_levels(cells + effect * rng.normal(size=(5, 1, 4, 3)), 199, rng)


@pytest.mark.parametrize("simulate", [one_factor, two_factors])
def test_the_level_is_kept_for_all_labels_at_once(simulate) -> None:
    """Of the factor, and of any of its labels; heavy tails and few members."""
    for effect, at_least, at_most in ((0.0, 0.02, 0.08), (2.0, 0.5, 1.0)):
        rng = np.random.default_rng(3)
        tests = [simulate(rng, effect) for _ in range(400)]
        for p_values in ([test.p for test in tests], [test.label_p.min() for test in tests]):
            assert at_least <= np.mean(np.array(p_values) <= 0.05) <= at_most
