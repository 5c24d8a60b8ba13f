"""Coverage and size on labeled cases, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.evaluation import clustered_mean
from labelwise.sets import fit_sets
from labelwise.typing import SetPredictor
from set_cases import cases, ensemble


def test_evaluation_tells_coverage_and_size() -> None:
    p, y = cases(800)
    sets = fit_sets(ensemble(p[:400]), y[:400])
    evaluation = sets.evaluate(ensemble(p[400:]), y[400:])
    member = sets.predict(p[400:]).member
    row = evaluation["melanoma"]
    mine = y[400:] == 1
    assert row.n == mine.sum()
    assert row.coverage == pytest.approx(member[mine, 1].mean())
    assert row.size == pytest.approx(member[mine].sum(axis=1).mean())
    assert row.low < row.coverage < row.high
    assert evaluation.size_counts.sum() == 400
    assert "melanoma" in repr(evaluation)
    assert evaluation.to_frame().shape[0] == 5
    covered = member[np.arange(400), y[400:]]
    assert covered.mean() == pytest.approx(evaluation["all classes"].coverage)
    code = np.arange(400) // 8
    grouped = fit_sets(p[:400], y[:400], groups=code, guarantee="marginal")
    shares = [
        grouped.predict(p[400:]).member[np.arange(400), y[400:]][code == g].mean()
        for g in range(50)
    ]
    assert grouped.evaluate(p[400:], y[400:], groups=code)["all classes"].coverage == pytest.approx(
        np.mean(shares)
    )


def only_the_first_class(
    groups: np.ndarray | None = None,
) -> tuple[SetPredictor, np.ndarray]:
    """Sets that are always {class 0}, so that class 0 is covered and class 1 is missed; and the
    prediction of a case.
    """
    p = np.tile([0.9, 0.1], (200, 1))
    groups = None if groups is None else np.arange(200) // 5
    return fit_sets(p, np.zeros(200, int), guarantee="marginal", groups=groups), p[:1]


def test_ten_covered_groups_are_not_certainty() -> None:
    groups = np.repeat(np.arange(10), 5)
    sets, p = only_the_first_class(groups)
    found = sets.evaluate(np.repeat(p, 50, axis=0), np.zeros(50, int), groups=groups)
    row = found["all classes"]
    assert (row.coverage, row.low, row.high) == pytest.approx((1, 0.025 ** (1 / 10), 1))
    assert "Shares are those of a random case of a random group" in repr(found)
    none = sets.evaluate(np.repeat(p, 50, axis=0), np.ones(50, int), groups=groups)["all classes"]
    assert (none.coverage, none.low, none.high) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 10)))
    alike = sets.evaluate(
        np.repeat(p, 50, axis=0), (np.arange(50) % 5 == 0).astype(int), groups=groups
    )["all classes"]  # four of five in each group
    assert (alike.low, alike.high) == pytest.approx(
        (0.8 * 0.025 ** (1 / 10), 1 - 0.2 * 0.025 ** (1 / 10))
    )
    one = sets.evaluate(
        np.repeat(p, 5, axis=0), (np.arange(5) == 0).astype(int), groups=np.zeros(5)
    )["all classes"]
    assert (one.low, one.high) == (0, 1)


@pytest.mark.parametrize(
    ("n_groups", "rho", "least"), [(10, 0.1, 0.9), (20, 0.1, 0.9), (30, 0.05, 0.93)]
)
def test_intervals_over_groups_cover(n_groups: int, rho: float, least: float) -> None:
    """95 % intervals of a coverage of .95; on the plain scale they covered .88 with 10 or 20 groups
    of twenty cases.
    """
    rng = np.random.default_rng(n_groups)
    groups = np.repeat(np.arange(n_groups), 20)
    sets, p = only_the_first_class(groups)
    p = np.repeat(p, len(groups), axis=0)
    hits = []
    for _ in range(400):
        share = rng.beta(0.95 * (1 / rho - 1), 0.05 * (1 / rho - 1), n_groups)
        missed = rng.random(len(groups)) >= share[groups]
        row = sets.evaluate(p, missed.astype(int), groups=groups)["all classes"]
        hits.append(row.low <= 0.95 <= row.high)
        assert 0 <= row.low < row.high <= 1
    assert np.mean(hits) >= least


def test_groups_of_sets_that_were_fitted_without_them_widen_the_interval_of_a_random_case() -> None:
    sets, p = only_the_first_class()
    groups = np.repeat(np.arange(20), np.arange(20) + 1)
    y = (groups % 4 == 0).astype(int)
    p = np.repeat(p, len(y), axis=0)
    row, plain = (sets.evaluate(p, y, groups=g)["all classes"] for g in (groups, None))
    expected = clustered_mean(y == 0, groups, bounds=(0, 1))
    assert (row.coverage, row.low, row.high) == pytest.approx(
        (float(expected), expected.low, expected.high)
    )
    assert row.coverage == plain.coverage
    assert row.high - row.low > 2 * (plain.high - plain.low)
