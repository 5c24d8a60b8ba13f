"""Parameters of LogisticNormal: what is accepted, and a sentence for each that is wrong. Its
numbers: marginals/test_logit_normal.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from wrong_input import refused


def test_covariance(lib: Any) -> None:
    mean, eye = lib.array(np.zeros((2, 3))), np.broadcast_to(np.eye(3), (2, 3, 3))

    def make(cov: Any) -> None:
        lw.LogisticNormal(mean, lib.array(cov))

    with refused(
        ValueError,
        "`cov` must be symmetric; cov and its transpose differ by up to 0.5",
        "(cov + cov.T) / 2 if that is rounding",
    ):
        make(eye + 0.5 * np.eye(3, k=1))
    with refused(ValueError, "`cov` must be positive semi-definite; its lowest eigenvalue is -5"):
        make(eye - 2)
    with refused(ValueError, "`cov` holds variances and must not be negative; the lowest is -0.5"):
        make(np.full((2, 3), -0.5))
    with refused(ValueError, "`cov` must be finite; got NaN at index (0, 0)"):
        make(np.full((2, 3), np.nan))
    with refused(ValueError, "`mean` must be finite; got infinity at index (0,)"):
        lw.LogisticNormal(lib.array([np.inf, 0]), lib.array([1, 1]))
    shapes = "`cov` must have the shape of `mean`, (2, 3) (variances), or (2, 3, 3) (covariances)"
    with refused(
        ValueError,
        shapes,
        "got (3, 3)",
    ):
        make(np.eye(3))
    with refused(
        ValueError,
        shapes,
        "got (3,)",
    ):
        make(np.ones(3))
    with refused(ValueError, shapes, "got (2, 2)"):
        make(np.ones((2, 2)))
    with refused(
        ValueError, "`mean` must have at least 1 axis (..., classes); got a single number"
    ):
        lw.LogisticNormal(lib.array(0.0), lib.array(1.0))


def test_covariance_that_rounding_left_asymmetric(lib: Any) -> None:
    """As inverses of precision matrices come in single precision, for instance from Laplace
    approximations.
    """
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(20, 10, 30))
    noise = 5e-4 * rng.uniform(-1, 1, (20, 10, 10))
    cov = (factor @ factor.swapaxes(-1, -2) * (1 + noise)).astype("float32")
    assert not np.array_equal(cov, cov.swapaxes(-1, -2))
    for dtype in (
        "float32",
        "float64",
    ):  # the precision is that of `cov`, also where `mean` has more
        mean = lib.array(np.zeros((20, 10)), dtype)
        q = lw.LogisticNormal(mean, lib.array(cov, "float32"), points=16)
        stored = lib.numpy(q.cov)
        assert str(stored.dtype) == dtype
        assert np.array_equal(stored, stored.swapaxes(-1, -2))
        np.testing.assert_allclose(stored, (cov + cov.swapaxes(-1, -2)) / 2, rtol=1e-6)
    if lib.name != "jax":  # which compiles ten classes for 8 s; three are in tests/test_arrays.py
        assert np.all(np.isfinite(lib.numpy(lw.decompose(q[:2]).epistemic)))
    with refused(ValueError, "`cov` must be symmetric"):  # in double precision that is no rounding
        lw.LogisticNormal(lib.array(np.zeros((20, 10))), lib.array(cov, "float64"))


@pytest.mark.parametrize("points", [100, 8, 128.0, 0])
def test_points(points: Any) -> None:
    with refused(ValueError, "`points` must be a power of 2, at least 16", f"got {points!r}"):
        lw.LogisticNormal([0.0, 1.0], [1.0, 1.0], points=points)


@pytest.mark.parametrize("rng", ["a", -1, 1.5])
def test_seed(rng: Any) -> None:
    with refused(
        TypeError,
        "`rng` must be None, an integer seed from 0 or a numpy.random.Generator",
        f"got {rng!r}",
    ):
        lw.LogisticNormal([0.0, 1.0], [1.0, 1.0], rng=rng)
