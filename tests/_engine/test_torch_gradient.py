"""Derivatives from the kernel against those of the definitions in 60 digits, and of the general
way, which torch finds by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import kernel
from optional_libraries import optional
from oracle import SLOPES, exact_slopes
from pairwise import pairwise
from ways import RANGES, predictions

torch = optional("torch")

LOSSES = [
    "log",
    "squared",
    "spherical",
    "zero_one",
    lw.LogLoss(base=10),
    lw.CostLoss(1.0, 2.7),
    lw.CostLoss(np.arange(1.0, 8.0), 3.3),
]


def gradient(p: Any, loss: Any, weights: Any, given: list[Any]) -> Any:
    x = p.clone().requires_grad_()
    u = lw.decompose(lw.Ensemble(x, weights=weights), loss)
    sum(
        (g * part).sum() for g, part in zip(given, (u.total, u.aleatoric, u.epistemic), strict=True)
    ).backward()
    return x.grad


@pytest.mark.parametrize(
    ("loss", "weights", "dtype"),
    pairwise(list(LOSSES), ["none", "members", "instances"], [torch.float64, torch.float32]),
    ids=str,
)
def test_equals_the_general_way(
    loss: Any, weights: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    p = torch.from_numpy(rng.dirichlet(np.full(7, 0.4), (4, 300))).to(dtype)
    p[:, 0] = p[0, 0]  # all agree
    p[:, 1] = torch.eye(7, dtype=dtype)[:1]  # and are sure
    p[:, 2] = torch.eye(7, dtype=dtype)[:4]  # sure of different things
    w = {"none": None, "members": rng.random(4), "instances": rng.random((4, 300))}[weights]
    given = [torch.from_numpy(rng.standard_normal((300, 7))).to(dtype) for _ in range(3)]
    ours = gradient(p, loss, w, given)
    monkeypatch.setattr(kernel, "native", None)
    theirs = gradient(p, loss, w, given)
    assert torch.isfinite(ours).all()
    torch.testing.assert_close(
        ours,
        theirs,
        rtol=1e-9 if dtype is torch.float64 else 1e-3,
        atol=1e-11 if dtype is torch.float64 else 1e-5,
    )


@pytest.mark.parametrize(
    ("loss", "values", "dtype"),
    pairwise(list(SLOPES), list(RANGES), [torch.float64, torch.float32]),
    ids=str,
)
def test_equals_the_definition(loss: str, values: str, dtype: Any) -> None:
    """To 100 units in the last place; of subnormal numbers the logarithm is as long as 1074 and the
    mean has fewer digits.
    """
    p = predictions(values, np.float64 if dtype is torch.float64 else np.float32)
    exact = exact_slopes(p, loss)
    eps = float(np.finfo(p.dtype).eps)
    near = (
        (1e-4 if eps > 1e-9 else 1000 * eps)
        if values == "subnormal" and loss == "log"
        else 100 * eps
    )
    for part in range(3):
        x = torch.from_numpy(p).requires_grad_()
        u = lw.decompose(
            lw.MultiLabelEnsemble(x), lw.CostLoss(0.3, 9.0) if loss == "cost" else loss
        )
        (u.total, u.aleatoric, u.epistemic)[part].sum().backward()
        np.testing.assert_allclose(
            x.grad.numpy(), exact[part], rtol=near, atol=near, err_msg=("TU", "AU", "EU")[part]
        )


@pytest.mark.parametrize("loss", ["log", "squared", "spherical"])
def test_where_members_agree_epistemic_uncertainty_has_no_slope(loss: str) -> None:
    p = (
        torch.from_numpy(np.random.default_rng(1).dirichlet(np.ones(5), (1, 50)))
        .float()
        .repeat(3, 1, 1)
    )
    none = torch.zeros(50, 5)
    assert torch.equal(gradient(p, loss, None, [none, none, none + 1]), torch.zeros(3, 50, 5))


@pytest.mark.parametrize("loss", ["log", "squared", "spherical"])
def test_second_derivatives(loss: str) -> None:
    z = torch.randn(
        3, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True
    )

    def parts(z: Any) -> Any:
        u = lw.decompose(lw.Ensemble(torch.softmax(z, -1)), loss)
        return u.total, u.aleatoric, u.epistemic

    assert torch.autograd.gradcheck(parts, z)
    assert torch.autograd.gradgradcheck(parts, z)
    assert torch.autograd.gradgradcheck(lambda z: parts(z)[2], z)
    assert torch.autograd.gradgradcheck(lambda z: parts(z)[1], z)


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("weights", ["none", "members", "instances"])
def test_one_part_alone_has_the_bits_of_all_three(loss: str, weights: str) -> None:
    rng = np.random.default_rng(2)
    p = torch.from_numpy(rng.dirichlet(np.full(7, 0.3), (4, 300)))
    w = {"none": None, "members": rng.random(4), "instances": rng.random((4, 300))}[weights]
    zero, one = torch.zeros(300, 7), torch.ones(300, 7)
    for i, part in enumerate(("total", "aleatoric", "epistemic")):
        x = p.clone().requires_grad_()
        getattr(lw.decompose(lw.Ensemble(x, weights=w), loss), part).sum().backward()
        given = [one if j == i else zero for j in range(3)]
        assert torch.equal(x.grad, gradient(p, loss, w, given))


@pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated"
)  # torch's own, at the first use of jacfwd
def test_what_the_kernel_cannot_do_goes_the_general_way() -> None:
    z = torch.randn(3, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    w = torch.rand(3, dtype=torch.float64, requires_grad=True)

    def epistemic(z: Any) -> Any:
        return lw.decompose(lw.Ensemble.from_logits(z)).epistemic

    expected = epistemic(z)
    each = torch.func.vmap(epistemic, in_dims=1)(z[:, :, None, :])[:, 0]
    torch.testing.assert_close(each, expected)
    slope = torch.func.jacfwd(lambda s: epistemic(s * z))(torch.tensor(1.0, dtype=torch.float64))
    near = (epistemic(1.00001 * z) - epistemic(0.99999 * z)) / 2e-5
    torch.testing.assert_close(slope, near, rtol=1e-6, atol=1e-8)
    lw.decompose(lw.Ensemble(torch.softmax(z, -1), weights=w)).epistemic.sum().backward()
    assert torch.isfinite(w.grad).all()
    assert w.grad.abs().max() > 0


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
def test_it_compiles_as_one_graph() -> None:
    @torch.compile(fullgraph=True, backend="aot_eager")
    def epistemic(p: Any) -> Any:
        return lw.decompose(lw.Ensemble(p)).epistemic

    p = torch.softmax(torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)), -1)
    torch.testing.assert_close(epistemic(p), lw.decompose(lw.Ensemble(p)).epistemic)
