"""Beta laws and their mixtures: expectations against scipy, and events that always happen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import labelwise as lw
from labelwise.distributions.marginals import Beta, BetaMixture

A, B = np.array([[0.7, 3.0, 200.0]]), np.array([[0.4, 50.0, 2.0]])


def test_expectations() -> None:
    expect = Beta(A, B).expectation()
    found = expect(lambda t, c, d: t * t * c)
    expected = [
        stats.beta(a, b).expect(lambda t: t * t * (1 - t)) for a, b in zip(A[0], B[0], strict=True)
    ]
    np.testing.assert_allclose(found[0], expected, rtol=1e-7)
    np.testing.assert_allclose(expect(lambda t, c, d: d * d), stats.beta(A, B).var(), rtol=1e-10)


@pytest.mark.parametrize(
    "loss", [lw.LogLoss(), lw.SquaredLoss(), lw.SphericalLoss(), lw.CostLoss(1, 5)], ids=repr
)
def test_an_event_of_all_classes_is_certain(loss: lw.Loss) -> None:
    law = Beta(np.array([[2.0, 3.0]]), np.array([[0.0, 1.0]]))
    parts = law.split(loss)
    assert parts.aleatoric[0, 0] == parts.epistemic[0, 0] == 0
    assert np.all(parts.aleatoric[0, 1] > 0)


def test_mixtures_average_their_members() -> None:
    weights = np.array([0.3, 0.7])
    members = Beta(np.stack([A, B]), np.stack([B, A]))
    law = BetaMixture(members, weights)
    m = np.stack([A / (A + B), B / (A + B)])
    mean = np.einsum("m,m...->...", weights, m)
    np.testing.assert_allclose(law.mean[0], mean, rtol=1e-14)
    variance = np.einsum(
        "m,m...->...", weights, stats.beta(members.a, members.b).var() + (m - mean) ** 2
    )
    np.testing.assert_allclose(law.split(lw.SquaredLoss()).epistemic, variance, rtol=1e-10)
