"""Reliability curves and calibration errors against their definitions, and intervals and warnings by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import calibration_errors, check_calibration, reliability_curves


def draw(p, rng):
    return (rng.random((len(p), 1)) * p.sum(1, keepdims=True) >= p.cumsum(1)[:, :-1]).sum(1)


def sharpen(p, power):
    p = p**power
    return p / p.sum(1, keepdims=True)


def ece(p, happened, edges):
    """Guo et al. 2017: bins (a, b], the first with its lower edge."""
    total = 0.0
    for i, (a, b) in enumerate(itertools.pairwise(edges)):
        inside = (p > a) & (p <= b) if i else (p >= a) & (p <= b)
        if inside.any():
            total += inside.mean() * abs(happened[inside].mean() - p[inside].mean())
    return total


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = np.round(rng.dirichlet([0.4, 0.4, 0.4], size=500), 2)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    p = p.clip(0, 1)
    return p, draw(sharpen(p + 1e-9, 0.5), rng)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
@pytest.mark.parametrize("adaptive", [False, True])
def test_errors_equal_the_definition(data, n_bins, adaptive):
    p, y = data
    errors = calibration_errors(p, y, n_bins=n_bins, adaptive=adaptive)
    curves = reliability_curves(p, y, n_bins=n_bins, adaptive=adaptive)
    columns = {"top label": (p.max(1), p.argmax(1) == y), **{str(k): (p[:, k], y == k) for k in range(3)}}
    found = {"top label": float(errors.ece), **dict(zip("012", errors.classwise.value, strict=True))}
    for name, (forecast, happened) in columns.items():
        edges = curves[name].edges
        if not adaptive:
            np.testing.assert_allclose(edges, np.linspace(0, 1, n_bins + 1))
        assert found[name] == pytest.approx(ece(forecast, happened, edges), abs=1e-12)
        assert curves[name].error == pytest.approx(found[name], abs=1e-12)
        assert curves[name].count.sum() == 500
        np.testing.assert_allclose(curves[name].count @ curves[name].forecast, forecast.sum())
        np.testing.assert_allclose(curves[name].count @ curves[name].frequency, happened.sum())
    np.testing.assert_allclose(float(errors.classwise_mean), errors.classwise.value.mean())
    np.testing.assert_allclose(errors.relative.value, errors.classwise.value / p.mean(0))
    assert errors.if_calibrated is None
    assert np.isnan(errors.ece.low)


def test_adaptive_bins_have_equal_mass_and_keep_ties_together():
    rng = np.random.default_rng(1)
    p = rng.random(1000)
    curves = reliability_curves(np.stack([p, 1 - p], -1), rng.integers(0, 2, 1000), n_bins=10, adaptive=True)
    np.testing.assert_array_equal(curves["0"].count, 100)
    tied = np.repeat([0.2, 0.7], [900, 100])
    curves = reliability_curves(np.stack([tied, 1 - tied], -1), rng.integers(0, 2, 1000), n_bins=10, adaptive=True)
    assert sorted(curves["0"].count.tolist()) == [100, 900]


def test_wilson_and_cluster_intervals_of_a_bin():
    from scipy.stats import binomtest

    p = np.full((200, 2), 0.5)
    y = (np.arange(200) < 60).astype(int)
    curve = reliability_curves(p, y, n_bins=4)["1"]
    reference = binomtest(60, 200).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose((curve.low[0], curve.high[0]), (reference.low, reference.high))
    patient = np.arange(200) // 20  # ten patients, all alike within
    grouped = reliability_curves(p, y, n_bins=4, groups=patient, rng=0, n_bootstrap=500)["1"]
    assert grouped.high[0] - grouped.low[0] > 3 * (curve.high[0] - curve.low[0])
    shares = np.array([y[patient == g].mean() for g in range(10)])
    drawn = np.random.default_rng(0).integers(10, size=(500, 10))
    np.testing.assert_allclose((grouped.low[0], grouped.high[0]), np.quantile(shares[drawn].mean(1), (0.025, 0.975)))


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_intervals_of_the_error_cover(power):
    """Sharpened probabilities: the true error in the same bins, from a large sample."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.5, 0.5, 0.5], size=200_000)
    forecast = sharpen(p, power)
    top = forecast.argmax(1)
    true = ece(forecast.max(1), p[np.arange(len(p)), top], np.linspace(0, 1, 16))
    held = below = 0
    for i in range(60):
        rows = slice(300 * i, 300 * (i + 1))
        errors = calibration_errors(forecast[rows], draw(p[rows], rng), rng=rng, n_bootstrap=100)
        held += errors.ece.low <= true <= errors.ece.high
        below += float(errors.if_calibrated.ece) < float(errors.ece)
    assert held / 60 >= 0.9
    assert (below / 60 > 0.9) == (power > 1)


def test_perfect_probabilities_show_an_error_by_chance(data):
    p, _ = data
    rng = np.random.default_rng(3)
    seen = [float(calibration_errors(p, draw(p, rng)).ece) for _ in range(200)]
    expected = calibration_errors(p, draw(p, rng), rng=1, n_bootstrap=300).if_calibrated
    assert float(expected.ece) == pytest.approx(np.mean(seen), rel=0.1)
    assert expected.ece.low < np.mean(seen) < expected.ece.high


def test_check_raises_no_false_alarm():
    rng = np.random.default_rng(4)
    alarms = 0
    for i in range(60):
        p = rng.dirichlet([1, 0.5, 0.02], size=(30, 150)[i % 2])
        alarms += bool(check_calibration(p, draw(p, rng), rng=rng, n_bootstrap=100))
    assert alarms <= 3


