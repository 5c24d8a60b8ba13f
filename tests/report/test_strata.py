"""Some cases of every kind, and weights that keep sums unbiased."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.report.strata import choose_rows, number_strata


def test_strata_are_combinations_until_there_are_too_many() -> None:
    a, b = np.repeat([0, 1, 2, 3], 6), np.tile([0, 1, 2], 8)
    both = number_strata([a, b], 100)
    assert len(np.unique(both)) == len(np.unique(np.stack([a, b]), axis=1)[0])
    assert len(np.unique(number_strata([a, b], 5))) == 3  # the first key is left out
    assert number_strata([a, b], 2).max() == 0


def test_every_stratum_has_cases_and_its_highest_come_first() -> None:
    rng = np.random.default_rng(0)
    stratum = np.repeat([0, 1, 2], [1000, 50, 3])
    score = rng.random(1053)
    chosen = choose_rows(stratum, [score], 60, rng.random(1053))
    assert len(chosen.rows) <= 60
    assert set(stratum[chosen.rows]) == {0, 1, 2}
    assert np.all(np.isin(np.flatnonzero(stratum == 2), chosen.rows))
    best = np.argsort(-np.where(stratum == 0, score, -1))[:10]
    assert np.all(np.isin(best, chosen.rows))
    assert np.all(np.diff(chosen.rows) > 0)


def test_sums_over_the_chosen_are_unbiased() -> None:
    rng = np.random.default_rng(0)
    stratum = rng.integers(0, 4, 400)
    score, value = rng.random(400), rng.random(400)
    sums = []
    for _ in range(400):
        chosen = choose_rows(stratum, [score], 80, rng.random(400))
        sums.append(np.sum(chosen.weight * value[chosen.rows]))
    standard_error = np.std(sums) / np.sqrt(len(sums))
    assert np.mean(sums) == pytest.approx(value.sum(), abs=4 * standard_error)


def test_all_are_chosen_where_there_is_room() -> None:
    chosen = choose_rows(np.zeros(9, int), [np.arange(9.0)], 20, np.arange(9.0))
    assert chosen.rows.tolist() == list(range(9))
    assert chosen.weight.tolist() == [1] * 9
