"""Rejection curves against their definition, over all orders of ties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.evaluation import rejection_curve


def orders(score):
    """Every order in which instances may be rejected, most uncertain first."""
    n = len(score)
    return [
        p
        for p in itertools.permutations(range(n))
        if all(score[p[i]] >= score[p[i + 1]] for i in range(n - 1))
    ]


def by_definition(score, value, shares=None):
    """Mean of the rest at each share, averaged over the orders of ties."""
    n = len(score)
    rejected = range(n) if shares is None else [int(n * s) for s in shares]
    curves = [[np.mean([value[i] for i in p[r:]]) for r in rejected] for p in orders(score)]
    return np.mean(curves, axis=0)


def augrc_by_definition(score, loss):
    n = len(score)
    areas = []
    for p in orders(score):
        risk = [sum(loss[i] for i in p[n - kept :]) / n for kept in range(n + 1)]
        areas.append(np.trapezoid(risk, np.arange(n + 1) / n))
    return np.mean(areas)


cases = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.lists(st.floats(-5, 5), min_size=n, max_size=n),
    )
)


@given(cases)
@settings(max_examples=80, deadline=None)
def test_equals_the_definition_over_all_tie_orders(case):
    score, correct, loss = case
    accuracy = rejection_curve(score, correct=correct)
    np.testing.assert_allclose(accuracy.value, by_definition(score, correct), atol=1e-14)
    np.testing.assert_allclose(accuracy.rejected, np.arange(len(score)) / len(score))
    np.testing.assert_allclose(
        accuracy.aurc, np.mean(1 - by_definition(score, correct)), atol=1e-14
    )
    np.testing.assert_allclose(
        accuracy.augrc, augrc_by_definition(score, 1 - np.asarray(correct)), atol=1e-14
    )
    np.testing.assert_allclose(accuracy.area, np.mean(by_definition(score, correct)), atol=1e-14)
    losses = rejection_curve(score, risk=loss)
    np.testing.assert_allclose(losses.value, by_definition(score, loss), atol=1e-13)
    np.testing.assert_allclose(losses.aurc, np.mean(by_definition(score, loss)), atol=1e-13)
    np.testing.assert_allclose(losses.augrc, augrc_by_definition(score, loss), atol=1e-13)
    # the oracle is the definition with the value itself as the score
    np.testing.assert_allclose(losses.oracle, by_definition(loss, loss), atol=1e-13)
    np.testing.assert_allclose(
        accuracy.oracle, by_definition([-int(c) for c in correct], correct), atol=1e-14
    )


@given(cases, st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_grid_rejects_the_integer_part(case, points):
    score, correct, _ = case
    shares = np.linspace(0, 1, points, endpoint=False)
    for grid in (points, shares.tolist()):
        curve = rejection_curve(score, correct=correct, grid=grid)
        np.testing.assert_allclose(curve.value, by_definition(score, correct, shares), atol=1e-14)
        np.testing.assert_allclose(curve.rejected, shares)
        np.testing.assert_allclose(
            curve.area, by_definition(score, correct, shares).mean(), atol=1e-14
        )


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_between_random_and_oracle(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    score, utility = rng.integers(0, 8, n), rng.normal(size=n)
    curve = rejection_curve(score, utility=utility)
    assert np.all(curve.value <= curve.oracle + 1e-12)
    assert curve.value[0] == pytest.approx(curve.random)
    backwards = rejection_curve(-utility, utility=utility)
    np.testing.assert_allclose(backwards.value, backwards.oracle, atol=1e-12)
    if n > 1:
        assert backwards.normalized_area == pytest.approx(1)


def test_equal_scores_are_random_whatever_the_order_of_the_data():
    correct = np.arange(10) < 7
    for outcome in (correct, correct[::-1]):
        curve = rejection_curve(np.full(10, 0.3), correct=outcome)
        np.testing.assert_allclose(curve.value, 0.7, atol=1e-15)
        assert curve.normalized_area == pytest.approx(0, abs=1e-14)


def test_nothing_is_claimed_about_the_empty_rest():
    curve = rejection_curve([3, 2, 1], correct=[0, 1, 1])
    assert curve.rejected[-1] == pytest.approx(2 / 3)
    assert len(curve.value) == 3
    for grid in ([0.0, 1.0], [0.5, 0.2], [-0.1], [], [[0.1]], [np.nan], 0):
        with pytest.raises(ValueError, match="`grid`"):
            rejection_curve([3, 2, 1], correct=[0, 1, 1], grid=grid)
    with pytest.raises(ValueError, match="`coverage`"):
        curve.at_coverage(0)


def test_augrc_identity(optional):
    """Traub et al. 2024: AUGRC = (1 − AUROC_f) a (1 − a) + (1 − a)²/2."""
    roc_auc_score = optional("sklearn.metrics").roc_auc_score
    rng = np.random.default_rng(1)
    correct = rng.random(500) < 0.8
    score = np.round(rng.normal(size=500) - 0.8 * correct, 1)
    a = correct.mean()
    expected = (1 - roc_auc_score(~correct, score)) * a * (1 - a) + (1 - a) ** 2 / 2
    assert rejection_curve(score, correct=correct).augrc == pytest.approx(expected, abs=1e-14)
    assert rejection_curve(score, correct=correct, grid=50).augrc == pytest.approx(
        expected, abs=1e-14
    )


def test_accuracy_at_coverage_rounds_up_what_is_kept():
    rng = np.random.default_rng(2)
    score, correct = rng.permutation(100), rng.random(100) < 0.8
    kept = correct[np.argsort(score)]
    curve = rejection_curve(score, correct=correct)
    for percent in range(1, 101):
        assert curve.at_coverage(percent / 100) == pytest.approx(kept[:percent].mean())
    assert curve.at_coverage(0.905) == pytest.approx(kept[:91].mean())
    assert curve.at_coverage(1e-9) == float(kept[0])


def test_all_libraries(lib):
    rng = np.random.default_rng(4)
    score, loss = rng.random(50), rng.random(50)
    reference = rejection_curve(score, risk=loss)
    curve = rejection_curve(lib.array(score), risk=lib.array(loss))
    np.testing.assert_allclose(curve.value, reference.value)
    single = rejection_curve(lib.array(score, "float32"), correct=lib.array(loss > 0.5, "bool"))
    np.testing.assert_allclose(
        single.value, rejection_curve(score.astype(np.float32), correct=loss > 0.5).value
    )


def test_half_precision_and_gradients(optional):
    torch = optional("torch")
    score = torch.tensor([0.5, 0.25, 0.75], dtype=torch.bfloat16, requires_grad=True)
    np.testing.assert_allclose(
        rejection_curve(score, correct=torch.tensor([True, True, False])).value, [2 / 3, 1, 1]
    )


def test_band_holds_the_curve_and_is_seeded():
    rng = np.random.default_rng(5)
    score = rng.random(400)
    correct = rng.random(400) > score * 0.5
    one, two = (
        rejection_curve(score, correct=correct, grid=20, n_bootstrap=200, rng=7) for _ in range(2)
    )
    np.testing.assert_array_equal(one.band.low, two.band.low)
    assert np.all(one.band.low <= one.value)
    assert np.all(one.value <= one.band.high)
    for name in ("area", "normalized_area"):
        estimate = getattr(one.band, name)
        assert estimate.low < float(estimate) == getattr(one, name) < estimate.high
    assert one.band.aurc.low < one.aurc < one.band.aurc.high
    assert one.band.augrc.low < one.augrc < one.band.augrc.high
    fine = rejection_curve(score, correct=correct, n_bootstrap=20, rng=7)
    assert len(fine.band.low) == 200
    assert fine.band.rejected[-1] < 1


def test_bootstrap_replicates_follow_the_definition():
    """The interval of AURC equals that of curves computed anew on each resample."""
    rng = np.random.default_rng(6)
    score, correct = rng.integers(0, 9, 100), rng.random(100) < 0.7
    band = rejection_curve(score, correct=correct, n_bootstrap=50, rng=3).band
    drawn = np.random.default_rng(3).integers(100, size=(50, 100))
    again = [rejection_curve(score[i], correct=correct[i]).aurc for i in drawn]
    np.testing.assert_allclose((band.aurc.low, band.aurc.high), np.quantile(again, (0.025, 0.975)))


def test_groups_widen_the_band():
    rng = np.random.default_rng(8)
    patient = np.repeat(np.arange(40), 25)
    hard = rng.random(40)[patient]
    score = rng.random(1000)
    correct = rng.random(1000) > 0.6 * hard
    alone = rejection_curve(score, correct=correct, grid=5, n_bootstrap=300, rng=1).band
    grouped = rejection_curve(
        score, correct=correct, grid=5, n_bootstrap=300, rng=1, groups=patient
    ).band
    assert grouped.high[0] - grouped.low[0] > 1.5 * (alone.high[0] - alone.low[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactly one"),
        ({"correct": [1, 0], "risk": [1, 0]}, "`correct` and `risk`"),
        ({"correct": [1, 0, 1]}, "`correct` must have one value for each of the 2"),
        ({"correct": [1, 2]}, "True or False"),
        ({"risk": [1.0, float("nan")]}, "`risk` must be finite"),
        ({"risk": ["a", "b"]}, "`risk` must be numbers"),
        ({"correct": [1, 0], "groups": [0, 1]}, "Pass `n_bootstrap`"),
        ({"correct": [1, 0], "groups": [0, 0], "n_bootstrap": 9}, "at least 2 groups"),
        ({"correct": [1, 0], "groups": [0, 1, 2], "n_bootstrap": 9}, "`groups` must name"),
        (
            {"correct": [1, 0], "groups": [0, float("nan")], "n_bootstrap": 9},
            "`groups` must not be NaN",
        ),
        ({"correct": [1, 0], "confidence": 95, "n_bootstrap": 9}, "`confidence`"),
        ({"correct": [1, 0], "n_bootstrap": 1}, "`n_bootstrap`"),
    ],
)
def test_friendly_errors(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rejection_curve([0.1, 0.2], **options)


def test_scores_are_one_number_per_instance():
    with pytest.raises(ValueError, match=r"u.sum\(\).epistemic"):
        rejection_curve(np.zeros((3, 4)), correct=[1, 1, 1])
    with pytest.raises(ValueError, match="at least one value"):
        rejection_curve([], correct=[])


@given(st.integers(0, 500))
def test_the_value_at_a_coverage_is_that_of_the_most_certain(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    score, wrong = rng.permutation(n), rng.random(n) < 0.3
    curve = rejection_curve(score, correct=~wrong)
    ordered = wrong[np.argsort(score)]
    for j in (1, (n + 1) // 2, n):
        assert 1 - curve.at_coverage(j / n) == pytest.approx(ordered[:j].mean())


def test_the_band_at_high_rejection_has_few_instances():
    """The five most certain of 200 are right: that says no more than five cases do, and percentiles
    would be a point.
    """
    rng = np.random.default_rng(0)
    correct = np.r_[np.ones(5, bool), rng.random(195) < 0.7]
    curve = rejection_curve(np.arange(200), correct=correct, n_bootstrap=100, rng=0)
    assert curve.band.low[-5] == pytest.approx(0.025 ** (1 / 5), abs=1e-9)
    assert (curve.band.low[-1], curve.band.high[-1]) == pytest.approx((0.025, 1))
    assert np.all(curve.band.high > curve.band.low)
    grouped = rejection_curve(
        np.arange(200), correct=correct, groups=np.arange(200) // 2, n_bootstrap=100, rng=0
    )
    assert grouped.band.low[-4] == pytest.approx(
        0.025 ** (1 / 2), abs=1e-9
    )  # four instances of two groups
    assert np.all(np.isfinite(grouped.band.low))
