"""Calibration: no false alarms, and the size and direction of what is wrong is said."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from calibration_cases import draw, sharpen
from labelwise.calibration import check_calibration


def test_check_raises_no_false_alarm():
    rng = np.random.default_rng(4)
    alarms = 0
    for i in range(60):
        p = rng.dirichlet([1, 0.5, 0.02], size=(30, 150)[i % 2])
        alarms += not check_calibration(p, draw(p, rng), rng=rng, n_bootstrap=100).ok
    assert alarms <= 3


def test_check_of_many_cases_keeps_its_level(monkeypatch):
    """Without any tolerance calibrated predictions are flagged in at most 5 %; many cases are
    resampled in random groups.
    """
    monkeypatch.setattr("labelwise.calibration.errors.MAX_UNITS", 200)
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(100):
        p = rng.dirichlet([1, 0.5, 0.05], size=400)
        found = check_calibration(p, draw(p, rng), rng=rng, n_bootstrap=200, tolerance=0)
        alarms += not found.ok
    assert alarms <= 9  # 5 %: 10 or more in 100 have a chance of 3 %


def test_many_rare_classes_raise_no_false_alarm_among_many_cases():
    """Of classes with one expected case some never happen, also in random groups of cases."""
    rng = np.random.default_rng(1)
    p = np.full((6000, 41), 1 / 6000)
    p[:, 0] = 1 - 40 / 6000
    for _ in range(3):
        assert check_calibration(p, draw(p, rng), rng=rng, n_bootstrap=200).ok


def test_check_finds_over_confidence_and_says_so():
    rng = np.random.default_rng(15)
    p = rng.dirichlet([1, 1, 1], size=400)
    y = draw(p, rng)
    check = check_calibration(sharpen(p, 3), y, rng=0, n_bootstrap=200)
    assert not check.ok
    assert 0.05 < check.at_least < check.ece
    assert check.overconfidence.low > 0
    assert str(check) == (
        "Over-confident by 19.3 percentage points (95 % interval 14.6 to 24.2): 64.3 % right, 83.6 "
        "% expected, of 400 instances. Badly calibrated: "
        "the top label's probability is off by 20.1 percentage points on average (at least 12.4). "
        "Recalibrate on held-out data: lw.calibration.fit_calibration(q, y_true)."
    )
    fine = check_calibration(p, y, rng=0, n_bootstrap=200)
    assert fine.ok
    assert str(fine) == (
        "64.3 % right, 61.8 % expected, of 400 instances: chance can explain the difference "
        "(95 % interval: 7.1 percentage points under-confident to 2.3 over-confident)."
    )
    # more than one can live with, not merely not perfect
    assert check_calibration(sharpen(p, 3), y, rng=0, n_bootstrap=200, tolerance=0.5).ok


def test_check_finds_a_rare_class_that_is_wrong():
    """Cases of the rare class happen three times as often as said; the top label hardly notices."""
    rng = np.random.default_rng(6)
    p = np.tile([0.9, 0.09, 0.01], (3000, 1))
    y = draw(np.tile([0.88, 0.09, 0.03], (3000, 1)), rng)
    check = check_calibration(
        lw.Ensemble(p[None], class_names=["none", "mild", "severe"]), y, rng=0, n_bootstrap=200
    )
    assert check.at_least < 0.05
    assert list(check.classes) == ["severe"]
    assert 0.5 < check.classes["severe"] < 2
    assert "'severe'" in str(check)


def test_clusters_make_the_check_careful():
    rng = np.random.default_rng(7)
    patient = np.repeat(np.arange(12), 50)
    p = np.full((600, 2), 0.5)
    y = (rng.permutation(12) < 3).astype(int)[
        patient
    ]  # whole patients, so there are only twelve outcomes
    assert not check_calibration(p, y, rng=0, n_bootstrap=200).ok
    assert check_calibration(p, y, rng=0, n_bootstrap=200, groups=patient).ok


def test_friendly_errors_of_the_check():
    with pytest.raises(ValueError, match="`tolerance`"):
        check_calibration(np.full((3, 2), 0.5), [0, 1, 0], rng=0, tolerance=-1)
    with pytest.raises(ValueError, match="`n_bootstrap` must be an integer of at least 2"):
        check_calibration(np.full((3, 2), 0.5), [0, 1, 0], n_bootstrap=0)


def test_a_difference_within_the_tolerance_is_said_with_its_size_and_direction():
    """Far more often right than expected, but by fewer than the tolerance allows: that is not "no
    sign" of anything.
    """
    n = 3000
    p = np.tile([0.85, 0.15], (n, 1))
    y = (np.arange(n) >= 2670).astype(int)  # 89 % of the first class
    check = check_calibration(p, y, rng=0, n_bootstrap=50)
    assert check.ok
    assert str(check) == (
        "Under-confident by 4.0 percentage points (95 % interval 2.8 to 5.1): 89.0 % right, 85.0 % "
        "expected, of 3,000 instances."
    )
    few = check_calibration(
        p[:50], (np.arange(50) >= 32).astype(int), rng=0, n_bootstrap=50
    )  # 64 % right
    assert str(few).startswith(
        "Over-confident by 21.0 percentage points (95 % interval 7.2 to 35.3): 64.0 % right, 85.0 "
        "% expected, of 50 instances."
    )


def test_labels_that_may_occur_together_are_counted_one_by_one():
    p = np.full((400, 2), 0.9)
    present = np.stack(
        [np.arange(400) < 240, np.arange(400) < 280], axis=1
    )  # 60 and 70 % instead of 90 %
    check = check_calibration(
        lw.MultiLabelEnsemble(p[None]), present, rng=0, n_bootstrap=50, tolerance=0.1
    )
    assert str(check) == (
        "Over-confident by 25.0 percentage points (95 % interval 20.6 to 29.6): 65.0 % right, 90.0 "
        "% expected, of the labels of 400 instances."
    )


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_check_holds_the_mean_and_no_copy_of_the_members(multilabel, monkeypatch) -> None:
    q, y = labeled_ensemble(10_000)
    if multilabel:
        q, y = lw.MultiLabelEnsemble(q.probs), np.eye(20, dtype=np.int8)[y]

    def check() -> None:
        check_calibration(q, y, n_bootstrap=4, rng=0)

    assert peak_with_small_blocks(check, monkeypatch) < 1.2 * q.probs.nbytes


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_check_is_bit_identical_for_blocks_of_any_size(multilabel, monkeypatch) -> None:
    q, y = labeled_ensemble(600, 6, "float64")
    if multilabel:
        q, y = lw.MultiLabelEnsemble(q.probs), np.eye(6, dtype=np.int8)[y]
    check_same_bits(lambda: check_calibration(q, y, n_bootstrap=10, rng=0), monkeypatch)
