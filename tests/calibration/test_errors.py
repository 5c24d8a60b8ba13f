"""Calibration errors against their definition, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from calibration_cases import draw, ece, sharpen
from labelwise.calibration import calibration_errors, reliability_curves
from labelwise.calibration.errors import BinnedErrors, _simulated_gaps, top_label_error
from labelwise.calibration.reliability import BinnedForecasts


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


def covered(power: float) -> float:
    """How often intervals cover the true error of sharpened probabilities, which is known from a
    large sample in the same bins.
    """
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
    return held / 60


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_intervals_of_the_error_cover(power):
    assert covered(power) >= 0.9


@pytest.fixture
def many_cases(monkeypatch):
    """What is done with very many cases, with few."""
    monkeypatch.setattr("labelwise.calibration.errors.MAX_UNITS", 150)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_intervals_from_random_groups_of_many_cases_cover(power, many_cases):
    assert covered(power) >= 0.9


@pytest.mark.parametrize("multilabel", [False, True])
def test_random_groups_vary_like_instances(multilabel, monkeypatch):
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1.0, 0.6, 0.4, 0.1], size=15_000)
    y = rng.random(p.shape) < p if multilabel else draw(p, rng)
    noise = []
    for most in (1 << 12, 1 << 14):
        monkeypatch.setattr("labelwise.calibration.errors.MAX_UNITS", most)
        errors = BinnedErrors(p, y, (1, 3, 10), True, None, 400, 0.95, 0)
        spread = errors.replicates.std(axis=0)
        noise.append([errors.noise.mean(axis=0), errors.null.mean(axis=0), spread])
    # each of 400 replicates, known to 4 %, and the means over the classes
    np.testing.assert_allclose(noise[0], noise[1], rtol=0.25)
    means = [np.mean(of_columns, axis=-1) for of_columns in noise]
    np.testing.assert_allclose(*means, rtol=0.12)


def test_sums_by_unit_add_up_to_those_of_all(data):
    p, y = data
    forecast, outcome = p[:, 0], (y == 0).astype(float)
    binned = BinnedForecasts(forecast, outcome, (1, 3, 10), adaptive=True)
    unit = np.arange(500) % 10
    sums = binned.sums_by_unit(unit, 10)
    assert sums.shape == (10, binned.n_cells)
    np.testing.assert_allclose(sums.sum(axis=0) / 500, binned.gaps, atol=1e-12)
    first = np.where(unit == 0, outcome - forecast, 0.0)
    np.testing.assert_allclose(sums[0], binned.sums(first), atol=1e-12)


def test_simulated_gaps_are_those_of_right_forecasts():
    rng = np.random.default_rng(4)
    forecast = rng.beta(0.5, 3, size=400)
    drawn = (rng.random((4000, 400)) < forecast).astype(float)
    binned = BinnedForecasts(forecast, drawn[0], (1, 3), adaptive=True)
    gaps = np.array([binned.sums(outcome - forecast) for outcome in drawn]) / 400
    simulated = _simulated_gaps(binned, 4000, rng)
    np.testing.assert_allclose(simulated.mean(axis=0), 0, atol=5 * gaps.std() / np.sqrt(4000))
    np.testing.assert_allclose(simulated.std(axis=0), gaps.std(axis=0), rtol=0.06)
    for found, expected in zip(simulated.T, gaps.T, strict=True):
        np.testing.assert_allclose(*(np.quantile(x, 0.95) for x in (found, expected)), rtol=0.1)


@pytest.mark.parametrize("measure", [calibration_errors, reliability_curves])
def test_errors_hold_the_mean_and_no_copy_of_the_members(measure, monkeypatch) -> None:
    q, y = labeled_ensemble()
    assert peak_with_small_blocks(lambda: measure(q, y), monkeypatch) < q.probs.nbytes


def test_errors_are_bit_identical_for_blocks_of_any_size(monkeypatch) -> None:
    q, y = labeled_ensemble(600, 6, "float64")
    check_same_bits(lambda: calibration_errors(q, y, n_bootstrap=10, rng=0), monkeypatch)
    check_same_bits(lambda: reliability_curves(q, y), monkeypatch)


def test_random_groups_are_bit_identical_for_blocks_of_any_size(monkeypatch, many_cases) -> None:
    q, y = labeled_ensemble(600, 6, "float64")
    check_same_bits(lambda: calibration_errors(q, y, n_bootstrap=10, rng=0), monkeypatch)


def test_the_error_of_the_top_label_from_its_probabilities_alone() -> None:
    q, y = labeled_ensemble(600, 6)
    mean = q.mean()
    right = mean.argmax(axis=-1) == y
    error = calibration_errors(q, y).ece
    assert top_label_error(mean.max(axis=-1).astype(float), right) == error.value
