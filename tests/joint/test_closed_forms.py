"""Closed forms of Dirichlet distributions against mpmath."""

from __future__ import annotations

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

import labelwise as lw


@pytest.mark.parametrize(
    "alpha", [[0.5, 0.2, 3.0], [1e-3, 1e-2, 1e-3], [1e5, 1e6, 3.0], [1.0, 1.0, 1.0]]
)
def test_dirichlet_log_and_squared_against_mpmath(alpha: list[float]) -> None:
    mp.mp.dps = 50
    a = [mp.mpf(x) for x in alpha]
    s = sum(a)
    u = lw.joint.decompose(lw.Dirichlet(np.array(alpha)))
    total = -sum(x / s * mp.log(x / s, 2) for x in a)
    aleatoric = sum(x / s * (mp.digamma(s + 1) - mp.digamma(x + 1)) for x in a) / mp.log(2)
    assert float(u.total) == pytest.approx(float(total), rel=1e-12)
    assert float(u.aleatoric) == pytest.approx(float(aleatoric), rel=1e-11)
    assert float(u.epistemic) == pytest.approx(float(total - aleatoric), rel=1e-8)
    own = lw.joint.mutual_information_by_class(lw.Dirichlet(np.array(alpha)))
    assert float(own.sum()) == pytest.approx(float(u.epistemic), rel=1e-12)
    brier = lw.joint.decompose(lw.Dirichlet(np.array(alpha)), "squared")
    assert float(brier.epistemic) == pytest.approx(
        float(sum(x / s * (1 - x / s) for x in a) / (s + 1)), rel=1e-12
    )


def test_reverse_of_a_dirichlet_against_mpmath() -> None:
    mp.mp.dps = 50
    for alpha in ([0.5, 2.0, 7.0], [1e3, 1e4, 5.0], [0.01, 0.02, 0.5]):
        a = [mp.mpf(x) for x in alpha]
        s = sum(a)
        exact = sum(x / s * (mp.log(x / s) - mp.digamma(x) + mp.digamma(s)) for x in a) / mp.log(2)
        assert float(
            lw.joint.reverse_mutual_information(lw.Dirichlet(np.array(alpha)))
        ) == pytest.approx(float(exact), rel=1e-9)


def test_more_knowledge_never_adds_epistemic_uncertainty() -> None:
    """A Dirichlet that has seen more is less uncertain about θ, whatever the loss."""
    base = np.array([2.0, 1.0, 0.5])
    for loss in ("log", "squared", "zero_one"):
        values = [
            float(lw.joint.decompose(lw.Dirichlet(base * scale), loss).epistemic)
            for scale in (1, 4, 16, 64)
        ]
        assert all(b <= a for a, b in pairwise(values))
