"""The fused kernel and the general path: one answer, whatever the layout, type, threads or
blocks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import compute, ensembles
from labelwise._engine import kernel as _kernels
from oracle import ENTROPY, ensemble
from pairwise import pairwise
from ways import KERNELS, WAYS, choose, use_kernel

PARTS = ("total", "aleatoric", "epistemic")
ENGINE = Path(__file__).parents[2] / "src" / "labelwise" / "_engine"


def probs(
    m: int = 5, n: int = 300, k: int = 7, dtype: str = "float64", seed: int = 0
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.2), (m, n))
    p[:, 1] = p[:1, 1]  # agreed
    p[:, 0] = p[:2, 2] = 0
    p[:, 0, 0] = 1  # sure and agreed
    p[0, 2, 0] = p[1:2, 2, 1] = 1  # sure of different things
    return p.astype(dtype)


@pytest.fixture(params=[name for name in KERNELS if name != "numpy"])
def kernel(request, monkeypatch):
    use_kernel(request.param, monkeypatch)
    return request.param


LOSSES = ["log", "squared", "spherical", "cost"]


def everything(
    p: np.ndarray, loss: str, weights: np.ndarray | None = None, **options: object
) -> list[np.ndarray]:
    labels = p.shape[-1] if options.get("events") is None else len(options["events"].offsets) // 2
    costs = lw.CostLoss(0.3, 9).table(labels, p.dtype.name)
    result = _kernels.split(loss, p, weights, costs=costs if loss == "cost" else None, **options)
    return [*(result.parts or ()), *result.sums, *(result.joint or ())]


def cuts(k: int) -> _kernels.EventLists:
    """The events of an ordered scale, for the kernel."""
    return ensembles.kernel_event_lists(lw.events.ordinal(k), k, None)


@pytest.mark.parametrize(
    ("loss", "weights", "dtype"),
    pairwise(["log", "squared"], ["none", "members", "instances"], ["float32", "float64"]),
)
def test_equals_the_general_path(kernel: str, loss: str, weights: str, dtype: str) -> None:
    p = probs(dtype=dtype)
    rng = np.random.default_rng(1)
    w = {
        "none": None,
        "members": rng.dirichlet(np.ones(5)),
        "instances": rng.dirichlet(np.ones(5), 300).T,
    }[weights]
    q = lw.Ensemble(p, weights=w)
    law = q.marginal()
    made = lw.losses.as_loss(loss)
    expected = law.split(made)[:3]
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
        np.testing.assert_allclose(
            getattr(u.sum(), part), getattr(u, part).sum(-1), rtol=40 * eps, atol=4 * eps
        )


@pytest.mark.parametrize(
    ("loss", "dtype", "events"), pairwise(list(LOSSES), ["float32", "float64"], [False, True])
)
def test_layouts_give_the_same_labels(kernel: str, loss: str, dtype: str, events: bool) -> None:
    p = probs(n=700, dtype=dtype)
    asked = {"events": cuts(7)} if events else {}
    plain = everything(p, loss, **asked)
    middle = np.ascontiguousarray(p.transpose(1, 0, 2)).transpose(1, 0, 2)
    channels = np.ascontiguousarray(p.transpose(0, 2, 1)).transpose(0, 2, 1)
    gaps = np.repeat(p, 2, axis=1)[:, ::2]
    backwards = p[:, ::-1]
    for other in (middle, channels, gaps):
        for i, (ours, theirs) in enumerate(
            zip(everything(other, loss, **asked), plain, strict=True)
        ):
            if i < 3:
                assert np.array_equal(ours, theirs)
            else:
                np.testing.assert_allclose(ours, theirs, rtol=40 * np.finfo(dtype).eps)
    assert np.array_equal(everything(backwards, loss, **asked)[0][::-1], plain[0])


@pytest.mark.parametrize("loss", [*LOSSES, "log of events"])
@pytest.mark.parametrize(
    "shape", [(5, 1001, 10), (3, 40, 1000), (2, 3, 9000), (50, 77, 3), (1, 5, 2)]
)
def test_same_bits_for_any_number_of_threads_and_any_block(
    kernel: str, loss: str, shape: tuple[int, int, int], monkeypatch
) -> None:
    p = probs(*shape, dtype="float32")
    loss, _, events = loss.partition(" of ")
    if events:
        p = p[..., :40] / p[..., :40].sum(-1, keepdims=True).clip(1e-30)
    asked = {"events": cuts(p.shape[-1])} if events else {}
    one = everything(p, loss, threads=1, **asked)
    monkeypatch.setattr(_kernels, "SEVERAL", dict.fromkeys(_kernels.SEVERAL, 1))
    for threads in (2, 3):
        for a, b in zip(everything(p, loss, threads=threads, **asked), one, strict=True):
            assert np.array_equal(a, b)
    cut = [everything(p[:, i : i + 37], loss, threads=1, **asked) for i in range(0, shape[1], 37)]
    for a, b in zip((np.concatenate(parts) for parts in zip(*cut, strict=True)), one, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_any_number_of_classes_and_instances(kernel: str, dtype: str) -> None:
    eps = np.finfo(dtype).eps
    for k in [*range(1, 30), 63, 64, 65, 130]:
        for n in (1, 2, 3, 4, 5, 9):
            p = np.random.default_rng(k).dirichlet(np.ones(k), (3, n)).astype(dtype)
            for loss in ("log", "squared"):
                result = _kernels.split(loss, p)
                for sums, parts in zip(result.sums, result.parts, strict=True):
                    np.testing.assert_allclose(
                        sums, parts.astype("float64").sum(-1), rtol=20 * eps, atol=1e-30
                    )


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
    for a, b in zip(
        everything(p.view(np.uint16), "log"), everything(p.astype(np.float32), "log"), strict=True
    ):
        assert np.array_equal(a, b)
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    fits = every[(every >= 0) & (every <= 1)]
    pair = np.stack([fits, np.float16(1) - fits], axis=-1)[None]
    np.testing.assert_array_equal(
        everything(pair, "squared")[1], everything(pair.astype(np.float32), "squared")[1]
    )


@pytest.mark.parametrize(
    ("where", "value", "layout"),
    pairwise(
        [(0, 0, 0), (4, 699, 6), (2, 350, 3)], [np.nan, -1e-3, 1.5, np.inf], ["plain", "channels"]
    ),
    ids=str,
)
def test_checks_find_a_single_bad_value(
    kernel: str, where: tuple[int, int, int], value: float, layout: str
) -> None:
    p = probs(n=700)
    if layout == "channels":
        p = np.ascontiguousarray(p.transpose(0, 2, 1)).transpose(0, 2, 1)
    assert _kernels.holds_probabilities(p, 1e-6)
    p[where] = value
    assert not _kernels.holds_probabilities(p, 1e-6)
    assert not _kernels.holds_probabilities(p, 1e-6, sum_to_one=False)


def test_checks_find_a_single_bad_sum(kernel: str) -> None:
    for k in (7, 300):
        p = probs(n=200, k=k)
        p[3, 111, 2] += 1e-4
        assert not _kernels.holds_probabilities(p, 1e-6)
        assert _kernels.holds_probabilities(p, 1e-6, sum_to_one=False)
        assert _kernels.holds_probabilities(p, 1e-3)


LAYOUTS = {
    "plain": lambda p: p,
    "members in the middle": lambda p: np.ascontiguousarray(p.swapaxes(0, 1)).swapaxes(0, 1),
    "channels": lambda p: np.ascontiguousarray(p.transpose(0, 2, 1)).transpose(0, 2, 1),
    "every other": lambda p: np.repeat(p, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize(
    ("layout", "shape", "dtype"),
    pairwise(list(LAYOUTS), [(300, 2), (300, 10), (50, 300), (3, 5000)], [np.float32, np.float64]),
    ids=str,
)
def test_every_value_is_checked(
    kernel: str, layout: str, shape: tuple[int, int], dtype: type
) -> None:
    n, k = shape
    p = LAYOUTS[layout](probs(n=n, k=k).astype(dtype))
    tolerance = 1e-3 if dtype == np.float32 else 1e-6
    p[1, 0, :2] = -0.0, p[1, 0, :2].sum()
    assert _kernels.holds_probabilities(p, tolerance)
    before = p.copy()
    for where in [(0, 0, 0), (4, n - 1, k - 1), (2, n // 2, k // 2)]:
        for value in (np.nan, -np.nan, -1e-3, 1.5, 3.0, np.inf, -np.inf):
            p[where] = value
            assert not _kernels.holds_probabilities(p, tolerance)
            assert not _kernels.holds_probabilities(p, tolerance, sum_to_one=False)
        p[where] = before[where] + 5 * tolerance
        assert not _kernels.holds_probabilities(p, tolerance)
        assert _kernels.holds_probabilities(p, 100 * tolerance)
        p[where] = before[where]


def test_a_sum_at_the_edge_that_passes_in_another_order_leaves_nothing_out(kernel: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(5), 100_000).astype(np.float32)
    rows = rows / rows.sum(-1, keepdims=True) * np.float32(1.001)
    sums = rows.sum(-1).astype(float)
    rows = rows[(sums <= 1.001) & (sums > 1.000999)]
    edge = [row for row in rows if not _kernels.holds_probabilities(row[None, None], 1e-3)]
    assert (
        edge or kernel == "numpy"
    )  # which adds up in the same order as the check that has the last word
    p = rng.dirichlet(np.ones(5), (2, 40_000)).astype(np.float32)
    p[0, 10] = [*edge, *rows][0]
    u = lw.decompose(lw.Ensemble(p), "squared")
    for part, expected in zip(PARTS, everything(p, "squared"), strict=False):
        assert np.array_equal(getattr(u, part), expected)


def test_images_keep_their_axes_without_a_copy(kernel: str) -> None:
    maps = (
        np.random.default_rng(2).dirichlet(np.ones(4), (3, 6, 5)).astype(np.float32)
    )  # members x height x width x classes
    first = np.ascontiguousarray(np.moveaxis(maps, -1, 1))  # members x classes x height x width
    q = lw.Ensemble(first, class_axis=1)
    assert np.shares_memory(q.stored, first)
    u, plain = lw.decompose(q), lw.decompose(lw.Ensemble(maps))
    assert u.epistemic.shape == (6, 5, 4)
    assert np.array_equal(u.epistemic, plain.epistemic)
    odd = np.repeat(maps, 2, axis=2)[:, :, ::2][:, ::-1]  # no common stride for both image axes
    assert _kernels.flatten_instances(odd) is None
    assert np.array_equal(lw.decompose(lw.Ensemble(odd)).epistemic, plain.epistemic[::-1])


@pytest.mark.parametrize(
    "loss", ["spherical", "zero_one", lw.CostLoss(1, 4), lw.BetaLoss(0.5, 1)], ids=str
)
def test_other_losses_in_blocks_equal_one_piece(loss: object, monkeypatch) -> None:
    p = probs(n=500)
    whole = lw.decompose(lw.Ensemble(p), loss, events=lw.events.one_vs_one(7))
    monkeypatch.setattr(compute, "BLOCK", 2000)
    for part in PARTS:
        assert np.array_equal(
            getattr(lw.decompose(lw.Ensemble(p), loss, events=lw.events.one_vs_one(7)), part),
            getattr(whole, part),
        )
    joint = lw.joint.decompose(lw.Ensemble(p), "spherical")
    monkeypatch.setattr(compute, "BLOCK", 1 << 30)
    np.testing.assert_array_equal(
        joint.epistemic, lw.joint.decompose(lw.Ensemble(p), "spherical").epistemic
    )


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


def imported(kernel: str) -> subprocess.CompletedProcess[str]:
    """A fresh process with LABELWISE_KERNEL that prints the kernel it uses."""
    code = "import labelwise as lw; print(lw.kernel_info()['kernel'])"
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "LABELWISE_KERNEL": kernel},
    )


def test_the_environment_chooses_the_kernel() -> None:
    for name in _kernels.AVAILABLE:
        assert imported(name).stdout.strip() == name
    assert imported("").stdout.strip() == _kernels.AVAILABLE[-1]  # the fastest


@pytest.mark.parametrize("name", ["v9", "native", "V3"])
def test_a_kernel_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    done = imported(name)
    assert done.returncode != 0
    expected = (
        f"ValueError: LABELWISE_KERNEL must be one of {', '.join(_kernels.AVAILABLE)} on this "
        f"machine; got '{name}'"
    )
    assert expected in done.stderr


@pytest.mark.skipif(_kernels.native is None, reason="the native kernel is not in use")
def test_the_native_kernel_refuses_a_level_that_it_does_not_have(monkeypatch) -> None:
    monkeypatch.setattr(_kernels, "level", "v9")
    with pytest.raises(ValueError, match="no level 'v9'"):
        _kernels.holds_probabilities(probs(), 1e-6)
    with pytest.raises(ValueError, match="no level 'v9'"):
        _kernels.split("log", probs())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weights", ["none", "members", "instances"])
def test_sums_and_joint_measures_are_accurate(kernel: str, weights: str, dtype: str) -> None:
    """Every kernel of this machine against the definitions in 100 digits, also what is added up
    over the classes.
    """
    p = probs(m=4, n=12, k=10, dtype=dtype, seed=3)
    rng = np.random.default_rng(4)
    w = {
        "none": None,
        "members": rng.dirichlet(np.ones(4)),
        "instances": rng.dirichlet(np.ones(4), 12).T,
    }[weights]
    w = None if w is None else w.astype(dtype)
    eps, tiny = float(np.finfo(dtype).eps), float(np.finfo(dtype).tiny)
    label = {
        "log": ENTROPY["log"],
        "squared": ENTROPY["squared"],
        "joint": ENTROPY["one-sided log"],
    }  # −t ln t
    truth = {name: np.empty((12, 10, 3)) for name in label}
    for n, k in np.ndindex(12, 10):
        for name, exact in ensemble(
            p[:, n, k], w if w is None or w.ndim == 1 else w[:, n], label
        ).items():
            truth[name][n, k] = [float(x) for x in exact]
    for loss in ("log", "squared"):
        result = _kernels.split(loss, p, w)
        for i in range(3):
            error = (1e-12 if dtype == "float64" else 1e-4) if i == 2 else 16 * eps
            exact = truth[loss][..., i]
            np.testing.assert_allclose(result.parts[i], exact, rtol=error, atol=tiny)
            np.testing.assert_allclose(result.sums[i], exact.sum(-1), rtol=error, atol=tiny)
            # log loss of all classes at once is the sum of the halves that belong to the labels; of
            # squared loss, the sum itself
            exact = truth["joint"][..., i].sum(-1) / np.log(2) if loss == "log" else exact.sum(-1)
            np.testing.assert_allclose(result.joint[i], exact, rtol=error, atol=4 * tiny)


def above_one(dtype: str) -> np.ndarray:
    """Rows with members above 1 as far as the tolerance goes, beside sure and unsure ones: (4, 6,
    3), all values those of ``dtype``.
    """
    most = (
        1 + {"float16": 0.0098, "bfloat16": 0.0078, "float32": 0.00099, "float64": 0.99e-6}[dtype]
    )
    above = [
        [1 + 1e-7, 0, 0],
        [most, 0, 0],
        [(1 + most) / 2, 0, 1e-9],
        [1, 0, 0],
        [0, most, 0],
        [0.5, 0.25, 0.25],
    ]
    return np.array([above, above[::-1], [[1, 0, 0]] * 6, [above[1]] * 6])


def assert_same(found: lw.typing.Uncertainty, clipped: lw.typing.Uncertainty) -> None:
    for part in PARTS:
        ours, theirs = np.asarray(getattr(found, part)), np.asarray(getattr(clipped, part))
        assert np.all(np.isfinite(ours))
        assert np.array_equal(ours, theirs), part


@pytest.mark.parametrize(
    ("how", "loss", "dtype"),
    pairwise(
        list(WAYS),
        ["log", "squared", "spherical", lw.CostLoss(1, 4)],
        ["float16", "bfloat16", "float32", "float64"],
    ),
    ids=str,
)
def test_above_one_within_the_tolerance_counts_as_one(
    how: str, loss: object, dtype: str, optional, monkeypatch
) -> None:
    kind = optional("ml_dtypes").bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    p = above_one(dtype).astype(kind)
    assert p.max() > 1
    way = choose(how, monkeypatch)
    for ensemble_kind in (lw.Ensemble, lw.MultiLabelEnsemble):
        for weights in (None, np.array([4.0, 3.0, 2.0, 1.0]), np.arange(1.0, 25.0).reshape(4, 6)):
            exact = way(
                ensemble_kind,
                np.minimum(p, kind.type(1)) if dtype != "bfloat16" else np.where(p > 1, kind(1), p),
                weights,
                loss,
            )
            assert_same(way(ensemble_kind, p, weights, loss), exact)


@pytest.mark.parametrize("layout", ["plain", "members in the middle", "channels", "every other"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_above_one_in_every_layout_and_number_of_members(
    kernel: str, dtype: str, layout: str
) -> None:
    p = np.concatenate([above_one(dtype)] * 4).astype(dtype)
    for m in (1, 2, 5, 7, 16):
        own = LAYOUTS[layout](p[:m])
        for loss in ("log", "squared"):
            for a, b in zip(
                everything(own, loss),
                everything(np.minimum(own, 1), loss),
                strict=True,
            ):
                assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("loss", "dtype"), [("log", "float32"), ("squared", "float64"), ("spherical", "float32")]
)
def test_above_one_in_every_library(lib, loss: str, dtype: str) -> None:
    p = above_one(dtype).astype(dtype)
    q = lw.Ensemble(lib.array(p, dtype))
    clipped = lw.Ensemble(lib.array(np.minimum(p, 1), dtype))
    u = lw.decompose(q, loss)
    assert_same(u, lw.decompose(clipped, loss))
    assert_same(lw.joint.decompose(q, loss), lw.joint.decompose(clipped, loss))
    plain = lw.decompose(lw.Ensemble(p), loss)
    for part in PARTS:
        ours = lib.numpy(getattr(u, part))
        np.testing.assert_allclose(
            ours, getattr(plain, part), rtol=400 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny
        )


def test_above_one_in_dask_events_and_the_jackknife(optional) -> None:
    da = optional("dask.array")
    p = above_one("float16").astype(np.float16)
    whole = lw.decompose(lw.Ensemble(p))
    lazy = lw.decompose(lw.Ensemble(da.from_array(p, chunks=(4, 2, 3))))
    for part in PARTS:
        assert np.array_equal(np.asarray(getattr(lazy, part)), getattr(whole, part))
    for options in ({"correction": "jackknife"}, {"events": {"first": [0], "two": [0, 1]}}):
        assert_same(
            lw.decompose(lw.Ensemble(p), **options),
            lw.decompose(lw.Ensemble(np.minimum(p, np.float16(1))), **options),
        )
    groups = lw.Ensemble(np.array([[[0.6, 0.408, 0.0]], [[0.3, 0.3, 0.4]]], np.float16)).marginal(
        {"two": [0, 1]}
    )
    assert groups.t.max() == 1


def shifted(x: np.ndarray) -> np.ndarray:
    """A copy with the same strides, one byte away from where its type belongs."""
    low = np.lib.array_utils.byte_bounds(x)[0]
    memory = bytearray(np.lib.array_utils.byte_bounds(x)[1] - low + 1)
    offset = 1 + x.__array_interface__["data"][0] - low
    moved = np.ndarray(x.shape, x.dtype, memory, offset, x.strides)
    moved[...] = x
    assert not moved.flags.aligned
    return moved


@pytest.mark.parametrize(
    ("shape", "dtype", "layout"),
    pairwise(
        [(1, 2), (700, 7), (30, 300), (2, 5000)],
        ["float16", "float32", "float64"],
        ["plain", "members in the middle", "channels", "every other", "backwards"],
    ),
    ids=str,
)
def test_arrays_out_of_alignment(
    kernel: str, shape: tuple[int, int], dtype: str, layout: str
) -> None:
    n, k = shape
    p = probs(m=5, n=max(n, 3), k=k, dtype=dtype)[:, :n]
    p = p[:, ::-1] if layout == "backwards" else LAYOUTS[layout](p)
    moved = shifted(p)
    tolerance = 2e-2
    assert _kernels.holds_probabilities(moved, tolerance, sum_to_one=dtype != "float16")
    computed = np.float64 if dtype == "float64" else np.float32
    rng = np.random.default_rng(0)
    for weights in (
        None,
        rng.dirichlet(np.ones(5)).astype(computed),
        rng.dirichlet(np.ones(5), n).T.astype(computed),
    ):
        for loss in ("log", "squared"):
            expected = everything(p, loss, weights)
            found = everything(
                moved,
                loss,
                None if weights is None else shifted(weights),
            )
            for a, b in zip(found, expected, strict=True):
                assert np.array_equal(a, b)
    moved[2, n - 1, k - 1] = np.nan
    assert not _kernels.holds_probabilities(moved, tolerance)


UNALIGNED = """
import importlib.util, sys
import numpy as np
from labelwise._engine import kernel as _kernels

