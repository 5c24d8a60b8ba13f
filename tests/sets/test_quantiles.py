"""Ranks and thresholds of conformal prediction against their definitions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelwise.sets._quantiles import as_guarantee_level, conformal_threshold


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.sampled_from(["0.5", "0.8", "0.9", "0.95", "0.7", "0.99"]),
)
def test_thresholds_are_the_smallest_that_cover_enough(values: list[int], written: str) -> None:
    level = as_guarantee_level(float(written))
    assert level == Fraction(written)
    scores = np.sort(np.asarray(values, float))
    t, n = conformal_threshold(scores, level, np.arange(len(scores)))
    assert n == len(scores)
    enough = [s for s in scores if sum(scores <= s) >= Fraction(written) * (len(scores) + 1)]
    assert t == (min(enough) if enough else inf)
    twice = np.repeat(np.arange(len(scores)), 2)
    assert (t, n) == conformal_threshold(np.repeat(scores, 2), level, 7 * twice)
    for s in range(-1, 7):  # p-value above α and score below the threshold are the same thing
        count = sum(scores >= s) + 1
        assert (s <= t) == (Fraction(int(count), len(scores) + 1) > 1 - Fraction(written))


def test_ranks_are_exact_among_many_cases() -> None:
    """⌈(n + 1) · coverage⌉, where products of floating-point numbers miss whole numbers."""
    for n in (9, 999, 99_999, 999_999):
        for written in ("0.9", "0.7", "0.99"):
            scores = np.arange(1, n + 1.0)
            t, _ = conformal_threshold(scores, as_guarantee_level(float(written)), scores)
            rank = ceil((n + 1) * Fraction(written))
            assert t == (rank if rank <= n else inf)
