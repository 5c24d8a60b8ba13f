"""No arithmetic of the kernel is subnormal where the results are not: some processors take 150
cycles for each such number.
"""

from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import kernel
from pairwise import pairwise
from ways import KERNELS, use_kernel

UNDERFLOW = 16
"""FE_UNDERFLOW of x86; also set by operations whose result is flushed to 0."""
LOSSES = ["log", "squared", "spherical", "zero_one", lw.CostLoss(1.0, 9.0)]
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc" or kernel.native is None,
    reason="reads the flags of x86",
)


@pytest.fixture(params=[name for name in KERNELS if name != "numpy"])
def level(request, monkeypatch) -> str:
    use_kernel(request.param, monkeypatch)
    return request.param


def underflows(f) -> bool:
    flags = ctypes.CDLL("libm.so.6")
    flags.feclearexcept(UNDERFLOW)
    f()
    return bool(flags.fetestexcept(UNDERFLOW))


def spread(low: float, dtype: str, k: int = 10) -> np.ndarray:
    """Members from ``low`` to 1, on a logarithmic scale, equal ones among them; the whole scale
    within each tile.
    """
    p = 10 ** np.random.default_rng(0).uniform(np.log10(low), 0, (5, 400, k))
    p[:, ::7] = p[:1, ::7]
    p[:, ::11, 0] = 1.0
    return p.astype(dtype)


def test_flags_are_read() -> None:
    assert underflows(lambda: np.float32(1e-30) * np.full(4, 1e-10, np.float32))


RANGES = {
    "float32": (1e-30, 1e-20, 1e-15, 1e-10),
    "float64": (1e-290, 1e-155, 1e-100, 1e-50),
}
CASES = pairwise(list(LOSSES), [None, "members", "instances"], list(RANGES))


@pytest.mark.parametrize(("loss", "weights", "dtype"), CASES, ids=str)
def test_nothing_underflows(level: str, loss: object, weights: str | None, dtype: str) -> None:
    lows = RANGES[dtype]
    w = {
        None: None,
        "members": np.arange(1.0, 6.0),
        "instances": np.random.default_rng(1).uniform(0.1, 1, (5, 400)),
    }[weights]
    for low in lows:
        p = spread(low, dtype)
        for layout in (p, np.ascontiguousarray(p.transpose(0, 2, 1)).transpose(0, 2, 1)):
            q = lw.MultiLabelEnsemble(layout, weights=w)
            assert not underflows(lambda q=q: lw.decompose(q, loss, n_jobs=1)), low


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize(
    ("dtype", "lows"), [("float32", (1e-15, 1e-10, 1e-5)), ("float64", (1e-150, 1e-100, 1e-50))]
)
def test_accumulators_do_not_underflow(
    level: str, loss: object, dtype: str, lows: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Updates, merging and the result, where the squares of distances are normal numbers; smaller
    ones would add up.
    """
    monkeypatch.setenv("LABELWISE_THREADS", "1")
    for low in lows:
        one, other = lw.Accumulator(loss, multilabel=True), lw.Accumulator(loss, multilabel=True)
        for weight, member in enumerate(
            spread(low, dtype), start=1
        ):  # of different weights, so that they are joined
            for accumulator in (one, other):
                assert not underflows(
                    lambda a=accumulator, p=member, w=weight: a.update(p, weight=w)
                ), (low, weight)
        assert not underflows(lambda one=one, other=other: one.merge(other)), low
        assert not underflows(one.result), low


@pytest.mark.parametrize(
    ("loss", "weights", "dtype"),
    pairwise(["log", "squared"], [None, "members", "instances"], list(RANGES)),
    ids=str,
)
def test_derivatives_do_not_underflow(
    level: str, loss: str, weights: str | None, dtype: str
) -> None:
    w = {None: None, "members": np.arange(1.0, 6.0) / 15, "instances": np.full((5, 400), 0.2)}[
        weights
    ]
    for low in RANGES[dtype]:
        p = spread(low, dtype)
        for given in np.eye(3, dtype=dtype)[:, :, None, None] * np.ones((400, 10), dtype):
            assert not underflows(
                lambda p=p, given=given: kernel.slopes(loss, p, w, tuple(given))
            ), low


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_real_predictions_do_not_underflow(level: str, loss: object) -> None:
    q = lw.demo.load_fashion_ensemble().ensemble
    q = lw.Ensemble(np.where(q.probs < 1e-30, 0, q.probs))
    assert not underflows(lambda: lw.decompose(q, loss, n_jobs=1))
    assert not underflows(lambda: lw.decompose(q, loss, events=lw.events.ordinal(10), n_jobs=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subnormal_predictions_stay_right(level: str, dtype: str) -> None:
    """−p log2 p of a subnormal p is a normal number, to full accuracy."""
    tiny = float(np.finfo(dtype).smallest_normal)
    t = tiny * np.array([0.5, 0.25, 2.0**-10], dtype)
    p = np.broadcast_to(t, (3, 2, 3)).astype(dtype)
    u = lw.decompose(lw.MultiLabelEnsemble(p))
    wide = t.astype(np.longdouble)
    exact = wide * (1 / np.log(np.longdouble(2)) - np.log2(wide))
    np.testing.assert_allclose(u.total[0], exact.astype(float), rtol=0, atol=2 * tiny)
    assert np.all(u.epistemic == 0)
