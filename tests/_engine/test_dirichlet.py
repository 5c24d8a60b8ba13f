"""Dirichlet distributions by compiled code: relative accuracy in the tails, and the same as the
general path.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import labelwise as lw
from beta_oracle import OTHERS, betas
from labelwise._engine import dirichlet, kernel
from optional_libraries import optional
from pairwise import pairwise

COMPILED = {"zero_one": 1e-11, "cost": 1e-11, "lopsided cost": 1e-11, "spherical": 2e-13}
"""Relative accuracy of EU, however small it is, where the compiled code computes it; that of AU is
1e-14 TU (spherical: AU).
"""


@pytest.mark.skipif(kernel.native is None, reason="the compiled code is not in use")
@pytest.mark.parametrize("name", COMPILED)
def test_tails_of_the_compiled_losses(name: str) -> None:
    """Relative accuracy far out, where EU is as small as 1e-40 TU."""
    loss, truth = OTHERS[name]
    rng = np.random.default_rng(5)
    alpha = 10 ** rng.uniform(-3, 6, (12 if name == "spherical" else 80, 2))
    alpha[::2] = alpha[::2, :1] * 10 ** rng.normal(0, 0.3, alpha[::2].shape)
    u = lw.decompose(lw.Dirichlet(alpha), loss)
    with mpmath.workdps(60):
        for where, a, b in betas(alpha):
            total, aleatoric = truth(a, b)
            epistemic = total - aleatoric
            assert abs(u.aleatoric[where] - aleatoric) <= 1e-14 * (
                aleatoric if name == "spherical" else total
            ), (a, b)
            if (
                epistemic > (1e-9 if name == "spherical" else 1e-40) * total
            ):  # the oracle's own digits
                assert abs(u.epistemic[where] - epistemic) <= COMPILED[name] * epistemic, (a, b)


EVENTS = {
    "labels": None,
    "ordinal": lw.events.ordinal(4),
    "groups": lw.events.groups({"some": [0, 2], "all": [0, 1, 2, 3]}),
    "pairs": lw.events.one_vs_one(4),
}
LOSSES = ["log", "squared", "spherical", "zero_one", lw.CostLoss([1, 2, 0, 4], [3, 1, 1, 1e3])]


def both_ways(q: Any, loss: Any, events: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    ours = lw.decompose(q, loss, events=events)
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "native", None)
        return ours, lw.decompose(q, loss, events=events)


@pytest.mark.skipif(kernel.native is None, reason="the compiled code is not in use")
@pytest.mark.parametrize(
    ("loss", "name", "dtype"), pairwise(LOSSES, list(EVENTS), ["float64", "float32"]), ids=str
)
def test_compiled_and_general_path_agree(
    loss: Any, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (
        name in ("groups", "pairs")
        and isinstance(loss, lw.CostLoss)
        and np.ndim(loss.false_positive)
    ):
        loss = lw.CostLoss(0.3, 9.0)
    elif name == "ordinal" and isinstance(loss, lw.CostLoss) and np.ndim(loss.false_positive):
        loss = lw.CostLoss([1, 2, 4], [3, 1, 1e3])
    rng = np.random.default_rng(0)
    alpha = (10 ** rng.uniform(-2, 4, (3, 5, 2, 4))).astype(dtype)
    weights = rng.dirichlet(np.ones(3), (5, 2)).transpose(2, 0, 1)
    slack = {"float64": 1e-11, "float32": 5e-6}[dtype]
    laws = [
        lw.Dirichlet(alpha[0]),
        lw.Dirichlet(alpha[0].transpose(1, 0, 2)),
        lw.DirichletMixture(alpha),
        lw.DirichletMixture(alpha, weights),
    ]
    for q in (*laws, lw.DirichletMixture(alpha, [0.0, 2, 1])):
        ours, general = both_ways(q, loss, EVENTS[name], monkeypatch)
        for part in ("total", "aleatoric", "epistemic"):
            found, expected = getattr(ours, part), getattr(general, part)
            assert found.dtype == expected.dtype == dtype
            assert found.shape == expected.shape
            np.testing.assert_array_less(
                abs(found - expected), slack * general.total + 1e-37, err_msg=part
            )


@pytest.mark.skipif(kernel.native is None, reason="the compiled code is not in use")
@pytest.mark.parametrize("loss", ["log", "spherical", "zero_one"])
def test_same_bits_for_any_number_of_threads_and_any_slice(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dirichlet, "SEVERAL", dict.fromkeys(dirichlet.SEVERAL, 1))
    alpha = 10 ** np.random.default_rng(1).uniform(-2, 3, (3, 301, 7))
    for q in (lw.Dirichlet(alpha[0]), lw.DirichletMixture(alpha, [1, 2, 3])):
        one = lw.decompose(q, loss, n_jobs=1)
        for other, rows in (
            *((lw.decompose(q, loss, n_jobs=n), slice(None)) for n in (2, 5)),
            (lw.decompose(q[7:230], loss), slice(7, 230)),
        ):
            for part in ("total", "aleatoric", "epistemic"):
                np.testing.assert_array_equal(getattr(other, part), getattr(one, part)[rows])


@pytest.mark.skipif(kernel.native is None, reason="the compiled code is not in use")
def test_epistemic_uncertainty_of_members_that_agree_is_their_own() -> None:
    alpha = np.array([[2.0, 3.0, 0.1]])
    for loss in LOSSES[:4]:
        own, mixed = (
            lw.decompose(lw.Dirichlet(alpha), loss),
            lw.decompose(lw.DirichletMixture(np.repeat(alpha[None], 4, axis=0)), loss),
        )
        np.testing.assert_allclose(mixed.epistemic, own.epistemic, rtol=1e-15)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_tensors_in_main_memory_use_the_compiled_code_and_gradients_the_general_path(
    library: str,
) -> None:
    alpha = 10 ** np.random.default_rng(2).uniform(-1, 2, (5, 3)).astype(np.float32)
    ours = lw.decompose(lw.Dirichlet(alpha))
    if library == "torch":
        torch = optional("torch")
        given = torch.tensor(alpha)
        differentiated = lw.decompose(lw.Dirichlet(given.clone().requires_grad_()))
        differentiated.epistemic.sum().backward()
        np.testing.assert_allclose(
            differentiated.epistemic.detach(), ours.epistemic, rtol=1e-3, atol=1e-6
        )
    else:
        given = optional("jax.numpy").asarray(alpha)
    found = lw.decompose(lw.Dirichlet(given))
    assert type(found.epistemic) is type(given)
    if kernel.native is not None:
        np.testing.assert_array_equal(np.asarray(found.epistemic), ours.epistemic)
