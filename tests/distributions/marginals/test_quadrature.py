"""Quadrature in log-odds: integrals of known densities, digits of small steps, and blocks that
change nothing.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.special import expit, ndtr

from labelwise._arrays import sigmoid, sigmoid_step
from labelwise._engine.blocks import in_instance_blocks
from labelwise.distributions.marginals._quadrature import kink_log_odds, logit_nodes


def test_pieces_meet_at_the_corner_of_a_loss() -> None:
    """The normal distribution function up to the corner, for which no smooth rule would have nodes
    enough.
    """
    x = np.zeros(2)
    corner = kink_log_odds(np.array([0.2, 0.9]), x)
    nodes, dx = logit_nodes(x - 9, x + 9, x, x + 1, [x, *corner])
    where = np.log([0.2 / 0.8, 0.9 / 0.1])
    found = np.sum(dx * (nodes <= where) * np.exp(-(nodes**2) / 2), axis=0) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found, ndtr(where), rtol=1e-12)


def test_corners_of_0_and_1_are_finite() -> None:
    (x,) = kink_log_odds(np.array([0.0, 1.0]), np.zeros(2))
    assert np.all(np.isfinite(x))
    assert kink_log_odds(None, np.zeros(2)) == []


def test_sigmoid_and_its_steps() -> None:
    x = np.array([-800.0, -40.0, -1.0, 0.0, 3.0, 50.0, 800.0])
    np.testing.assert_allclose(sigmoid(x), expit(x), rtol=1e-15)
    with mp.workdps(60):
        for step in (1e-13, -1e-9, 0.5, -30.0):
            found = sigmoid_step(x, np.full(7, step))
            for a, y in zip(x[1:6], found[1:6], strict=True):
                exact = 1 / (1 + mp.exp(-mp.mpf(a) - mp.mpf(step))) - 1 / (1 + mp.exp(-mp.mpf(a)))
                assert float(y) == pytest.approx(float(exact), rel=1e-13, abs=0)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_blocks_change_nothing(n: int) -> None:
    a = np.random.default_rng(0).random((n, 2, 3))
    seen = []

    def f(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(len(x))
        return x + 1, 2 * x

    plus, twice = in_instance_blocks(f, (a,), 2, 3)
    np.testing.assert_array_equal(plus, a + 1)
    np.testing.assert_array_equal(twice, 2 * a)
    assert set(seen) == {3}
