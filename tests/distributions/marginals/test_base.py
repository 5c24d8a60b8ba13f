"""A law that gives its mean and expectations only: the aleatoric and the epistemic part follow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import labelwise as lw
from labelwise.distributions.marginals import Marginal


class Uniform(Marginal):
    """Θ uniform on [0, 1]."""

    @property
    def mean(self):
        return np.array([0.5]), np.array([0.5])

    def expectation(self, kink=None):
        points = None if kink is None else [float(kink)]

        def expect(f):
            def at(t: float) -> float:
                return f(*(np.array([x]) for x in (t, 1 - t, t - 0.5))).item()

            return np.array([quad(at, 0, 1, points=points)[0]])

        return expect


@pytest.mark.parametrize(
    "loss",
    [lw.LogLoss(), lw.SquaredLoss(), lw.SphericalLoss(), lw.ZeroOneLoss(), lw.CostLoss(1, 3)],
    ids=repr,
)
def test_the_parts_follow_from_mean_and_expectation(loss: lw.Loss) -> None:
    parts = Uniform().split(loss)
    np.testing.assert_array_equal(parts.total, loss.entropy(np.array([0.5])))
    np.testing.assert_allclose(parts.aleatoric + parts.epistemic, parts.total, rtol=1e-9)
    expected = lw.decompose(lw.Dirichlet(np.ones((1, 2))), loss)
    np.testing.assert_allclose(parts.aleatoric[0], expected.aleatoric[0, 0], rtol=1e-8)
    assert parts.error is None