spec = importlib.util.spec_from_file_location("labelwise._engine._kernel", sys.argv[1])
_kernels.native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(_kernels.native)

def shifted(x):
    moved = np.frombuffer(bytearray(x.nbytes + 1), x.dtype, x.size, 1).reshape(x.shape)
    moved[...] = x
    return moved

for level in _kernels.native.levels():
    _kernels.level = level
    for dtype in (np.float16, np.float32, np.float64):
        computed = np.promote_types(dtype, np.float32)
        for weights in (None, np.full(2, 0.5, computed), np.full((2, 300), 0.5, computed)):
            for axes in ((0, 1, 2), (0, 2, 1), (1, 0, 2)):
                p = shifted(np.full((2, 300, 4), 0.25, dtype).transpose(axes).copy()).transpose(np.argsort(axes))
                for loss in ("log", "squared"):
                    own = None if weights is None else shifted(weights)
                    _kernels.split(loss, p, own)
                    assert _kernels.holds_probabilities(p, 1e-3)
print("done")
"""  # noqa: E501


@pytest.fixture(scope="module")
def kernel_object(tmp_path_factory) -> Path:
    """kernel.c, compiled with nothing but the C library, to stop at numbers out of alignment, which
    x86 would read all the same.
    """
    if sys.platform == "win32" or not shutil.which("gcc"):
        pytest.skip("needs gcc")
    built = tmp_path_factory.mktemp("kernel") / "kernel.o"
    options = ["-O0", "-std=c11", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread"]
    options += ["-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"]
    options.append("-DLW_ONE_LEVEL")  # the same source for every level of instructions
    subprocess.run(
        ["gcc", *options, "-c", ENGINE / "kernel.c", "-o", built],
        check=True,
        env={"PATH": os.environ["PATH"]},  # no CPATH by which Python.h might be found
    )
    return built


def test_nothing_is_read_out_of_alignment(kernel_object: Path) -> None:
    built = kernel_object.with_name("_kernel.so")
    include = ["-I" + sysconfig.get_path("include"), "-DPy_LIMITED_API=0x030B0000"]
    options = ["-O0", "-std=c11", "-shared", "-fPIC", "-pthread", *include]
    sources = [ENGINE / "module.c", kernel_object]
    subprocess.run(["gcc", *options, *sources, "-lm", "-o", built], check=True)
    code = [sys.executable, "-c", UNALIGNED, str(built)]
    done = subprocess.run(
        code, capture_output=True, text=True, env={**os.environ, "LABELWISE_KERNEL": ""}
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_c_program_uses_the_kernel_without_python(kernel_object: Path) -> None:
    program = kernel_object.with_name("program")
    sources = [Path(__file__).parent / "kernel_program.c", kernel_object]
    subprocess.run(
        ["gcc", "-std=c11", "-Werror", "-pthread", f"-I{ENGINE}", *sources, "-lm", "-o", program],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    ensemble_line, dirichlet_line, invalid = done.stdout.splitlines()

    p = np.array([[[0.7, 0.2, 0.1]], [[0.5, 0.25, 0.25]]])
    for line, q in ((ensemble_line, lw.Ensemble(p)), (dirichlet_line, lw.Dirichlet([[2.0, 3, 4]]))):
        u = lw.decompose(q)
        found = np.array(line.split(), float).reshape(3, 3)
        np.testing.assert_allclose(found, [getattr(u, part)[0] for part in PARTS], rtol=1e-13)
    assert invalid == "invalid"


@pytest.mark.skipif(_kernels.native is None, reason="the native kernel is not in use")
def test_the_native_kernel_refuses_what_does_not_fit() -> None:
    p = probs()
    given = {"level": _kernels.level, "dtype": "d", "probs": p, "pieces": 1, "tolerance": 1e-6}
    assert _kernels.native.check(**given, sum_to_one=True)
    with pytest.raises(TypeError, match="no keyword 'tolerence'"):
        _kernels.native.check(**given, tolerence=1)
    with pytest.raises(TypeError, match="keywords only"):
        _kernels.native.check(p)
    with pytest.raises(ValueError, match="3-D array of the stated type"):
        _kernels.native.check(**given | {"dtype": "f"})
    with pytest.raises(ValueError, match="does not have this loss"):
        _kernels.native.split(**given, loss="beta")
    with pytest.raises(ValueError, match="wrong size"):
        _kernels.native.split(**given, loss="log", sums=(np.empty(3),) * 3)
    with pytest.raises(ValueError, match="missing"):
        _kernels.native.split(**given, loss="cost")
    bad = {"offsets": np.array([0, 1, 2]), "positions": np.array([0, 7])}
    with pytest.raises(ValueError, match="events do not fit"):
        _kernels.native.split(**given, loss="log", **bad)
    with pytest.raises(ValueError, match="weights must fit"):
        _kernels.native.split(**given, loss="log", weights=np.ones(3))
