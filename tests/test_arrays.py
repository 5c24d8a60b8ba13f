"""NumPy, PyTorch and JAX give the same numbers, of the right type, and gradients that are right up
to the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace

import labelwise as lw
from strategies import LOSSES, SMOOTH, distributions, loss_id

PARTS = ("total", "aleatoric", "epistemic")


def own_log(f: Any, y: int) -> Any:
    xp = array_namespace(f)
    return -xp.log(f) if y else -xp.log1p(-f)


def own_boosting(f: Any, y: int) -> Any:
    xp = array_namespace(f)
    return xp.sqrt((1 - f) / f) if y else xp.sqrt(f / (1 - f))


def parts(u: lw.typing.Uncertainty) -> list[Any]:
    return [getattr(u, part) for part in PARTS]


# --- the same numbers
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_are_numpys(lib: Any, dtype: str) -> None:
    """To 16 steps of the dtype, EU beside TU; library, dtype and device as they came in."""
    eps = float(np.finfo(dtype).eps)
    few = ["log", "spherical", "zero_one"]
    # JAX takes seconds to compile the others; test_hard_values_are_numpys has them in JAX
    every = few if lib.name == "jax" else LOSSES
    if lib.name != "jax" or dtype == "float64":
        every = [*every, lw.CustomLoss(own_boosting)]
    expected = distributions(lambda x: np.asarray(x, dtype))
    found = distributions(lambda x: lib.array(x, dtype))
    for q, other in zip(expected, found, strict=True):
        if lib.name == "jax" and dtype == "float32" and not isinstance(q, lw.Ensemble):
            continue  # nothing there depends on the dtype, and JAX takes seconds to compile each
        asked = every if isinstance(q, lw.Ensemble) else few
        if lib.name == "jax" and isinstance(q, lw.LogisticNormal):
            asked = few[:1]  # the same nodes for all losses, compiled for seconds
        for loss in asked:
            # the beta family has a series of its own for NumPy
            digits = 64 if isinstance(loss, lw.BetaLoss) else 16
            u, v = lw.decompose(q, loss), lw.decompose(other, loss)
            for part, x, y in zip(PARTS, parts(u), parts(v), strict=True):
                assert isinstance(y, type(lib.array([1.0])))
                assert str(y.dtype).removeprefix("torch.") == dtype
                assert y.device == lib.array([1.0]).device
                gap = abs(x - lib.numpy(y))
                assert np.all(gap <= digits * eps * (u.total if part == "epistemic" else x)), (
                    type(q),
                    loss,
                    part,
                    np.max(gap / u.total) / eps,
                )


def test_hard_values_are_numpys(lib: Any) -> None:
    """Members at the edges, next to them, and equal to each other."""
    rng = np.random.default_rng(0)
    p = rng.choice([0, 1, 1e-300, 1e-30, 1e-12, 0.5, 1 - 1e-12, 1 - 2**-53], (6, 40, 5))
    p[:, :5] = p[:1, :5]
    for weights in (None, rng.random(6)):
        for loss in LOSSES:
            slow = weights is not None or loss == lw.BetaLoss(0.5, 2.0)
            if lib.name == "jax" and slow and isinstance(loss, lw.BetaLoss):
                continue  # it takes seconds to compile; other losses have the weights
            u, v = (
                lw.decompose(lw.MultiLabelEnsemble(x, weights=weights), loss)
                for x in (p, lib.array(p))
            )
            for x, y in zip(parts(u), map(lib.numpy, parts(v)), strict=True):
                steps = 200 if isinstance(loss, lw.BetaLoss) else 16  # exponents of up to 700 · eps
                assert np.all(abs(x - y) <= steps * 2**-52 * u.total + 1e-300)
            assert np.all(lib.numpy(v.epistemic)[:5] == 0)


@pytest.mark.parametrize("kind", [lw.Ensemble, lw.MultiLabelEnsemble])
@pytest.mark.parametrize("loss", ["log", "squared", "spherical", lw.BetaLoss(-0.5, -0.5)], ids=str)
def test_jackknife_leaves_members_out_in_every_library(lib: Any, kind: Any, loss: Any) -> None:
    """Also where all but one of six members agree: without that one, the mean is on the edge, and
    rounds to beyond it.
    """
    inside = np.random.default_rng(2).dirichlet(np.ones(3), (6, 4))
    probs = np.concatenate([inside, np.eye(3)[[[0], [1], [1], [1], [1], [1]]]], axis=1)
    m = len(probs)
    plain, corrected = (
        lw.decompose(kind(lib.array(probs)), loss, correction=c) for c in (None, "jackknife")
    )
    left_out = [lw.decompose(kind(np.delete(probs, i, axis=0)), loss) for i in range(m)]
    for part in ("total", "epistemic"):
        expected = m * lib.numpy(getattr(plain, part)) - (m - 1) * np.mean(
            [getattr(u, part) for u in left_out], axis=0
        )
        np.testing.assert_allclose(
            lib.numpy(getattr(corrected, part)), expected, rtol=1e-11, atol=1e-13
        )
    np.testing.assert_array_equal(lib.numpy(corrected.aleatoric), lib.numpy(plain.aleatoric))


def test_disagreement_about_nearly_impossible_and_nearly_certain_events(lib: Any) -> None:
    """Θ − E Θ is taken from the smaller of the probability and its complement: the larger one has
    rounded it away.
    """
    p = np.array([[[1e-20, 1 - 1e-20]], [[3e-20, 1 - 3e-20]]])
    events = {"impossible": [0], "certain": [1]}
    for loss, expected in (
        ("squared", 1e-40),
        ("log", (1.5 * np.log2(1.5) + 0.5 * np.log2(0.5)) * 1e-20),
    ):
        u = lw.decompose(lw.Ensemble(lib.array(p)), loss, events=events)
        np.testing.assert_allclose(lib.numpy(u.epistemic), [[expected, expected]], rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_widened(
    lib: Any, dtype: str, optional: Callable[[str], ModuleType]
) -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(3), (4, 6))
    if lib.name == "numpy":
        half = p.astype(np.float16 if dtype == "float16" else optional("ml_dtypes").bfloat16)
    else:
        half = lib.array(p)
        half = (
            half.to(getattr(lib.module, dtype))
            if lib.name == "torch"
            else half.astype(getattr(lib.module, dtype))
        )
    wide = np.asarray(lib.numpy(half.float() if lib.name == "torch" else half).astype(np.float32))
    for loss in ("log", "spherical"):
        u, expected = (
            lw.decompose(lw.Ensemble(half), loss),
            lw.decompose(lw.MultiLabelEnsemble(wide), loss),
        )
        for x, y in zip(parts(u), parts(expected), strict=True):
            assert str(x.dtype).removeprefix("torch.") == "float32"
            np.testing.assert_allclose(lib.numpy(x), y, rtol=2e-6, atol=1e-9)


# --- gradients
# --------------------------------------------------------------------------------------------------------  # noqa: E501

LAWS: dict[str, Callable[[Any], Any]] = {
    "ensemble": lambda x: lw.Ensemble.from_logits(x.reshape(3, 1, 3)),
    "weighted": lambda x: lw.Ensemble.from_logits(x.reshape(3, 1, 3), weights=[0.2, 0.5, 0.3]),
    "multilabel": lambda x: lw.MultiLabelEnsemble(array_namespace(x).exp(x.reshape(3, 1, 3)) / 20),
    "dirichlet": lambda x: lw.Dirichlet(array_namespace(x).exp(x.reshape(3, 3))),
    "mixture": lambda x: lw.DirichletMixture(array_namespace(x).exp(x.reshape(3, 1, 3))),
    "two classes": lambda x: lw.LogisticNormal(
        x[:4].reshape(2, 2), array_namespace(x).exp(x[4:8].reshape(2, 2))
    ),
    "diagonal": lambda x: lw.LogisticNormal(x[:3], array_namespace(x).exp(x[3:6]), points=16),
    "full": lambda x: lw.LogisticNormal(x[:3], x.reshape(3, 3) @ x.reshape(3, 3).T, points=16),
}
POINT = np.random.default_rng(11).normal(size=9)


@pytest.mark.parametrize("law", LAWS)
def test_gradcheck(law: str, optional: Callable[[str], ModuleType]) -> None:
    torch = optional("torch")
    x = torch.tensor(POINT, requires_grad=True)
    slow = law in ("diagonal", "full")
    # but for one law, along one random direction instead of all nine
    one_direction = law != "ensemble"
    for loss in [*SMOOTH[: 4 if slow else None], lw.CustomLoss(own_log)]:
        f = lambda x, loss=loss: tuple(parts(lw.decompose(LAWS[law](x), loss)))  # noqa: E731
        assert torch.autograd.gradcheck(f, x, atol=1e-6, rtol=1e-5, fast_mode=one_direction), loss


@pytest.mark.parametrize("correction", [None, "jackknife"])
def test_gradcheck_of_events_and_the_jackknife(
    correction: str | None, optional: Callable[[str], ModuleType]
) -> None:
    torch = optional("torch")
    x = torch.tensor(POINT, requires_grad=True)
    for events in ({"both": [0, 1]}, lw.events.ordinal(3), lw.events.one_vs_one(3)):
        assert torch.autograd.gradcheck(
            lambda x, events=events: tuple(
                parts(lw.decompose(LAWS["ensemble"](x), events=events, correction=correction))
            ),
            x,
        )


# one label per column; none of the means is at the corner of a loss
EDGES = np.array(
    [
        [0, 0.3, 0.2, 0.1],
        [1, 0.3, 0.2, 0.1],
        [0, 0, 1, 0.95],
        [0, 0, 0, 0],
        [1, 1, 1, 1],
        [0, 0, 0.2, 0.9],
        [1, 1, 0.9, 0.2],
        [0, 1e-20, 1e-30, 0.5],
        [1, 0, 0.5, 0.6],
        [1e-37, 1e-37, 1e-37, 1e-36],
        [1e-20, 1e-20, 2e-20, 1e-21],
    ]
).T


def slopes(lib_name: str, p: np.ndarray, loss: Any, weights: Any) -> list[np.ndarray]:
    """The gradients of TU, AU and EU, summed over the labels."""

    def summed(x: Any) -> list[Any]:
        return [
            part.sum()
            for part in parts(
                lw.decompose(lw.MultiLabelEnsemble(x, weights=weights, member_axis=0), loss)
            )
        ]

    if lib_name == "jax":
        import jax

        @jax.jit  # one program to compile instead of hundreds
        def all_slopes(x: Any) -> Any:
            values, pull = jax.vjp(summed, x)
            return jax.vmap(pull)(list(jax.numpy.eye(3, dtype=values[0].dtype)))[0]

        return list(np.asarray(all_slopes(jax.numpy.asarray(p))))
    import torch

    x = torch.tensor(p, requires_grad=True)
    return [torch.autograd.grad(part, x, retain_graph=True)[0].numpy() for part in summed(x)]


EDGE_CASES = [
    (loss, "float64") for loss in [*LOSSES, lw.BetaLoss(-0.9, 0.3), lw.CustomLoss(own_log)]
]
EDGE_CASES += [(loss, "float32") for loss in LOSSES if not isinstance(loss, lw.BetaLoss)]


@pytest.mark.parametrize(
    ("loss", "dtype"), EDGE_CASES, ids=[f"{loss_id(loss)}-{dtype}" for loss, dtype in EDGE_CASES]
)
def test_gradients_at_the_edges(
    loss: Any, dtype: str, optional: Callable[[str], ModuleType]
) -> None:
    """At p = 0 and 1 they are those at the nearest number inside, in PyTorch and in JAX; finite for
    all tiny p.

    What is compared is PyTorch's gradient inside: JAX flushes subnormal numbers to 0, so its own
    there is less exact.
    """
    optional("torch")
    optional("jax").config.update("jax_enable_x64", True)
    p = EDGES.astype(dtype)
    info = np.finfo(dtype)
    inside = np.clip(p, info.smallest_normal, 1 - info.eps / 2)
    # JAX takes seconds for each call: both sets of labels in one, and weights with one dtype
    weights = [1, 2, 0.5, 3] if dtype == "float32" else None
    both = np.concatenate([p, inside], axis=1)
    # JAX compiles the beta family for half a minute; it has the formulas of PyTorch
    names = ("torch",) if isinstance(loss, lw.BetaLoss) else ("torch", "jax")
    found = {name: slopes(name, both, loss, weights) for name in names}
    expected = [x[:, p.shape[1] :] for x in found["torch"]]
    # a user's own φ sees forecasts within rounding of 1 as alike
    tolerance = {"float64": 1e-6, "float32": 2e-4}[dtype]
    if isinstance(loss, lw.CustomLoss):
        tolerance = 0.02
    # elsewhere: finite is all that JAX, without subnormal numbers, can promise
    edge = np.any((p == 0) | (p == 1), axis=0)
    for name, gradients in found.items():
        for part, x, y in zip(PARTS, gradients, expected, strict=True):
            assert np.all(np.isfinite(x)), (name, part)
            x, y = x[:, : p.shape[1]][:, edge], y[:, edge]
            scale = np.max(abs(y), axis=0) + float(info.smallest_normal)
            assert np.all(abs(x - y) <= tolerance * scale), (
                name,
                part,
                np.max(abs(x - y) / scale, axis=0),
            )


# --- JAX under jit
# ----------------------------------------------------------------------------------------------------  # noqa: E501


@pytest.mark.parametrize(
    ("law", "loss"),
    [
        ("ensemble", "log"),
        ("weighted", "squared"),
        ("two classes", "zero_one"),
        ("full", "spherical"),
    ],
)
def test_jit_and_grad(law: str, loss: Any, optional: Callable[[str], ModuleType]) -> None:
    """Compiled and differentiated by JAX: NumPy's values and PyTorch's gradients."""
    jax, torch = optional("jax"), optional("torch")
    jax.config.update("jax_enable_x64", True)

    def summed(x: Any) -> Any:
        total, aleatoric, epistemic = parts(lw.decompose(LAWS[law](x), loss))
        return (total + 2 * aleatoric + 3 * epistemic).sum()

    value, slope = jax.jit(jax.value_and_grad(summed))(jax.numpy.asarray(POINT))
    x = torch.tensor(POINT, requires_grad=True)
    summed(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(float(value), float(summed(POINT)), rtol=1e-13)
    np.testing.assert_allclose(np.asarray(slope), x.grad.numpy(), rtol=1e-9, atol=1e-12)
