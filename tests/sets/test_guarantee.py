"""What the sets guarantee, against laws that are known exactly and Monte-Carlo bands of at least
four standard errors.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.stats import betabinom, kstest

import labelwise as lw
from labelwise.sets import fit_labels, fit_sets


def draw(
    n: int,
    k: int,
    rng: np.random.Generator,
    *,
    prior: np.ndarray | None = None,
    digits: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean probabilities that are informative but miscalibrated, and true classes; with ``digits``,
    many scores are tied.
    """
    y = rng.choice(k, n, p=prior)
    logits = rng.normal(size=(n, k)) + 1.5 * (1 + np.arange(k))[y][:, None] / k * (
        np.arange(k) == y[:, None]
    )
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    if digits is not None:
        p = np.round(p, digits)
        p[:, -1] = 1 - p[:, :-1].sum(axis=1).round(digits)
        p = np.abs(p.round(digits))
        p /= p.sum(axis=1, keepdims=True)
    return p, y


def covered(sets: lw.typing.PredictionSets, y: np.ndarray) -> np.ndarray:
    return sets.member[np.arange(len(y)), y]


@pytest.mark.parametrize("n", [20, 100])
def test_coverage_of_each_class_follows_the_beta_binomial_law(n: int) -> None:
    rng = np.random.default_rng(1)
    k, m, trials = 2, 40, 300
    hits = np.empty((trials, k), int)
    y_cal, y_new = np.repeat(np.arange(k), n), np.repeat(np.arange(k), m)
    for t in range(trials):
        p_cal, p_new = (
            np.eye(k)[y] * 0.6 + rng.dirichlet(np.ones(k), len(y)) for y in (y_cal, y_new)
        )
        sets = fit_sets(p_cal / 1.6, y_cal, coverage=0.9)
        inside = covered(sets.predict(p_new / 1.6), y_new)
        hits[t] = [inside[y_new == c].sum() for c in range(k)]
    rank = -(-(n + 1) * 9 // 10)
    law = betabinom(m, rank, n + 1 - rank)
    for c in range(k):
        assert abs(hits[:, c].mean() - law.mean()) < 4 * law.std() / sqrt(trials)
        assert abs(hits[:, c].var() / law.var() - 1) < 0.45
        # one calibration: the law itself, by a randomized probability integral transform
        u = law.cdf(hits[:, c] - 1) + rng.random(trials) * law.pmf(hits[:, c])
        assert kstest(u, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("digits", [None, 1])
def test_classes_are_covered_whatever_the_ties_and_imbalance(digits: int | None) -> None:
    rng = np.random.default_rng(2)
    n_cal = np.array([400, 75, 25])
    share = np.zeros((60, 3))
    for t in range(len(share)):
        p, y = draw(3000, 3, rng, prior=np.array([0.7, 0.2, 0.1]), digits=digits)
        cal = np.concatenate([np.flatnonzero(y == c)[: n_cal[c]] for c in range(3)])
        new = np.setdiff1d(np.arange(len(y)), cal)
        sets = fit_sets(p[cal], y[cal], coverage=0.8)
        inside = covered(sets.predict(p[new]), y[new])
        share[t] = [inside[y[new] == c].mean() for c in range(3)]
    assert (share.mean(axis=0) > 0.8 - 4 * share.std(axis=0) / sqrt(len(share))).all()


def test_overlapping_events_are_covered_at_least() -> None:
    """The classes of several events have the largest of their thresholds: one of these events is
    covered far more often.
    """
    rng = np.random.default_rng(8)
    easy_and_hard = {"easy": [2], "both": [0, 2]}
    hits: dict[str, list[float]] = {"easy": [], "both": []}
    for _ in range(300):
        p, y = draw(160, 3, rng)
        sets = fit_sets(p[:120], y[:120], guarantee=easy_and_hard, coverage=0.8)
        inside = covered(sets.predict(p[120:]), y[120:])
        for name, classes in easy_and_hard.items():
            hits[name].append(inside[np.isin(y[120:], classes)].mean())
    assert sets.guarantee.startswith("With probability at least 80 %")
    assert np.mean(hits["easy"]) > 0.85
    assert np.mean(hits["both"]) > 0.8 - 4 * np.std(hits["both"]) / sqrt(300)


def test_a_random_case_of_a_new_group_is_covered() -> None:
    rng = np.random.default_rng(5)
    by_group, naive = [], []
    for _ in range(400):
        size = rng.integers(1, 4, 15)
        hard = rng.random(15) < 0.4  # the model is worse in small groups
        size[~hard] = 40
        code = np.repeat(np.arange(15), size)
        y = rng.integers(2, size=len(code))
        strength = np.where(hard, 0.2, 2.5) + 0.3 * rng.normal(size=15)
        z = (2 * y - 1) * (strength[code] + rng.normal(size=len(code)))
        p = np.stack([1 / (1 + np.exp(z)), 1 / (1 + np.exp(-z))], axis=-1)
        old, new = code < 14, code == 14
        for groups, found in ((code[old], by_group), (None, naive)):
            sets = fit_sets(p[old], y[old], guarantee="marginal", coverage=0.8, groups=groups)
            found.append(covered(sets.predict(p[new]), y[new]).mean())
    assert np.mean(by_group) > 0.8 - 4 * np.std(by_group) / sqrt(len(by_group))
    # ignoring groups covers the cases of small groups too rarely: the test can fail
    assert np.mean(naive) < 0.8 - 4 * np.std(naive) / sqrt(len(naive))


def test_misses_and_false_alarms_stay_below_their_rates() -> None:
    rng = np.random.default_rng(7)
    missed, alarms = [], []
    for _ in range(300):
        y = rng.random((120, 1)) < 0.5
        p = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=y.shape))))
        labels = fit_labels(
            lw.MultiLabelEnsemble(np.repeat(p, 2, axis=1)[None]),
            np.repeat(y, 2, axis=1),
            miss_rate=0.1,
            false_alarm_rate=0.2,
        )
        big = rng.normal(size=4000)
        present, absent = (1 / (1 + np.exp(-(sign + big))) for sign in (1, -1))
        missed.append((present < labels.lower[0]).mean())
        alarms.append((absent >= labels.upper[0]).mean())
    for found, rate in ((missed, 0.1), (alarms, 0.2)):
        assert np.mean(found) < rate + 4 * np.std(found) / sqrt(len(found))
        assert np.mean(found) > rate - 0.03  # and not far below
