"""Drops of epistemic uncertainty by class: Table 2 from arrays with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise_lab.paper.holdout_drops import drops, excess, log_ratios


def arrays(runs: int = 4, n: int = 50, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    before = rng.exponential(rng.uniform(0.5, 2, (runs, 1, k)), (runs, n, k)).astype(np.float32)
    return before, (before * rng.uniform(0.2, 1.2, (runs, 1, k))).astype(np.float32)


def test_classes_can_be_named():
    before, after = arrays()
    d = drops(before, after, selected=[0, 1, 2, 3])
    np.testing.assert_allclose(
        d.of_selected(d.before), before.astype(float).mean(1)[range(4), range(4)]
    )
    assert d.of_others(d.before).shape == (4, 4)


def test_an_exact_line_leaves_no_excess():
    before = np.random.default_rng(0).uniform(0.1, 1, (3, 6))
    result = excess(drops(before, 0.6 * before + 0.02))  # drop = 0.4 before − 0.02, for all classes
    assert float(result.excess) == pytest.approx(0, abs=1e-12)
    assert float(result.predicted_share) == pytest.approx(1)
    assert result.extrapolated == 3
    assert result.excess.low == pytest.approx(0, abs=1e-12)
    after = 0.6 * before + 0.02
    after[np.arange(3), before.argmax(1)] -= 0.05
    more = excess(drops(before, after))
    assert float(more.excess) == pytest.approx(0.05)
    assert (more.excess.low, more.excess.high) == pytest.approx((0.05, 0.05))


def test_many_runs_are_sampled_and_one_has_no_interval():
    before = np.random.default_rng(1).uniform(0.1, 1, (8, 4))
    after = before * np.random.default_rng(2).uniform(0.3, 0.9, (8, 4))
    a, b = (excess(drops(before, after), rng=0, n_bootstrap=400) for _ in range(2))
    assert a.excess.low == b.excess.low < float(a.excess) < a.excess.high
    assert np.isnan(excess(drops(before[:1], after[:1])).excess.low)


def test_the_interval_of_the_excess_covers():
    """Five runs whose excess varies: percentiles of the bootstrap cover in 84 %, Student's t in 95
    %.
    """
    rng, covered = np.random.default_rng(0), []
    for _ in range(300):
        before = rng.uniform(0.1, 1, (5, 10))
        after = before - (0.4 * before - 0.02 + rng.normal(0, 0.03, (5, 10)))
        after[np.arange(5), before.argmax(axis=1)] -= 0.05 + rng.normal(0, 0.08, 5)
        found = excess(drops(before, after)).excess
        covered.append(found.low <= 0.05 <= found.high)
    assert 0.92 < np.mean(covered) < 0.98


def test_the_line_is_that_of_polyfit():
    before, after = (x.mean(axis=1) for x in arrays(runs=3))
    d = drops(before, after)
    slope, offset = np.polyfit(
        d.of_others(d.before).ravel(), d.of_others(d.drop("absolute")).ravel(), 1
    )
    predicted, observed = (
        slope * d.of_selected(d.before) + offset,
        d.of_selected(d.drop("absolute")),
    )
    found = excess(d)
    assert float(found.excess) == pytest.approx((observed - predicted).mean())
    assert float(found.predicted_share) == pytest.approx(predicted.sum() / observed.sum())


def test_two_classes_have_a_line_only_over_runs():
    before, after = (
        np.array([[0.4, 0.2], [0.5, 0.1], [0.6, 0.3]]),
        np.array([[0.2, 0.15], [0.2, 0.08], [0.3, 0.2]]),
    )
    found = excess(drops(before, after)).excess
    assert found.low < found.value < found.high  # resamples of a single run are left out
    with pytest.raises(
        ValueError,
        match=(
            r"at least 2 different values among the classes that are not selected.*; got 1 run of "
            r"2 classes"
        ),
    ):
        excess(drops(before[:1], after[:1]))


def test_nothing_dropped():
    before = np.random.default_rng(0).uniform(0.1, 1, (3, 4))
    with pytest.raises(
        ValueError,
        match=(
            r"the mean drop of the selected class must not be 0.*; are `before` and `after` the "
            r"same"
        ),
    ):
        excess(drops(before, before))


def test_log_ratios_are_of_the_class_of_each_run():
    arm, control = np.array([[0.2, 0.5], [0.3, 0.1]]), np.array([[0.4, 0.5], [0.3, 0.2]])
    np.testing.assert_allclose(log_ratios(arm, control, [0, 1]), [np.log(0.5), np.log(0.5)])
    np.testing.assert_allclose(log_ratios(arm, control, [1, 0]), [0, 0])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), "must have the same shape"),
        (np.ones(3), np.ones(3), "must have the same shape"),
        (np.ones((2, 1)), np.ones((2, 1)), r"at least 2 classes; got \(2, 1\) and"),
        (
            np.array([[1, np.nan]]),
            np.ones((1, 2)),
            "`before` must be finite; 1 of 2 values are not",
        ),
        (
            np.ones((1, 2)),
            np.array([[1, np.inf]]),
            "`after` must be finite; 1 of 2 values are not",
        ),
        (
            np.array([[1.0, 2], [3, 0]]),
            np.ones((2, 2)),
            "must be positive for every run and class.*; it is 0 for run 1, class 1",
        ),
    ],
)
def test_refusals(before, after, message):
    with pytest.raises(ValueError, match=message):
        drops(before, after)
