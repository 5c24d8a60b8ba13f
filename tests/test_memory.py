"""What is held beside the predictions and the results: at most 64 MB, and never a copy of the
predictions.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import compute
from ways import KERNELS, use_kernel

LIMIT = 64_000_000


def extra(f: Callable[[], Any]) -> int:
    """The most that is allocated at once while a result is computed, less the result."""
    tracemalloc.start()
    try:
        u = f()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    parts = [x for x in (u, u.error, getattr(u, "sums", None)) if x is not None]
    return peak - sum(array.nbytes for x in parts for array in (x.total, x.aleatoric, x.epistemic))


def probs(n: int, dtype: str = "float64") -> np.ndarray:
    few = np.random.default_rng(0).dirichlet(np.full(10, 0.5), (9, 1000)).astype(dtype)
    return np.tile(few, (1, n // 1000, 1))


LOSSES = [
    "log",
    "squared",
    "spherical",
    "zero_one",
    lw.CostLoss(1, 9),
    lw.BetaLoss(-0.5, 0.3),
    lw.CustomLoss(lambda f, y: (f - y) ** 2),
]
OPTIONS = [{}, {"events": lw.events.ordinal(10)}, {"events": {"one": [0]}}]


@pytest.mark.parametrize(
    "loss", LOSSES, ids=lambda x: x if isinstance(x, str) else type(x).__name__
)
def test_no_temporary_has_the_size_of_the_predictions(
    loss: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With blocks that are as small beside these predictions as the usual ones are beside a
    gigabyte.
    """
    slow = isinstance(loss, lw.BetaLoss | lw.CustomLoss)
    monkeypatch.setattr(compute, "BLOCK", 1 << 12)
    p = probs(4000 if slow else 6000)
    maps = p.reshape(9, -1, 1000, 10)
    lw.decompose(lw.Ensemble(p[:, :2], weights=np.ones(9)), loss)  # what it imports stays
    ensembles = {
        "members first": lambda: lw.Ensemble(p),
        "weights": lambda: lw.Ensemble(p, weights=np.arange(1.0, 10.0)),
        "several labels": lambda: lw.MultiLabelEnsemble(p),
        "half": lambda: lw.Ensemble(half),
        "members last": lambda: lw.Ensemble(last, member_axis=-1, class_axis=1),
        "channels": lambda: lw.Ensemble(channels, class_axis=1),
        "no common stride": lambda: lw.Ensemble(maps[:, ::-1, :-1]),
    }
    half, last, channels = (
        p.astype(np.float16),
        np.ascontiguousarray(p.transpose(1, 2, 0)),
        np.ascontiguousarray(p.transpose(0, 2, 1)),
    )
    for name, make in ensembles.items():
        if slow and name != "members first":
            continue
        size = half.nbytes if name == "half" else p.nbytes
        assert extra(lambda make=make: lw.decompose(make(), loss)) < size / 2, name
    for options in OPTIONS[1:] if not slow else []:
        assert (
            extra(lambda options=options: lw.decompose(lw.Ensemble(p), loss, **options))
            < p.nbytes / 2
        ), options
    if lw.losses.as_loss(loss).smooth and not slow:
        assert (
            extra(lambda: lw.decompose(lw.Ensemble(p), loss, correction="jackknife")) < p.nbytes / 2
        )
    if isinstance(loss, str):
        assert extra(lambda: lw.joint.decompose(lw.Ensemble(p), loss)) < p.nbytes / 2
        assert extra(lambda: lw.joint.decompose(lw.Ensemble(half), loss)) < half.nbytes / 2


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", ["log", "squared", "spherical"])
def test_large_ensembles(loss: str, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_kernel(kernel, monkeypatch)
    p = probs(100_000)
    assert p.nbytes > LIMIT
    assert extra(lambda: lw.decompose(lw.Ensemble(p), loss)) < LIMIT / 2


def test_other_distributions() -> None:
    rng = np.random.default_rng(1)
    alpha = rng.gamma(1.0, 3.0, (50_000, 10)) + 0.05
    for q in (
        lw.Dirichlet(alpha),
        lw.DirichletMixture(alpha.reshape(5, 10_000, 10), weights=rng.random((5, 10_000))),
    ):
        for loss in ("log", "squared"):
            assert extra(lambda q=q, loss=loss: lw.decompose(q, loss)) < LIMIT
            assert extra(lambda q=q, loss=loss: lw.joint.decompose(q, loss)) < LIMIT
    few = lw.Dirichlet(alpha[:500])
    assert extra(lambda: lw.decompose(few, "zero_one")) < LIMIT
    assert extra(lambda: lw.joint.decompose(lw.Dirichlet(alpha[:30]), "spherical")) < LIMIT
    assert extra(lambda: lw.joint.decompose(few, "zero_one")) < LIMIT
    normal = lw.LogisticNormal(rng.normal(size=(25, 10)), rng.random((25, 10)))
    assert extra(lambda: lw.decompose(normal)) < LIMIT
    assert extra(lambda: lw.joint.decompose(normal)) < LIMIT


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"),
    reason="only Linux tells the peak of a process by itself",
)
def test_the_whole_process() -> None:
    """Also what C allocates, and the threads: the peak of resident memory (VmHWM; ru_maxrss begins
    with the parent's).
    """
    code = (
        "import re, sys, numpy as np, labelwise as lw\n"
        "def peak():\n"
        "    return 1024 * int(re.search(r'VmHWM:\\s+(\\d+)', "
        "open('/proc/self/status').read())[1])\n"
        "lw.decompose(lw.Ensemble(np.full((8, 40_000, 10), 0.1)), sys.argv[2])\n"
        "p = np.full((8, 600_000, 10), 0.1, sys.argv[1])\n"
        "base = peak()\n"
        "u = lw.decompose(lw.Ensemble(p), sys.argv[2], n_jobs=2)\n"
        "print(peak() - base)\n"
    )
    for kind, loss in (("float16", "log"), ("float32", "spherical")):
        done = subprocess.run(
            [sys.executable, "-c", code, kind, loss], capture_output=True, text=True, check=True
        )
        assert int(done.stdout) < 3 * 600_000 * 10 * 4 + LIMIT


@pytest.mark.skipif(lw.kernel_info()["kernel"] == "numpy", reason="the compiled code is not in use")
def test_an_accumulator_holds_little_beside_its_state() -> None:
    member = probs(6000)[0]
    state = 8 * member.nbytes  # eight arrays (..., K)

    def one_more() -> lw.typing.Uncertainty:
        return acc.update(member).result()

    acc = lw.Accumulator("log").update(member)
    one_more()
    assert extra(one_more) < 1.5 * state
