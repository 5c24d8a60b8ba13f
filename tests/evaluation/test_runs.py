"""Curves over several runs and per predicted class."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation import (
    mean_curve,
    mean_over_runs,
    rejection_curve,
    rejection_curves_by_class,
)


def test_t_interval_equals_scipy():
    from scipy import stats

    runs = np.random.default_rng(0).normal(size=(5, 3))
    mean = mean_over_runs(runs, 0.9)
    low, high = stats.t.interval(0.9, 4, runs.mean(0), stats.sem(runs, axis=0))
    np.testing.assert_allclose(mean.low, low)
    np.testing.assert_allclose(mean.high, high)


def test_mean_curve_of_five_runs():
    rng = np.random.default_rng(1)
    runs = []
    for _ in range(5):
        score = rng.random(300)
        runs.append(rejection_curve(score, correct=rng.random(300) > 0.4 * score, grid=50))
    mean = mean_curve(runs)
    values = np.stack([run.value for run in runs])
    np.testing.assert_allclose(mean.value, values.mean(0))
    np.testing.assert_allclose(mean.sd, values.std(0, ddof=1))
    np.testing.assert_allclose(
        mean.high - mean.value, 2.7764451 * mean.sd / np.sqrt(5), rtol=1e-7
    )  # t quantile, 4 degrees of freedom
    assert float(mean.area) == pytest.approx(np.mean([run.area for run in runs]))
    assert mean.n_runs == 5
    assert mean.oracle.shape == mean.value.shape


def test_mean_curve_refuses_what_does_not_fit():
    one = rejection_curve([1, 2, 3], correct=[1, 1, 0])
    with pytest.raises(ValueError, match="at least 2 runs"):
        mean_curve([one])
    with pytest.raises(ValueError, match="grid=50"):
        mean_curve([one, rejection_curve([1, 2], correct=[1, 0])])
    with pytest.raises(ValueError, match="accuracy and risk"):
        mean_curve([one, rejection_curve([1, 2, 3], risk=[1, 2, 3])])
    with pytest.raises(ValueError, match="at least 2 runs"):
        mean_over_runs([1.0])


def test_nothing_to_gain_in_a_run_leaves_the_normalized_area_open():
    perfect = rejection_curve([1, 2], correct=[1, 1])
    mean = mean_curve([perfect, rejection_curve([1, 2], correct=[1, 0])])
    assert np.isnan(float(mean.normalized_area))
    assert float(mean.area) == pytest.approx((1 + 0.75) / 2)


@pytest.fixture
def example():
    rng = np.random.default_rng(2)
    q = lw.Ensemble(
        rng.dirichlet([1, 1, 1, 0.01], size=(5, 200)), class_names=["a", "b", "c", "never"]
    )
    y_pred = np.minimum(q.mean().argmax(-1), 2)
    return q, lw.decompose(q), y_pred, rng.integers(0, 3, 200)


@pytest.mark.parametrize("measure", ["total", "aleatoric", "epistemic"])
def test_rejects_by_the_predicted_label(example, measure):
    _, u, y_pred, y_true = example
    curves = rejection_curves_by_class(u, y_pred, y_true, measure=measure)
    for k, name in enumerate("abc"):
        here = y_pred == k
        expected = rejection_curve(getattr(u[name], measure)[here], correct=(y_true == k)[here])
        np.testing.assert_allclose(curves[name].value, expected.value)
    assert set(curves) == {"a", "b", "c"}


def test_names_batches_and_groups(example):
    _, u, y_pred, y_true = example
    names = np.array(u.class_names)
    groups = np.where(y_pred == 1, 0, np.arange(200) % 20)  # all of class b are one patient
    curves = rejection_curves_by_class(
        u, names[y_pred], names[y_true], grid=10, groups=groups, n_bootstrap=20, rng=1
    )
    assert curves["a"].band is not None
    assert curves["b"].band is None
    boxed = lw.Uncertainty(
        *(x.reshape(20, 10, 4) for x in (u.total, u.aleatoric, u.epistemic)),
        class_names=u.class_names,
        loss=u.loss,
    )
    again = rejection_curves_by_class(
        boxed, y_pred.reshape(20, 10), y_true.reshape(20, 10), grid=10
    )
    np.testing.assert_allclose(again["a"].value, curves["a"].value)


def test_friendly_errors(example):
    q, u, y_pred, y_true = example
    for args, options, words in [
        ((u, q.mean(), y_true), {}, "argmax"),
        ((u, y_pred, y_true[:5]), {}, "`y_true` must have one class per instance"),
        ((u, y_pred, y_true + 2), {}, "between 0 and 3"),
        ((u, y_pred, np.array(["a", "d"] * 100)), {}, "unknown class 'd'"),
        ((u, y_pred, y_true + 0.5), {}, "must be whole numbers or class names"),
        ((u.total, y_pred, y_true), {}, "lw.decompose"),
        ((u, y_pred, y_true), {"measure": "both"}, "`measure`"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            rejection_curves_by_class(*args, **options)
