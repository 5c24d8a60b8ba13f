"""JAX ensembles under ``jit`` and ``grad``: the numbers of the kernel, and the derivatives of the
definitions.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from optional_libraries import optional
from oracle import FALSE_NEGATIVE, FALSE_POSITIVE, SLOPES, exact_slopes
from pairwise import pairwise
from ways import RANGES, predictions

jax = optional("jax")
jax.config.update("jax_enable_x64", True)
PARTS = ("total", "aleatoric", "epistemic")
WEIGHTS = {
    "none": None,
    "members": np.arange(1.0, 6.0),
    "instances": np.random.default_rng(2).random((5, 40)),
}


def parts(p: Any, loss: str, weights: Any = None) -> list[Any]:
    made = lw.CostLoss(FALSE_POSITIVE, FALSE_NEGATIVE) if loss == "cost" else loss
    u = lw.decompose(lw.MultiLabelEnsemble(p, weights=weights), made)
    return [getattr(u, part) for part in PARTS]


@pytest.mark.parametrize(
    ("loss", "weights", "dtype"),
    pairwise(list(SLOPES), list(WEIGHTS), [np.float64, np.float32]),
    ids=str,
)
def test_compiled_equals_the_kernel(loss: str, weights: str, dtype: Any) -> None:
    """XLA takes subnormal numbers for 0: results near the smallest normal number may differ by as
    much as they contribute.
    """
    w, info = WEIGHTS[weights], np.finfo(dtype)
    compiled = jax.jit(lambda p: parts(p, loss, w))  # once for all ranges of values
    for values in RANGES:
        p = predictions(values, dtype)
        found = compiled(jax.numpy.asarray(p))
        for ours, kernel in zip(found, parts(p, loss, w), strict=True):
            assert ours.dtype == dtype
            np.testing.assert_array_less(-1e-300, np.asarray(ours))
            np.testing.assert_allclose(
                ours, kernel, rtol=400 * info.eps, atol=2000 * float(info.smallest_normal)
            )
        assert np.all(np.asarray(found[2])[0] == 0)


@functools.cache
def compiled_slopes(loss: str) -> Any:
    """The slopes of all three parts, in one program for each dtype."""

    def sums(p: Any) -> Any:
        return jax.numpy.stack([part.sum() for part in parts(p, loss)])

    return jax.jit(jax.jacrev(sums))


@pytest.mark.parametrize(
    ("loss", "values", "dtype"),
    pairwise(list(SLOPES), ["smooth", "confident", "one-hot"], [np.float64, np.float32]),
    ids=str,
)
def test_derivatives_equal_the_definition(loss: str, values: str, dtype: Any) -> None:
    p = predictions(values, dtype)
    exact = exact_slopes(p, loss)
    found = compiled_slopes(loss)(jax.numpy.asarray(p))
    near = 200 * float(np.finfo(dtype).eps)
    for i, part in enumerate(PARTS):
        np.testing.assert_allclose(found[i], exact[i], rtol=near, atol=near, err_msg=part)


@pytest.mark.parametrize("loss", SLOPES)
def test_derivatives_are_finite_and_vanish_where_members_agree(loss: str) -> None:
    """Also of many members, and under weights that are themselves traced."""
    # one function for all ranges of values: it is compiled once for each shape
    compiled = jax.jit(jax.grad(lambda p, w: parts(p, loss, w)[2].sum()))

    def slopes(p: Any, weights: Any = None) -> Any:
        found = compiled(p, weights)
        assert np.all(np.isfinite(found))
        return np.asarray(found)

    for values in RANGES:
        p = jax.numpy.asarray(predictions(values, np.float32))
        assert np.all(slopes(p)[:, 0] == 0)
        assert np.all(slopes(p, WEIGHTS["members"])[:, 0] == 0)
        assert np.all(slopes(jax.numpy.tile(p, (20, 1, 1)))[:, 0] == 0)


@pytest.mark.parametrize("loss", ["log", "squared", "spherical"])
def test_other_transformations(loss: str) -> None:
    """Second derivatives by both modes, ``vmap``, and weights that are traced, against differences
    and one by one.
    """
    p = jax.numpy.asarray(predictions("smooth", np.float64, (3, 4, 2)))
    v = jax.numpy.asarray(np.random.default_rng(0).normal(size=p.shape))

    def epistemic(p: Any) -> Any:
        return parts(p, loss)[2].sum()

    slope = jax.jit(jax.grad(epistemic))
    second = jax.jit(lambda p, v: jax.jvp(jax.grad(epistemic), (p,), (v,))[1])(p, v)
    h = 1e-6
    np.testing.assert_allclose(
        second,
        (slope(p + h * v) - slope(p - h * v)) / (2 * h),
        rtol=1e-5,
        atol=1e-6,
    )
    each = jax.jit(jax.vmap(lambda x: parts(x[:, None], loss)[2][0], in_axes=1))(p)
    np.testing.assert_allclose(each, parts(np.asarray(p), loss)[2], rtol=1e-12, atol=1e-15)

    @jax.jit
    def by_weights(w: Any) -> Any:
        return parts(p, loss, w)[2].sum()

    w, step = jax.numpy.asarray([0.2, 0.5, 0.3]), jax.numpy.asarray([h, 0, 0])
    np.testing.assert_allclose(
        jax.jit(jax.grad(by_weights))(w)[0],
        (by_weights(w + step) - by_weights(w - step)) / (2 * h),
        rtol=1e-5,
    )


def test_without_double_precision() -> None:
    """What JAX does unless asked otherwise; in a process of its own, as the other tests ask."""
    script = """
import jax, numpy as np, labelwise as lw
p = np.random.default_rng(0).dirichlet([0.3] * 4, (5, 30))
for loss in ("log", "squared", "spherical", "zero_one"):
    parts = lambda p: [getattr(lw.decompose(lw.Ensemble(p), loss), part) for part in ("total", "aleatoric", "epistemic")]
    ways = [parts, jax.jit(parts)] if loss == "log" else [jax.jit(parts)]
    for found in [way(jax.numpy.asarray(p)) for way in ways]:
        for ours, kernel in zip(found, parts(p.astype("float32")), strict=True):
            assert ours.dtype == "float32", ours.dtype
            np.testing.assert_allclose(ours, kernel, rtol=1e-4, atol=1e-6)
print("checked")
"""  # noqa: E501
    environment = {key: value for key, value in os.environ.items() if key != "JAX_ENABLE_X64"}
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert found.stdout == "checked\n", found.stderr
