"""Calibration errors against their definition, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from calibration_cases import draw, ece, sharpen
from labelwise.calibration import calibration_errors, reliability_curves
from labelwise.calibration.errors import top_label_error


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = np.round(rng.dirichlet([0.4, 0.4, 0.4], size=500), 2)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    p = p.clip(0, 1)
    return p, draw(sharpen(p + 1e-9, 0.5), rng)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_errors_equal_the_definition(data, n_bins):
    p, y = data
    errors = calibration_errors(p, y, n_bins=n_bins)
    curves = reliability_curves(p, y, n_bins=n_bins)
    columns = {
        "top label": (p.max(1), p.argmax(1) == y),
        **{str(k): (p[:, k], y == k) for k in range(3)},
    }
    found = {
        "top label": float(errors.ece),
        **dict(zip("012", errors.classwise.value, strict=True)),
    }
    for name, (forecast, happened) in columns.items():
        edges = curves[name].edges
        np.testing.assert_allclose(edges, np.linspace(0, 1, n_bins + 1))
        assert found[name] == pytest.approx(ece(forecast, happened, edges), abs=1e-12)
        assert curves[name].error == pytest.approx(found[name], abs=1e-12)
        assert curves[name].count.sum() == 500
        np.testing.assert_allclose(curves[name].count @ curves[name].forecast, forecast.sum())
        np.testing.assert_allclose(curves[name].count @ curves[name].frequency, happened.sum())
    assert np.isnan(errors.ece.low)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_intervals_of_the_error_cover(power):
    """Sharpened probabilities: the true error in the same bins, from a large sample."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.5, 0.5, 0.5], size=200_000)
    forecast = sharpen(p, power)
    top = forecast.argmax(1)
    true = ece(forecast.max(1), p[np.arange(len(p)), top], np.linspace(0, 1, 16))
    held = 0
    for i in range(60):
        rows = slice(300 * i, 300 * (i + 1))
        errors = calibration_errors(forecast[rows], draw(p[rows], rng), rng=rng, n_bootstrap=50)
        held += errors.ece.low <= true <= errors.ece.high
    assert held / 60 >= 0.9


@pytest.mark.parametrize("measure", [calibration_errors, reliability_curves])
def test_errors_hold_the_mean_and_no_copy_of_the_members(measure, monkeypatch) -> None:
    q, y = labeled_ensemble()
    assert peak_with_small_blocks(lambda: measure(q, y), monkeypatch) < q.probs.nbytes


def test_errors_are_bit_identical_for_blocks_of_any_size(monkeypatch) -> None:
    q, y = labeled_ensemble(600, 6, "float64")
    check_same_bits(lambda: calibration_errors(q, y, n_bootstrap=10, rng=0), monkeypatch)
    check_same_bits(lambda: reliability_curves(q, y), monkeypatch)


def test_the_error_of_the_top_label_from_its_probabilities_alone() -> None:
    q, y = labeled_ensemble(600, 6)
    mean = q.mean()
    right = mean.argmax(axis=-1) == y
    error = calibration_errors(q, y).ece
    assert top_label_error(mean.max(axis=-1).astype(float), right) == error.value
