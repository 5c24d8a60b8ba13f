"""Reliability curves against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from calibration_cases import ece
from labelwise.calibration import calibration_errors, check_calibration, reliability_curves
from labelwise.calibration.reliability import BinnedForecasts


def test_adaptive_bins_have_equal_mass_and_keep_ties_together():
    rng = np.random.default_rng(1)
    tied = np.repeat([0.2, 0.7], [900, 100])
    outcome = rng.integers(0, 2, 1000)
    for forecast, counts in ((rng.random(1000), [100] * 10), (tied, [900, 100])):
        binned = BinnedForecasts(forecast, outcome, [10], adaptive=True)
        count = binned.sums(np.ones(1000))
        assert count[count > 0].tolist() == counts


def test_intervals_of_a_bin_are_those_of_a_share():
    from scipy.stats import binomtest

    p = np.full((200, 2), 0.5)
    y = (np.arange(200) < 60).astype(int)
    curve = reliability_curves(p, y, n_bins=4)["1"]
    reference = binomtest(60, 200).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose((curve.low[0], curve.high[0]), (reference.low, reference.high))
    patient = np.arange(200) // 20  # ten patients, all alike within
    grouped = reliability_curves(p, y, n_bins=4, groups=patient)["1"]
    share = lw.evaluation.clustered_mean(y, patient, bounds=(0, 1))
    np.testing.assert_allclose((grouped.low[0], grouped.high[0]), (share.low, share.high))
    assert grouped.high[0] - grouped.low[0] > 3 * (curve.high[0] - curve.low[0])


def test_a_bin_in_which_all_groups_are_alike_has_an_interval():
    p, y = np.full((40, 2), 0.5), np.ones(40, int)
    curve = reliability_curves(p, y, n_bins=2, groups=np.repeat(np.arange(8), 5))["1"]
    np.testing.assert_allclose((curve.low[0], curve.high[0]), (0.025 ** (1 / 8), 1))


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
    assert check.ok
    assert np.isnan(check.ece)


def test_a_class_that_is_never_thought_of():
    p = np.tile([0.5, 0.5, 0.0], (50, 1))
    assert calibration_errors(p, np.arange(50) % 2).classwise.value[2] == 0
    assert check_calibration(p, np.arange(50) % 2, rng=0, n_bootstrap=20).ok


@pytest.mark.parametrize(
    ("p", "y", "options", "words"),
    [
        (np.full(3, 0.5), [0, 1, 0], {}, r"\(N, K\)"),
        (np.full((3, 2), 2.0), [0, 1, 0], {}, "between 0 and 1"),
        (np.zeros((0, 2)), np.zeros(0, int), {}, "at least one instance"),
        (np.full((3, 2), 0.5), [0, 1, 2], {}, "`y_true`"),
        (np.full((3, 2), 0.5), [0, 1, 0], {"n_bins": 0}, "`n_bins`"),
        (
            np.full((3, 2), 0.5),
            [0, 1, 0],
            {"groups": [0, 1]},
            "`groups` must name the group of each",
        ),
    ],
)
def test_friendly_errors(p, y, options, words):
    for function in (calibration_errors, reliability_curves):
        with pytest.raises(ValueError, match=words):
            function(p, y, **options)


def test_errors_over_groups_need_the_bootstrap():
    with pytest.raises(ValueError, match="`n_bootstrap`"):
        calibration_errors(np.full((3, 2), 0.5), [0, 1, 0], groups=[0, 0, 1])


@pytest.mark.parametrize(
    "function",
    [calibration_errors, reliability_curves, lambda q, y: check_calibration(q, y, rng=0)],
)
def test_one_class_per_instance_needs_rows_that_sum_to_one(function):
    p, y = np.full((6, 3), 0.5), np.array([0, 1, 2, 0, 1, 2])
    with pytest.raises(
        ValueError,
        match=r"must sum to 1 .* sums range from 1\.5 to 1\.5 .* if labels may occur together, use",
    ):
        function(p, y)
    with pytest.raises(ValueError, match="must sum to 1"):  # one-hot labels say the same
        function(p, np.eye(3, dtype=bool)[y])
    function(p, np.eye(3, dtype=bool)[y] | np.eye(3, dtype=bool)[0])
    function(lw.MultiLabelEnsemble(p[None]), y)


def test_a_multilabel_ensemble_stays_one_whatever_its_rows_sum_to():
    p, y = np.full((6, 2), 0.5), np.eye(2, dtype=int)[[0, 1, 0, 1, 0, 1]]
    assert calibration_errors(lw.MultiLabelEnsemble(p[None]), y).ece is None
    assert calibration_errors(p, y).ece is not None
