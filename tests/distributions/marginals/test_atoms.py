"""Weighted atoms: averages, deviations that vanish exactly where members agree, and the jackknife
by leaving members out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.distributions.marginals import Atoms

RNG = np.random.default_rng(0)
T = RNG.random((4, 5, 3))


@pytest.mark.parametrize(
    "weights",
    [None, RNG.dirichlet(np.ones(4)), np.moveaxis(RNG.dirichlet(np.ones(4), 5), -1, 0)],
    ids=np.shape,
)
def test_expectations_are_weighted_sums(lib: Any, weights: np.ndarray | None) -> None:
    law = Atoms(lib.array(T), None if weights is None else lib.array(weights))
    w = np.full(4, 0.25) if weights is None else weights
    w = w.reshape(w.shape + (1,) * (3 - w.ndim))
    mean = (w * T).sum(0)
    np.testing.assert_allclose(lib.numpy(law.mean[0]), mean, rtol=1e-14)
    np.testing.assert_allclose(lib.numpy(law.mean[1]), 1 - mean, rtol=1e-14)
    found = law.expectation()(lambda t, c, d: t * c + d * d)
    np.testing.assert_allclose(
        lib.numpy(found), (w * (T * (1 - T) + (T - mean) ** 2)).sum(0), rtol=1e-13
    )


def test_members_that_agree_have_no_deviation(lib: Any) -> None:
    same = np.repeat(T[:1], 4, axis=0)
    for weights in (None, lib.array(np.array([0.1, 0.2, 0.3, 0.4]))):
        assert np.all(lib.numpy(Atoms(lib.array(same), weights).deviation) == 0)


def test_complements_that_are_given_keep_their_digits() -> None:
    """Close to 1 the deviation comes from the complements, which t has lost."""
    c = np.array([[[1e-20]], [[3e-20]]])
    law = Atoms(1 - c, None, c)
    np.testing.assert_allclose(law.mean[1], 2e-20)
    np.testing.assert_allclose(law.deviation[:, 0, 0], [1e-20, -1e-20])


def test_jackknife_leaves_members_out() -> None:
    for loss in (lw.LogLoss(), lw.SquaredLoss(), lw.SphericalLoss()):
        without = [loss.entropy(np.delete(T, i, axis=0).mean(0)) for i in range(4)]
        lacking = 3 * (loss.entropy(T.mean(0)) - np.mean(without, axis=0))
        np.testing.assert_allclose(Atoms(T).jackknife(loss), lacking, rtol=1e-9)
