"""Temperature scaling: recovers what was done to the logits, lowers the likelihood loss, maps
ensembles of every library.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import fit_temperature


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
    temperature = fit_temperature(true * z[None], y)
    assert float(temperature.value) == pytest.approx(true, rel=0.03)
    assert temperature.nll_after <= temperature.nll_before
    assert temperature.nll_after == pytest.approx(nll(softmax(z), y), rel=1e-3)


def test_is_the_minimum_of_the_likelihood():
    """Against a fine search over T, for the shared and the separate temperatures."""
    rng = np.random.default_rng(1)
    z = rng.normal(0, 3, size=(3, 200, 3))
    y = draw(softmax(z.mean(0) / 3), rng)
    grid = np.exp(np.linspace(-1, 5, 1201))
    shared = fit_temperature(z, y, prior_sd=math.inf)
    losses = [nll(softmax(z / t).mean(0), y) for t in grid]
    assert float(shared.value) == pytest.approx(grid[np.argmin(losses)], rel=5e-3)
    assert shared.nll_after == pytest.approx(min(losses), abs=1e-6)
    separate = fit_temperature(z, y, per_member=True, prior_sd=math.inf)
    for member, t in zip(z, separate.value, strict=True):
        assert t == pytest.approx(
            grid[np.argmin([nll(softmax(member / s), y) for s in grid])], rel=5e-3
        )
    # the shared one is judged by the mean, so the mean is at least as good
    assert shared.nll_after <= min(separate.nll_after, shared.nll_before) + 1e-3
    with_prior = fit_temperature(z, y)
    penalized = [
        loss + np.log(t) ** 2 / 2 / 200 / np.log(2) for loss, t in zip(losses, grid, strict=True)
    ]
    assert float(with_prior.value) == pytest.approx(grid[np.argmin(penalized)], rel=5e-3)


@pytest.mark.parametrize("per_member", [False, True])
def test_maps_ensembles(lib, per_member):
    rng = np.random.default_rng(2)
    probs = rng.dirichlet([0.3, 0.3, 0.3], size=(4, 60))
    probs[0, 0] = [1.0, 0.0, 0.0]
    y = rng.integers(0, 3, 60)
    q = lw.Ensemble(lib.array(probs), weights=lib.array([1, 2, 3, 4]), class_names=["a", "b", "c"])
    temperature = fit_temperature(q, np.array(["a", "b", "c"])[y], per_member=per_member)
    better = temperature(q)
    assert type(better.probs) is type(q.probs)
    assert better.class_names == q.class_names
    t = np.reshape(temperature.value, (-1, 1, 1))
    with np.errstate(divide="ignore"):
        expected = softmax(np.log(np.maximum(probs, np.finfo(float).tiny)) / t)
    np.testing.assert_allclose(lib.numpy(better.probs), expected, atol=1e-9)
    mean = np.tensordot([0.1, 0.2, 0.3, 0.4], expected, 1)
    np.testing.assert_allclose(lib.numpy(better.mean()), mean, atol=1e-9)
    assert temperature.nll_after == pytest.approx(nll(mean, y), rel=1e-6)
    assert temperature.nll_after < temperature.nll_before
    np.testing.assert_allclose(
        temperature(lib.array(np.log(probs.clip(np.finfo(float).tiny)))).probs, expected, atol=1e-9
    )


def test_a_small_perfect_set_does_not_drive_it_to_zero():
    z = np.array([[[4.0, 0.0], [0.0, 4.0], [5.0, 0.0]]])
    assert 0.1 < float(fit_temperature(z, [0, 1, 0]).value) < 1
    with pytest.raises(ValueError, match="every prediction is right"):
        fit_temperature(z, [0, 1, 0], prior_sd=math.inf)
    with pytest.raises(ValueError, match="same order"):
        fit_temperature(z, [1, 0, 1], prior_sd=math.inf)
    assert float(fit_temperature(z, [1, 0, 1]).value) > 5


def test_sure_and_wrong_stays_finite():
    q = lw.Ensemble(
        np.tile(np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]]), (1, 100, 1))
    )
    temperature = fit_temperature(q, [0, 1, 0, 1] * 100)
    assert np.isfinite(temperature.nll_before)
    assert temperature(q).mean()[0, 0] == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize(
    ("q", "y", "options", "words"),
    [
        (np.zeros((3, 2)), [0, 1, 0], {}, r"z\[None\]"),
        (lw.Dirichlet(np.ones((3, 2))), [0, 1, 0], {}, "got Dirichlet"),
        (lw.MultiLabelEnsemble(np.full((2, 3, 2), 0.5)), [0, 1, 0], {}, "got MultiLabelEnsemble"),
        (np.zeros((1, 3, 2)), [0, 1], {}, "`y_true` must have one class per instance"),
        (np.zeros((1, 3, 2)), [0, 1, 2], {}, "between 0 and 1"),
        (np.full((1, 3, 2), -np.inf), [0, 1, 0], {}, "finite"),
        (np.zeros((1, 0, 2)), np.zeros(0, int), {}, "at least one instance"),
        (np.zeros((1, 3, 2)), [0, 1, 0], {"prior_sd": 0}, "`prior_sd`"),
    ],
)
def test_friendly_errors(q, y, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        fit_temperature(q, y, **options)


def test_separate_temperatures_belong_to_their_members():
    temperature = fit_temperature(
        np.random.default_rng(3).normal(size=(3, 20, 2)), np.arange(20) % 2, per_member=True
    )
    with pytest.raises(ValueError, match="3 members"):
        temperature(np.zeros((2, 5, 2)))
