"""Temperature scaling: recovers what was done to the logits, lowers the likelihood loss, maps
ensembles of every library.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import fit_calibration
from labelwise.calibration._temperature import fit_temperature


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def draw(p, rng):
    return (rng.random((len(p), 1)) >= p.cumsum(1)[:, :-1]).sum(1)


def nll(p, y):
    return -np.mean(np.log2(p[np.arange(len(y)), y]))


@pytest.mark.parametrize("true", [0.5, 1.0, 3.0])
def test_recovers_the_temperature_of_one_model(true):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, size=(20_000, 4))
    y = draw(softmax(z), rng)
    found = fit_calibration(lw.Ensemble.from_logits(true * z[None]), y)
    assert found.temperature == pytest.approx(true, rel=0.03)
    assert nll(softmax(true * z / found.temperature), y) == pytest.approx(
        nll(softmax(z), y), rel=1e-3
    )


@pytest.fixture
def without_prior(monkeypatch):
    return lambda: monkeypatch.setattr("labelwise.calibration._temperature.PRIOR_SD", math.inf)


def test_is_the_minimum_of_the_likelihood(without_prior):
    """Against a fine search over T, for the shared and the separate temperatures."""
    rng = np.random.default_rng(1)
    z = rng.normal(0, 3, size=(3, 200, 3))
    y = draw(softmax(z.mean(0) / 3), rng)
    grid = np.exp(np.linspace(-1, 5, 1201))
    losses = [nll(softmax(z / t).mean(0), y) for t in grid]
    q = lw.Ensemble.from_logits(z)
    shared = fit_calibration(q, y)
    prior = np.log(grid) ** 2 / 2 / 200 / np.log(2)
    assert shared.temperature == pytest.approx(grid[np.argmin(losses + prior)], rel=5e-3)
    without_prior()
    free = fit_temperature(z, y)
    assert free == pytest.approx(grid[np.argmin(losses)], rel=5e-3)
    for member in z:
        best = grid[np.argmin([nll(softmax(member / s), y) for s in grid])]
        assert fit_temperature(member[None], y) == pytest.approx(best, rel=5e-3)


def test_maps_ensembles(lib):
    rng = np.random.default_rng(2)
    probs = rng.dirichlet([0.3, 0.3, 0.3], size=(4, 60))
    probs[0, 0] = [1.0, 0.0, 0.0]
    y = rng.integers(0, 3, 60)
    q = lw.Ensemble(lib.array(probs), weights=lib.array([1, 2, 3, 4]), class_names=["a", "b", "c"])
    found = fit_calibration(q, np.array(["a", "b", "c"])[y])
    better = found(q)
    assert type(better.probs) is type(q.probs)
    assert better.class_names == q.class_names
    t = np.reshape(found.temperature, (-1, 1, 1))
    expected = softmax(np.log(np.maximum(probs, np.finfo(float).tiny)) / t)
    np.testing.assert_allclose(lib.numpy(better.probs), expected, atol=1e-9)
    mean = np.tensordot([0.1, 0.2, 0.3, 0.4], expected, 1)
    np.testing.assert_allclose(lib.numpy(better.mean()), mean, atol=1e-9)
    assert nll(mean, y) < nll(lib.numpy(q.mean()), y)


def test_a_small_perfect_set_does_not_drive_it_to_zero(without_prior):
    z = np.array([[[4.0, 0.0], [0.0, 4.0], [5.0, 0.0]]])
    right, wrong = np.array([0, 1, 0]), np.array([1, 0, 1])
    assert 0.1 < fit_temperature(z, right) < 1
    assert fit_temperature(z, wrong) > 5
    without_prior()
    with pytest.raises(ValueError, match="every prediction is right"):
        fit_temperature(z, right)
    with pytest.raises(ValueError, match="same order"):
        fit_temperature(z, wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sure_and_wrong_stays_finite(dtype):
    probs = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]], dtype)
    q = lw.Ensemble(np.tile(probs, (1, 100, 1)))
    found = fit_calibration(q, [0, 1, 0, 1] * 100)
    assert np.all(np.isfinite(found.temperature))
    assert found(q).mean()[0, 0] == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize(
    ("q", "y", "words"),
    [
        (lw.Dirichlet(np.ones((3, 2))), [0, 1, 0], "got Dirichlet"),
        (lw.Ensemble(np.full((1, 3, 2), 0.5)), [0, 1], "`y_true` must have one class per instance"),
        (lw.Ensemble(np.full((1, 3, 2), 0.5)), [0, 1, 2], "between 0 and 1"),
        (lw.Ensemble(np.full((1, 0, 2), 0.5)), np.zeros(0, int), "at least one instance"),
    ],
)
def test_friendly_errors(q, y, words):
    with pytest.raises((ValueError, TypeError), match=words):
        fit_calibration(q, y)
