"""Intervals of mean claims: Student's t over cases, wider over groups and annotators."""

from __future__ import annotations

import numpy as np
from scipy import stats

import labelwise as lw
from labelwise.calibration import vote_reliability
from labelwise.calibration.votes import read_votes
from labelwise.calibration.votes_intervals import half_width
from vote_cases import predictions, voted


def test_groups_widen_the_interval():
    rng = np.random.default_rng(2)
    q = predictions(rng, 40)
    repeated = lw.Ensemble(np.repeat(q.probs, 10, axis=1))
    votes = np.repeat(voted(rng, q, 2), 10, axis=0)  # ten copies of each case
    alone, plain, grouped = (
        vote_reliability(x, v, groups=g).aleatoric.labels.gap
        for x, v, g in ((q, votes[::10], None), (repeated, votes, None), (repeated, votes, np.repeat(np.arange(40), 10)))
    )
    np.testing.assert_allclose(grouped.high - grouped.low, alone.high - alone.low, rtol=1e-9)
    assert np.all(plain.high - plain.low < 0.5 * (alone.high - alone.low))


def test_named_annotators_are_the_same_votes_with_wider_intervals():
    rng = np.random.default_rng(3)
    q = predictions(rng, 200)
    labels = np.stack([[rng.choice(3, p=p) for p in q.mean()] for _ in range(4)], axis=1)
    labels[:, 3] = 0  # one annotator always says the same
    labels[:50, 1] = -1
    counts = np.stack([(labels == k).sum(axis=1) for k in range(3)], axis=1)
    plain = vote_reliability(q, counts)
    for votes in (labels, np.array(["a", "b", "c", ""])[labels]):
        named = vote_reliability(q, votes, annotators=["w", "x", "y", "z"])
        np.testing.assert_array_equal(named.aleatoric.labels.observed.value, plain.aleatoric.labels.observed.value)
        wide, narrow = (x.aleatoric.labels.gap for x in (named, plain))
        assert np.all(wide.high - wide.low > 1.5 * (narrow.high - narrow.low))
        assert "4 annotators" in wide.method


def test_the_jackknife_is_that_of_the_votes_without_each_annotator():
    rng = np.random.default_rng(4)
    q = predictions(rng, 30)
    labels = rng.integers(0, 3, size=(30, 5))
    named = vote_reliability(q, labels, annotators=list("vwxyz")).aleatoric.labels.gap
    without = []
    for j in range(5):
        rest = np.delete(labels, j, axis=1)
        without.append(vote_reliability(q, np.stack([(rest == k).sum(1) for k in range(3)], 1)).aleatoric.labels.gap.value)
    jackknife = 4 / 5 * ((np.array(without) - np.mean(without, axis=0)) ** 2).sum(axis=0)
    read = read_votes(q, labels, annotators=list("vwxyz"))
    cases = (read.claimed[1] - read.observed[1]).var(axis=0, ddof=1) / 30
    from scipy.stats import t

    freedom = (jackknife + cases) ** 2 / (jackknife**2 / 4 + cases**2 / 29)
    np.testing.assert_allclose((named.high - named.low) / 2, t.ppf(0.975, freedom) * np.sqrt(jackknife + cases), rtol=1e-9)


def test_without_groups_it_is_students_t_interval():
    x = np.random.default_rng(0).normal(size=(12, 2))
    expected = [stats.t.interval(0.9, 11, column.mean(), stats.sem(column))[1] - column.mean() for column in x.T]
    np.testing.assert_allclose(half_width(x, np.arange(12), 12, None, 0.9), expected, rtol=1e-12)
    again = np.repeat(x, 3, axis=0)  # copies of a case in one group say no more
    np.testing.assert_allclose(half_width(again, np.repeat(np.arange(12), 3), 12, None, 0.9), expected, rtol=1e-12)
