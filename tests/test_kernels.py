"""The fused kernel, its NumPy twin and the general path: one answer, whatever the layout, type, threads or blocks."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import kernel as _kernels
from labelwise._engine import compute
from ways import KERNELS, use_kernel

PARTS = ("total", "aleatoric", "epistemic")


def probs(m: int = 5, n: int = 300, k: int = 7, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.2), (m, n))
    p[:, 0] = np.eye(k)[0]  # sure and agreed
    p[:, 1] = p[:1, 1]  # agreed
    p[:2, 2] = np.eye(k)[:2][:m]  # sure of different things
    return p.astype(dtype)


@pytest.fixture(params=KERNELS)
def kernel(request, monkeypatch):
    use_kernel(request.param, monkeypatch)
    return request.param


def everything(p: np.ndarray, loss: str, weights: np.ndarray | None = None, **options: object) -> list[np.ndarray]:
    result = _kernels.split(loss, p, weights, **options)
    return [*(result.labelwise or ()), *result.sums, *result.joint]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weights", ["none", "members", "instances"])
@pytest.mark.parametrize("loss", ["log", "squared"])
def test_equals_the_general_path(kernel: str, loss: str, weights: str, dtype: str) -> None:
    p = probs(dtype=dtype)
    rng = np.random.default_rng(1)
    w = {"none": None, "members": rng.dirichlet(np.ones(5)), "instances": rng.dirichlet(np.ones(5), 300).T}[weights]
    q = lw.Ensemble(p, weights=w)
    law = q.marginal()
    made = lw.losses.as_loss(loss)
    expected = [made.entropy(*law.mean), law.aleatoric(made), law.epistemic(made)]
    u = lw.decompose(q, loss)
    eps = np.finfo(dtype).eps
    for ours, theirs in zip((u.total, u.aleatoric, u.epistemic), expected, strict=True):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=400 * eps, atol=np.finfo(dtype).tiny)
        assert np.all(ours >= 0)
    assert np.all(u.epistemic[:2] == 0)
    joint = lw.joint.decompose(q, loss)
    brute = [lw.joint.losses.as_joint_loss(loss, 7).entropy(law.mean[0])]
    np.testing.assert_allclose(joint.total, brute[0], rtol=40 * eps, atol=4 * eps)
    for part in PARTS:
        np.testing.assert_allclose(getattr(u.sum(), part), getattr(u, part).sum(-1), rtol=40 * eps, atol=4 * eps)


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layouts_give_the_same_labels(kernel: str, loss: str, dtype: str) -> None:
    p = probs(n=700, dtype=dtype)
    plain = everything(p, loss)
    middle = np.ascontiguousarray(p.transpose(1, 0, 2)).transpose(1, 0, 2)
    channels = np.ascontiguousarray(p.transpose(0, 2, 1)).transpose(0, 2, 1)
    gaps = np.repeat(p, 2, axis=1)[:, ::2]
    backwards = p[:, ::-1]
    for other in (middle, channels, gaps):
        for i, (ours, theirs) in enumerate(zip(everything(other, loss), plain, strict=True)):
            if i < 3:
                assert np.array_equal(ours, theirs)
            else:
                np.testing.assert_allclose(ours, theirs, rtol=40 * np.finfo(dtype).eps)
    assert np.array_equal(everything(backwards, loss)[0][::-1], plain[0])


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("shape", [(5, 1001, 10), (3, 40, 1000), (2, 3, 9000), (50, 77, 3), (1, 5, 2)])
def test_same_bits_for_any_number_of_threads_and_any_block(kernel: str, loss: str, shape: tuple[int, int, int], monkeypatch) -> None:
    p = probs(*shape, dtype="float32")
    one = everything(p, loss, threads=1)
    monkeypatch.setattr(_kernels, "SEVERAL", dict.fromkeys(_kernels.SEVERAL, 1))
    for threads in (2, 3):
        for a, b in zip(everything(p, loss, threads=threads), one, strict=True):
            assert np.array_equal(a, b)
    cut = [everything(p[:, i : i + 37], loss, threads=1) for i in range(0, shape[1], 37)]
    for a, b in zip((np.concatenate(parts) for parts in zip(*cut, strict=True)), one, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_twin_may_leave_out_steps_for_small_probabilities(dtype: str, monkeypatch) -> None:
    monkeypatch.setattr(_kernels, "_fused", None)
    p = np.random.default_rng(3).dirichlet(np.full(50, 2.0), (6, 40)).astype(dtype)
    assert p.max() < 0.35
    short = everything(p, "log")
    monkeypatch.setattr("labelwise._engine.numpy_twin.SMALL", 0)
    for a, b in zip(short, everything(p, "log"), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_any_number_of_classes_and_instances(kernel: str, dtype: str) -> None:
    eps = np.finfo(dtype).eps
    for k in [*range(1, 30), 63, 64, 65, 130]:
        for n in (1, 2, 3, 4, 5, 9):
            p = np.random.default_rng(k).dirichlet(np.ones(k), (3, n)).astype(dtype)
            for loss in ("log", "squared"):
                result = _kernels.split(loss, p, tolerance=1e-5)
                assert result.valid
                for sums, parts in zip(result.sums, result.labelwise, strict=True):
                    np.testing.assert_allclose(sums, parts.astype("float64").sum(-1), rtol=20 * eps, atol=1e-30)


def test_callers_at_the_same_time_share_or_do_without_the_helpers(kernel: str, monkeypatch) -> None:
    monkeypatch.setattr(_kernels, "SEVERAL", dict.fromkeys(_kernels.SEVERAL, 1))
    inputs = [probs(n=n, k=k, seed=n) for n, k in ((3, 3), (50, 10), (3000, 4), (700, 70))]
    expected = [everything(p, "log", threads=1) for p in inputs]

    def call(i: int) -> bool:
        found = everything(inputs[i % 4], "log", threads=1 + i % 5)
        return all(np.array_equal(a, b) for a, b in zip(found, expected[i % 4], strict=True))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(200)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_helpers_of_its_own() -> None:
    code = (
        "import os, warnings, numpy as np, labelwise as lw\n"
        "warnings.simplefilter('ignore')\n"
        "p = np.full((4, 200_000, 3), 1 / 3)\n"
        "def whole(): return lw.decompose(lw.Ensemble(p), 'squared', n_jobs=2).total.sum()\n"
        "first = whole(); pid = os.fork()\n"
        "if pid == 0: os._exit(0 if whole() == first else 3)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 and whole() == first"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_half_precision_is_widened_block_by_block(kernel: str, optional) -> None:
    p = probs(n=50).astype(np.float16)
    wide = p.astype(np.float32)
    for loss in ("log", "squared"):
        for a, b in zip(everything(p, loss), everything(wide, loss), strict=True):
            assert np.array_equal(a, b)
            assert a.dtype == np.float32
    brain = optional("ml_dtypes").bfloat16
    p = probs(n=50).astype(brain)
    for a, b in zip(everything(p.view(np.uint16), "log"), everything(p.astype(np.float32), "log"), strict=True):
        assert np.array_equal(a, b)
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    fits = every[(every >= 0) & (every <= 1)]
    pair = np.stack([fits, np.float16(1) - fits], axis=-1)[None]
    np.testing.assert_array_equal(everything(pair, "squared")[1], everything(pair.astype(np.float32), "squared")[1])


@pytest.mark.parametrize("where", [(0, 0, 0), (4, 699, 6), (2, 350, 3)])
@pytest.mark.parametrize("value", [np.nan, -1e-3, 1.5, np.inf])
@pytest.mark.parametrize("layout", ["plain", "channels"])
def test_checks_find_a_single_bad_value(kernel: str, where: tuple[int, int, int], value: float, layout: str) -> None:
    p = probs(n=700)
    if layout == "channels":
        p = np.ascontiguousarray(p.transpose(0, 2, 1)).transpose(0, 2, 1)
    assert _kernels.check(p, 1e-6)
    p[where] = value
    assert not _kernels.check(p, 1e-6)
    assert not _kernels.check(p, 1e-6, sum_to_one=False)


def test_checks_find_a_single_bad_sum(kernel: str) -> None:
    for k in (7, 300):
        p = probs(n=200, k=k)
        p[3, 111, 2] += 1e-4
        assert not _kernels.check(p, 1e-6)
        assert _kernels.check(p, 1e-6, sum_to_one=False)
        assert _kernels.check(p, 1e-3)


@pytest.mark.parametrize("loss", ["log", "squared"])
def test_the_twin_takes_wide_rows_in_parts(loss: str, monkeypatch) -> None:
    monkeypatch.setattr(_kernels, "_fused", None)
    for layout in LAYOUTS.values():
        p = layout(probs(n=9, k=300))
        whole = everything(p, loss)
        with monkeypatch.context() as patch:
            patch.setattr("labelwise._engine.numpy_twin.BLOCK", 500)
            assert _kernels.split(loss, p, tolerance=1e-6).valid
            for a, b in zip(everything(p, loss), whole, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-13)
            p[2, 4, 299] += 1e-4
            assert not _kernels.split(loss, p, tolerance=1e-6).valid


LAYOUTS = {
    "plain": lambda p: p,
    "members in the middle": lambda p: np.ascontiguousarray(p.swapaxes(0, 1)).swapaxes(0, 1),
    "channels": lambda p: np.ascontiguousarray(p.transpose(0, 2, 1)).transpose(0, 2, 1),
    "every other": lambda p: np.repeat(p, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "k"), [(300, 2), (300, 10), (50, 300), (3, 5000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_pass_that_computes_checks_as_well(kernel: str, layout: str, n: int, k: int, dtype: type) -> None:
    p = LAYOUTS[layout](probs(n=n, k=k).astype(dtype))
    tolerance = 1e-3 if dtype == np.float32 else 1e-6
    for loss in ("log", "squared"):
        checked, plain = _kernels.split(loss, p, tolerance=tolerance), _kernels.split(loss, p)
        assert checked.valid
        for a, b in zip((*checked.labelwise, *checked.sums), (*plain.labelwise, *plain.sums), strict=True):
            assert np.array_equal(a, b)
    p[1, 0, :2] = -0.0, p[1, 0, :2].sum()
    assert _kernels.split("log", p, tolerance=tolerance).valid
    before = p.copy()
    for where in [(0, 0, 0), (4, n - 1, k - 1), (2, n // 2, k // 2)]:
        for value in (np.nan, -np.nan, -1e-3, 1.5, np.inf, -np.inf):
            p[where] = value
            assert not _kernels.split("squared", p, tolerance=tolerance).valid
            assert not _kernels.split("squared", p, tolerance=tolerance, sum_to_one=False).valid
        p[where] = before[where] + 5 * tolerance
        assert not _kernels.split("log", p, tolerance=tolerance).valid
        assert _kernels.split("log", p, tolerance=100 * tolerance).valid
        p[where] = before[where]


def test_a_sum_at_the_edge_that_passes_in_another_order_leaves_nothing_out(kernel: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(5), 100_000).astype(np.float32)
    rows = rows / rows.sum(-1, keepdims=True) * np.float32(1.001)
    sums = rows.sum(-1).astype(float)
    rows = rows[(sums <= 1.001) & (sums > 1.000999)]
    edge = [row for row in rows if not _kernels.check(row[None, None], 1e-3)]
    assert edge or kernel == "numpy"  # which adds up in the same order as the check that has the last word
    p = rng.dirichlet(np.ones(5), (2, 40_000)).astype(np.float32)
    p[0, 10] = [*edge, *rows][0]
    q = lw.Ensemble(p)
    assert q.pending
    u = lw.decompose(q, "squared")
    for part, expected in zip(PARTS, everything(p, "squared"), strict=False):
        assert np.array_equal(getattr(u, part), expected)


def test_images_keep_their_axes_without_a_copy(kernel: str) -> None:
    maps = np.random.default_rng(2).dirichlet(np.ones(4), (3, 6, 5)).astype(np.float32)  # members x height x width x classes
    first = np.ascontiguousarray(np.moveaxis(maps, -1, 1))  # members x classes x height x width
    q = lw.Ensemble(first, class_axis=1)
    assert np.shares_memory(q.stored, first)
    u, plain = lw.decompose(q), lw.decompose(lw.Ensemble(maps))
    assert u.epistemic.shape == (6, 5, 4)
    assert np.array_equal(u.epistemic, plain.epistemic)
    odd = np.repeat(maps, 2, axis=2)[:, :, ::2][:, ::-1]  # no common stride for both image axes
    assert _kernels.flat(odd) is None
    assert np.array_equal(lw.decompose(lw.Ensemble(odd)).epistemic, plain.epistemic[::-1])


@pytest.mark.parametrize("loss", ["spherical", "zero_one", lw.CostLoss(1, 4), lw.BetaLoss(0.5, 1)], ids=str)
def test_other_losses_in_blocks_equal_one_piece(loss: object, monkeypatch) -> None:
    p = probs(n=500)
    whole = lw.decompose(lw.Ensemble(p), loss, events=lw.events.one_vs_one(7))
    monkeypatch.setattr(compute, "BLOCK", 2000)
    for part in PARTS:
        assert np.array_equal(getattr(lw.decompose(lw.Ensemble(p), loss, events=lw.events.one_vs_one(7)), part), getattr(whole, part))
    joint = lw.joint.decompose(lw.Ensemble(p), "spherical")
    monkeypatch.setattr(compute, "BLOCK", 1 << 30)
    np.testing.assert_array_equal(joint.epistemic, lw.joint.decompose(lw.Ensemble(p), "spherical").epistemic)


def test_threads_are_limited_by_argument_and_environment(monkeypatch) -> None:
    assert _kernels.thread_count(3) == 3
    monkeypatch.setenv("LABELWISE_THREADS", "2")
    assert lw.kernel_info()["threads"] == 2
    for bad in ("0", "many"):
        monkeypatch.setenv("LABELWISE_THREADS", bad)
        with pytest.raises(ValueError, match="LABELWISE_THREADS"):
            _kernels.thread_count()
    with pytest.raises(ValueError, match="`n_jobs`"):
        lw.decompose(lw.Ensemble(probs()), n_jobs=0)


def test_the_twin_can_be_asked_for() -> None:
    code = "import labelwise as lw; print(lw.kernel_info()['kernel'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "LABELWISE_KERNEL": "numpy"}
    )
    assert done.stdout.strip() == "numpy"
