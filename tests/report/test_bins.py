"""Numbers as bins whose counts are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise.report.bins import bin_at, bin_numbers, short_decimals

NUMBERS = st.lists(
    st.one_of(st.floats(0, 5), st.just(0.0), st.just(1.0), st.just(float("nan"))),
    min_size=1,
    max_size=200,
)


@given(NUMBERS, st.integers(8, 40), st.sampled_from([None, "high", "low"]))
def test_codes_are_where_the_edges_say(values, most, tail) -> None:
    x = np.array(values)
    binned = bin_numbers(x, most, tail)
    assert np.all(np.diff(binned.edges) > 0)
    assert len(binned.centers) == len(binned.edges) - 1 <= most
    known = ~np.isnan(x)
    assert np.array_equal(binned.codes == -1, ~known)
    codes = binned.codes[known]
    assert np.all(binned.edges[codes] <= x[known])
    last = codes == len(binned.centers) - 1
    assert np.all(x[known][~last] < binned.edges[codes[~last] + 1])
    assert np.all(x[known] <= binned.edges[-1])


@pytest.mark.parametrize("tail", [None, "high", "low"])
def test_thresholds_at_edges_give_exact_counts_and_centers_are_means(tail) -> None:
    x = np.random.default_rng(0).gamma(0.5, 1, 5000)
    binned = bin_numbers(x, 160, tail)
    assert len(binned.centers) > 120
    for i, edge in enumerate(binned.edges[:-1]):
        assert np.sum(binned.codes >= i) == np.sum(x >= edge)
    for i, center in enumerate(binned.centers):
        assert center == pytest.approx(x[binned.codes == i].mean(), rel=1e-4)


def test_a_value_that_many_share_has_its_own_bin() -> None:
    x = np.concatenate([np.zeros(500), np.random.default_rng(0).random(500)])
    binned = bin_numbers(x, 50)
    assert np.sum(binned.codes == binned.codes[0]) == 500


def test_the_tail_is_finer() -> None:
    x = np.random.default_rng(0).random(20_000)
    edges = {tail: bin_numbers(x, 200, tail).edges for tail in ("high", "low")}
    assert np.sum(edges["high"] > 0.9) > 2 * np.sum(edges["low"] > 0.9)


def test_wanted_edges_separate() -> None:
    x = np.random.default_rng(0).random(1000)
    binned = bin_at(x, np.array([0.25, 0.5]))
    np.testing.assert_array_equal(binned.codes, np.digitize(x, [0.25, 0.5]))


def test_edges_have_few_digits() -> None:
    found = short_decimals(np.array([0.1, -np.inf]), np.array([0.345678, -0.0]))
    assert found.tolist() == [0.3, 0.0]
    assert not np.signbit(found[1])
