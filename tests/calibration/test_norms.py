"""Calibration norms against a loop over the bins, and against the expected calibration error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise.calibration import calibration_errors, calibration_norms


def by_hand(forecast: np.ndarray, happened: np.ndarray, n_bins: int, p: float) -> float:
    gaps, shares = [], []
    for b in range(n_bins):
        low, high = b / n_bins, (b + 1) / n_bins
        inside = [i for i, f in enumerate(forecast) if (low < f <= high) or (b == 0 and f == 0)]
        if inside:
            gaps.append(abs(np.mean(happened[inside]) - np.mean(forecast[inside])))
            shares.append(len(inside) / len(forecast))
    return (
        max(gaps)
        if p == np.inf
        else sum(s * g**p for s, g in zip(shares, gaps, strict=True)) ** (1 / p)
    )


@given(st.integers(0, 300), st.sampled_from([1, 1.5, 2, 3.0, np.inf]), st.integers(1, 8))
def test_a_loop_over_the_bins_finds_the_same(seed, p, n_bins):
    rng = np.random.default_rng(seed)
    mean, y = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    found = calibration_norms(mean, y, p=p, n_bins=n_bins)
    top = mean.argmax(1)
    assert found.top_label == pytest.approx(by_hand(mean.max(1), top == y, n_bins, p))
    assert found.classwise == pytest.approx(
        [by_hand(mean[:, k], y == k, n_bins, p) for k in range(3)]
    )


@pytest.mark.parametrize("adaptive", [False, True])
def test_norms_grow_from_the_expected_to_the_maximum_error(adaptive):
    rng = np.random.default_rng(1)
    mean, y = rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200)
    ps = [1, 2, 4, np.inf]
    found = [calibration_norms(mean, y, p=p, adaptive=adaptive) for p in ps]
    errors = calibration_errors(mean, y, adaptive=adaptive)
    assert found[0].top_label == pytest.approx(float(errors.ece))
    assert found[0].classwise == pytest.approx(errors.classwise.value)
    assert sorted(x.top_label for x in found) == [x.top_label for x in found]
    assert calibration_norms(mean, y, p=400, adaptive=adaptive).top_label == pytest.approx(
        found[-1].top_label, rel=0.02
    )


def test_several_labels_have_no_top_label():
    rng = np.random.default_rng(0)
    found = calibration_norms(
        lw.MultiLabelEnsemble(rng.random((2, 30, 3))), rng.integers(0, 2, (30, 3))
    )
    assert found.top_label is None
    assert found.classwise.shape == (3,)


@pytest.mark.parametrize("p", [0.5, 0, np.nan, "2", True])
def test_numbers_that_are_no_norm(p):
    with pytest.raises(ValueError, match="`p` must be a number from 1"):
        calibration_norms(np.full((3, 2), 0.5), [0, 1, 0], p=p)