def test_check_finds_over_confidence_and_says_so():
    rng = np.random.default_rng(15)
    p = rng.dirichlet([1, 1, 1], size=400)
    y = draw(p, rng)
    check = check_calibration(sharpen(p, 3), y, rng=0, n_bootstrap=200)
    assert check
    assert 0.05 < check.at_least < check.ece
    assert check.p_value < 0.02
    assert "percentage points" in str(check)
    fine = check_calibration(p, y, rng=0, n_bootstrap=200)
    assert not fine
    assert fine.p_value > 0.02
    assert "No sign" in str(fine)
    # more than one can live with, not merely not perfect
    assert not check_calibration(sharpen(p, 3), y, rng=0, n_bootstrap=200, tolerance=0.5, class_tolerance=1)


def test_check_finds_a_rare_class_that_is_wrong():
    """Cases of the rare class happen three times as often as said; the top label hardly notices."""
    rng = np.random.default_rng(6)
    p = np.tile([0.9, 0.09, 0.01], (3000, 1))
    y = draw(np.tile([0.88, 0.09, 0.03], (3000, 1)), rng)
    check = check_calibration(lw.Ensemble(p[None], class_names=["none", "mild", "severe"]), y, rng=0, n_bootstrap=200)
    assert check.at_least < 0.05
    assert list(check.classes) == ["severe"]
    assert 0.5 < check.classes["severe"] < 2
    assert "'severe'" in str(check)


def test_clusters_make_the_check_careful():
    rng = np.random.default_rng(7)
    patient = np.repeat(np.arange(12), 50)
    p = np.full((600, 2), 0.5)
    y = (rng.permutation(12) < 3).astype(int)[patient]  # whole patients, so there are only twelve outcomes
    assert check_calibration(p, y, rng=0, n_bootstrap=200)
    assert not check_calibration(p, y, rng=0, n_bootstrap=200, groups=patient)


def test_multilabel(lib):
    rng = np.random.default_rng(8)
    probs = rng.random((3, 400, 2))
    q = lw.MultiLabelEnsemble(lib.array(probs), class_names=["beach", "sunset"])
    happened = rng.random((400, 2)) < probs.mean(0)
    errors = calibration_errors(q, happened, rng=0, n_bootstrap=20)
    assert errors.ece is None
    expected = [ece(probs.mean(0)[:, k], happened[:, k], np.linspace(0, 1, 16)) for k in range(2)]
    np.testing.assert_allclose(errors.classwise.value, expected)
    assert set(reliability_curves(q, happened)) == {"beach", "sunset"}
    check = check_calibration(q, happened, rng=0, n_bootstrap=50)
    assert not check
    assert np.isnan(check.ece)


def test_a_class_that_is_never_thought_of():
    p = np.tile([0.5, 0.5, 0.0], (50, 1))
    errors = calibration_errors(p, np.arange(50) % 2, rng=0, n_bootstrap=20)
    assert np.isnan(errors.relative.value[2])
    assert not check_calibration(p, np.arange(50) % 2, rng=0, n_bootstrap=20)


@pytest.mark.parametrize(
    ("p", "y", "options", "words"),
    [
        (np.full(3, 0.5), [0, 1, 0], {}, r"\(N, K\)"),
        (np.full((3, 2), 2.0), [0, 1, 0], {}, "between 0 and 1"),
        (np.zeros((0, 2)), np.zeros(0, int), {}, "at least one instance"),
        (np.full((3, 2), 0.5), [0, 1, 2], {}, "`y_true`"),
        (np.full((3, 2), 0.5), [0, 1, 0], {"n_bins": 0}, "`n_bins`"),
        (np.full((3, 2), 0.5), [0, 1, 0], {"groups": [0, 0, 1]}, "`n_bootstrap`"),
    ],
)
def test_friendly_errors(p, y, options, words):
    for function in (calibration_errors, reliability_curves):
        with pytest.raises(ValueError, match=words):
            function(p, y, **options)


def test_friendly_errors_of_the_check():
    with pytest.raises(ValueError, match="`tolerance`"):
        check_calibration(np.full((3, 2), 0.5), [0, 1, 0], rng=0, tolerance=-1)
    with pytest.raises(ValueError, match="`n_bootstrap` must be an integer of at least 2"):
        check_calibration(np.full((3, 2), 0.5), [0, 1, 0], n_bootstrap=0)


@pytest.mark.parametrize("function", [calibration_errors, reliability_curves, lambda q, y: check_calibration(q, y, rng=0)])
def test_one_class_per_instance_needs_rows_that_sum_to_one(function):
    p, y = np.full((6, 3), 0.5), np.array([0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match=r"must sum to 1 .* sums range from 1\.5 to 1\.5\. For labels that may occur together, pass"):
        function(p, y)
    with pytest.raises(ValueError, match="must sum to 1"):  # one-hot labels say the same
        function(p, np.eye(3, dtype=bool)[y])
    function(p, np.eye(3, dtype=bool)[y] | np.eye(3, dtype=bool)[0])
    function(lw.MultiLabelEnsemble(p[None]), y)


def test_a_multilabel_ensemble_stays_one_whatever_its_rows_sum_to():
    p, y = np.full((6, 2), 0.5), np.eye(2, dtype=int)[[0, 1, 0, 1, 0, 1]]
    assert calibration_errors(lw.MultiLabelEnsemble(p[None]), y).ece is None
    assert calibration_errors(p, y).ece is not None
