"""The combinations that tests are run with."""

from __future__ import annotations

from itertools import combinations, product

from pairwise import pairwise


def test_every_two_values_meet_in_few_combinations() -> None:
    axes = ["abcd", "wxyz", "01", "-+", "LMN"]
    rows = pairwise(*axes)
    for (i, first), (j, second) in combinations(enumerate(axes), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(first, second))
    assert len(rows) <= 20 < 4 * 4 * 2 * 2 * 3


def test_two_axes_are_a_product() -> None:
    assert sorted(pairwise("ab", "xyz")) == sorted(product("ab", "xyz"))
