"""Rejection, detection and reliability: what is on the axes is what was given."""

from __future__ import annotations

import numpy as np

import labelwise as lw


def test_rejection_curves_bands_and_references(case) -> None:
    q, u, y = case
    correct = q.mean().argmax(-1) == y
    curve = lw.evaluation.rejection_curve(u.sum().total, correct=correct, rng=0, n_bootstrap=20)
    ax = lw.plots.plot_rejection({"total": curve})
    kept = curve.rejected <= 0.98
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 100 * curve.rejected[kept])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curve.value[kept])
    assert ax.lines[0].get_color() == "#444444"  # the same as everywhere
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve.random)
    np.testing.assert_allclose(ax.lines[2].get_ydata(), curve.oracle[kept])
    assert len(ax.collections) == 1
    ax = lw.plots.plot_rejection(curve)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curve.value[kept])
    assert len(ax.lines) == 3


def test_wide_bands_do_not_flatten_the_curve() -> None:
    rng = np.random.default_rng(0)
    score = rng.random(60)
    correct = rng.random(60) < 1 - score / 2
    curve = lw.evaluation.rejection_curve(score, correct=correct, rng=0, n_bootstrap=100)
    low, high = lw.plots.plot_rejection(curve).get_ylim()
    assert curve.band.low.min() < 0.1 < 0.4 < low < curve.value.min() < curve.oracle.max() < high


def test_detection() -> None:
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(size=200).round(1), rng.normal(1, size=150).round(1)
    ax = lw.plots.plot_detection(inside, outside)
    assert (
        f"{lw.evaluation.detection_scores(inside, outside, n_bootstrap=0).auroc.value:.3f}"
        in ax.get_title()
    )


def test_reliability(case) -> None:
    q, _, y = case
    curves = lw.calibration.reliability_curves(q, y)
    ax = lw.plots.plot_reliability({"top": curves["top label"]})
    np.testing.assert_allclose(ax.lines[1].get_xdata(), curves["top label"].forecast)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curves["top label"].frequency)
