"""Out of core: every format in and out, blocks, bounded memory, kill and go on, a real Dask
cluster.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import labelwise as lw
import labelwise.io.quantify as module
from labelwise._errors import InputError
from labelwise.io import Predictions, save_predictions
from labelwise.io.quantify import parse_memory, quantify
from quantify_cases import NAMES, interrupt_after, predictions, read, write


@pytest.mark.parametrize("source", [".npz", ".npy", ".zarr", ".parquet"])
@pytest.mark.parametrize("target", [".npz", ".zarr", ".parquet"])
def test_formats(source: str, target: str, tmp_path, optional) -> None:
    probs = predictions()
    write(tmp_path / f"in{source}", probs, optional)
    out = tmp_path / f"out{target}"
    done = quantify(tmp_path / f"in{source}", out, losses=["log", "spherical"], memory="1MB")
    assert done.instances == 500
    for loss in ("log", "spherical"):
        u = lw.decompose(lw.Ensemble(probs), loss)
        for part in ("total", "aleatoric", "epistemic"):
            assert np.array_equal(read(out, f"{loss}_{part}", optional), getattr(u, part))
            np.testing.assert_allclose(
                read(out, f"{loss}_sum_{part}", optional), getattr(u.sum(), part), rtol=3e-7
            )
    assert done.means["log"]["total"] == pytest.approx(
        float(lw.decompose(lw.Ensemble(probs)).sum().total.mean()), rel=1e-6
    )
    assert sorted(os.listdir(tmp_path)) == [f"in{source}", f"out{target}"]


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_types_blocks_and_sums_only(dtype: str, tmp_path, optional) -> None:
    probs = predictions(12_000, "float64").astype(dtype)
    np.save(tmp_path / "in.npy", probs)
    whole = quantify(tmp_path / "in.npy", tmp_path / "a.npz", memory="1GB")
    parts = quantify(tmp_path / "in.npy", tmp_path / "b.npz", memory="1MB")
    assert parts.blocks > 1
    assert whole.blocks == 1
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    quantify(tmp_path / "in.npy", tmp_path / "c.npz", labelwise=False)
    with np.load(tmp_path / "c.npz") as file:
        assert set(file.files) == {
            "log_sum_total",
            "log_sum_aleatoric",
            "log_sum_epistemic",
            "class_names",
        }
    assert read(tmp_path / "a.npz", "log_total", optional).dtype == (
        "float64" if dtype == "float64" else "float32"
    )


def test_dirichlet_empty_input_and_ids(tmp_path) -> None:
    alpha = np.random.default_rng(1).gamma(2.0, 2.0, (50, 3)) + 0.1
    save_predictions(tmp_path / "in.npz", alpha=alpha, ids=np.arange(50), class_names=NAMES)
    quantify(tmp_path / "in.npz", tmp_path / "out.npz", losses=["squared"])
    with np.load(tmp_path / "out.npz") as file:
        assert np.array_equal(
            file["squared_epistemic"], lw.decompose(lw.Dirichlet(alpha), "squared").epistemic
        )
        assert file["ids"].tolist() == list(range(50))
        assert file["class_names"].tolist() == NAMES
    save_predictions(tmp_path / "empty.npz", probs=np.empty((2, 0, 3)))
    for target in ("none.npz", "none.zarr", "none.parquet"):
        assert quantify(tmp_path / "empty.npz", tmp_path / target).instances == 0
        assert (tmp_path / target).exists()


RUN = """
import sys, time
import labelwise.io.quantify as module

compute, pause = module._quantify_block, float(sys.argv[3])

def slow(*args):
    compute(*args)
    time.sleep(pause)

module._quantify_block = slow
print("running", flush=True)
module.quantify(sys.argv[1], sys.argv[2], memory="1MB")
"""


def running(source, target, pause: float = 0.0) -> subprocess.Popen:
    """A process that quantifies, ``pause`` seconds after each block."""
    command = [sys.executable, "-c", RUN, str(source), str(target), str(pause)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "running\n"
    return process


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()


def test_killed_at_random_moments_and_started_again_gives_the_same_file(tmp_path) -> None:
    np.save(tmp_path / "in.npy", predictions(60_000))
    whole = quantify(tmp_path / "in.npy", tmp_path / "whole.npz", memory="1MB")
    out, rng = tmp_path / "out.npz", np.random.default_rng(0)
    for _ in range(5):
        process = running(tmp_path / "in.npy", out, 0.2)
        time.sleep(rng.uniform(0, 0.4))
        kill(process)
        assert not out.exists()
    done = quantify(tmp_path / "in.npy", out, memory="1MB")
    assert 0 < done.computed < done.blocks == 24
    assert done.means == whole.means
    assert out.read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npz", "whole.npz"]


def content(path) -> dict[str, bytes]:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def test_killed_while_it_packs_or_swaps(tmp_path, optional) -> None:
    """The old output is there or can be written again, and no temporary is left."""
    optional("zarr")
    np.save(tmp_path / "in.npy", predictions(20_000))
    out = tmp_path / "out.zarr"
    quantify(tmp_path / "in.npy", out, memory="1MB")
    whole = content(out)
    code = """
import os, pathlib, signal, sys
from labelwise.io.quantify import quantify
renames, rename = [], pathlib.Path.rename
def killed(old, new):
    renames.append(rename(old, new))
    if len(renames) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return renames[-1]
pathlib.Path.rename = killed
quantify(sys.argv[1], sys.argv[2], memory="1MB")
"""
    for moment in "12":  # the old folder is set aside; the new one is there
        subprocess.run([sys.executable, "-c", code, tmp_path / "in.npy", out, moment], check=False)
        assert out.exists() == (moment == "2")
        done = quantify(tmp_path / "in.npy", out, memory="1MB")
        assert done.computed == 0
        assert content(out) == whole
        assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.zarr"]


@pytest.mark.parametrize("target", ["out.npz", "out.zarr"])
def test_equal_jobs_side_by_side_write_the_same_file(target: str, tmp_path, optional) -> None:
    """Whoever finishes first removes the blocks, also those that the others still need."""
    optional("zarr")
    np.save(tmp_path / "in.npy", predictions(20_000))
    (tmp_path / "whole").mkdir()
    quantify(tmp_path / "in.npy", tmp_path / "whole" / target, memory="1MB")
    processes = [running(tmp_path / "in.npy", tmp_path / target, x) for x in (0.05, 0.0)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert content(tmp_path / target) == content(tmp_path / "whole" / target)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", target, "whole"]


def test_blocks_that_vanish_while_they_are_packed_are_computed_again(tmp_path, monkeypatch) -> None:
    np.save(tmp_path / "in.npy", predictions(20_000))
    quantify(tmp_path / "in.npy", tmp_path / "whole.npz", memory="1MB")
    packed = []

    def pack(target, blocks, extra) -> dict[str, float]:
        packed.append(target)
        if len(packed) == 1:
            shutil.rmtree(blocks.folder)
        return original(target, blocks, extra)

    original = module.pack_results
    monkeypatch.setattr(module, "pack_results", pack)
    quantify(tmp_path / "in.npy", tmp_path / "out.npz", memory="1MB")
    assert len(packed) == 2
    assert (tmp_path / "out.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_finished_blocks_are_not_read_again_and_other_jobs_do_not_use_them(
    tmp_path, monkeypatch
) -> None:
    np.save(tmp_path / "in.npy", predictions(20_000))
    out = tmp_path / "out.npz"
    with pytest.raises(KeyboardInterrupt):
        quantify(tmp_path / "in.npy", out, memory="1MB", progress=interrupt_after(7000))
    (kept,) = tmp_path.glob("out.npz.*.partial")
    for other in ({"losses": ["squared"]}, {"labelwise": False}, {"memory": "2MB"}):
        with pytest.raises(KeyboardInterrupt):
            quantify(
                tmp_path / "in.npy", out, **({"memory": "1MB"} | other), progress=interrupt_after(1)
            )
    assert len(list(tmp_path.glob("out.npz.*.partial"))) == 4
    spans = []

    def read(self, start, stop):
        spans.append((start, stop))
        return original(self, start, stop)

    original = Predictions.read
    monkeypatch.setattr(Predictions, "read", read)
    done = quantify(tmp_path / "in.npy", out, memory="1MB")
    assert (done.blocks, done.computed) == (done.blocks, done.blocks - 3)
    assert min(spans)[0] >= 7000
    assert len(spans) == done.computed
    assert not kept.exists()
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npz"]


def replace_keeping_times(new, old) -> None:
    """Overwrite what differs, as ``cp -p`` from an older copy would: sizes and times stay."""
    pairs = (
        [(new, old)]
        if new.is_file()
        else [
            (path, old / path.relative_to(new)) for path in sorted(new.rglob("*")) if path.is_file()
        ]
    )
    changed = [(a, b) for a, b in pairs if a.read_bytes() != b.read_bytes()]
    assert len(changed) == 1
    for a, b in changed:
        status, folder = b.stat(), b.parent.stat()
        assert new.is_dir() or a.stat().st_size == status.st_size
        shutil.copyfile(a, b)
        os.utime(b, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.utime(b.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))


@pytest.mark.parametrize("kind", [".npz", ".npy", ".zarr", ".parquet"])
def test_no_result_of_changed_predictions_survives(kind: str, tmp_path, optional) -> None:
    old = predictions(20_000)
    new = old.copy()
    new[0, :64] = old[0, 63::-1]
    source, other, out = tmp_path / f"in{kind}", tmp_path / f"new{kind}", tmp_path / "out.npz"
    write(source, old, optional)
    write(other, new, optional)
    with pytest.raises(KeyboardInterrupt):
        quantify(source, out, memory="1MB", progress=interrupt_after(7000))
    replace_keeping_times(other, source)
    done = quantify(source, out, memory="1MB")
    quantify(other, tmp_path / "whole.npz", memory="1MB")
    assert out.read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert done.computed == done.blocks


def test_a_file_that_is_too_new_for_its_time_is_told_by_its_bytes(tmp_path) -> None:
    """Written twice within a tick of the clock, with the same size."""
    path = tmp_path / "in.npy"
    seen = set()
    for i in (0, 30_000, 59_999):
        probs = predictions(60_000)
        probs[:, i] = [0.5, 0.25, 0.25]
        np.save(path, probs)
        os.utime(path, ns=(10**18, 10**18))
        seen.add(module._fingerprint_of_files([path]))
    assert len(seen) > 1  # samples: the middle of a large file may be missed
    assert module._fingerprint_of_files([path]) in seen


def test_predictions_that_change_while_they_are_read_are_refused(tmp_path) -> None:
    path = tmp_path / "in.npy"
    np.save(path, predictions(20_000))

    def change(done: int, n: int) -> None:
        with path.open("r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(bytes(4))

    with pytest.raises(
        InputError, match=r"^in\.npy changed while it was read; run quantify again$"
    ):
        quantify(path, tmp_path / "out.npz", memory="1MB", progress=change)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_bad_values_are_found_and_nothing_is_written(tmp_path) -> None:
    probs = predictions(20_000)
    probs[2, 14_321, 1] = np.nan
    np.save(tmp_path / "in.npy", probs)
    (tmp_path / "out.npz").write_bytes(b"mine")
    with pytest.raises(ValueError, match="NaN"):
        quantify(tmp_path / "in.npy", tmp_path / "out.npz", memory="1MB")
    assert (tmp_path / "out.npz").read_bytes() == b"mine"
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npz"]


@pytest.mark.parametrize("target", ["out.npz", "out.parquet"])
def test_memory_stays_bounded(target: str, tmp_path, optional) -> None:
    """A file of 96 MB with results of 96 MB and a budget of 20 MB: resident memory grows by far
    less than both.
    """
    optional("pyarrow")
    path = tmp_path / "in.npy"
    block = predictions(100_000)
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(4, 2_000_000, 3))
    for start in range(0, 2_000_000, 100_000):
        array[:, start : start + 100_000] = block
    array.flush()
    del array
    code = (
        "import re, sys\n"
        "from labelwise.io.quantify import quantify\n"
        "if sys.argv[2].endswith('parquet'): import pyarrow.parquet\n"
        "def peak():  # of this program alone: ru_maxrss begins with that of the one that started "
        "it\n"
        "    return 1024 * int(re.search(r'VmHWM:\\s+(\\d+)', "
        "open('/proc/self/status').read())[1])\n"
        "base = peak()\n"
        "quantify(sys.argv[1], sys.argv[2], memory='20MB')\n"
        "print(peak() - base)\n"
    )
    if not os.path.exists("/proc/self/status"):
        pytest.skip("only Linux tells the peak of a process by itself")
    done = subprocess.run(
        [sys.executable, "-c", code, path, tmp_path / target],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < (50_000_000 if target == "out.npz" else 120_000_000)


def test_on_a_real_dask_cluster_even_when_a_worker_dies(tmp_path, optional) -> None:
    distributed = optional("distributed")
    np.save(tmp_path / "in.npy", predictions(60_000))
    quantify(tmp_path / "in.npy", tmp_path / "here.npz", memory="1MB")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
    ) as cluster:
        seen: list[int] = []

        def kill_one(rows: int, total: int) -> None:
            seen.append(rows)
            if len(seen) == 2:
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        quantify(
            tmp_path / "in.npy",
            tmp_path / "there.npz",
            memory="1MB",
            scheduler=cluster.scheduler_address,
            progress=kill_one,
        )
    assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


@pytest.mark.parametrize(
    ("memory", "size"),
    [
        ("500MB", 500_000_000),
        ("2GiB", 2 << 30),
        (5_000_000, 5_000_000),
        ("1.5 gb", 1_500_000_000),
        ("3000000", 3_000_000),
    ],
)
def test_memory_words(memory, size: int) -> None:
    assert parse_memory(memory) == size


@pytest.mark.parametrize(
    ("source", "target", "options", "sentence"),
    [
        ("in.txt", "out.npz", {}, "predictions are read from"),
        ("in.npy", "out.txt", {}, "results are written to"),
        ("in.npy", "nowhere/out.npz", {}, "no folder"),
        ("missing.zarr", "out.npz", {}, "no prediction file"),
        ("missing.parquet", "out.npz", {}, "no prediction file"),
        ("garbage.parquet", "out.npz", {}, "garbage.parquet: Parquet"),
        ("garbage.zarr", "out.npz", {}, "not a zarr group"),
        ("in.npy", "out.npz", {"memory": "lots"}, "`memory` must be"),
        ("in.npy", "out.npz", {"memory": 5}, "at least 1 MB"),
        ("in.npy", "out.npz", {"losses": ["breir"]}, "Did you mean 'brier'"),
        ("in.npy", "out.npz", {"losses": []}, "at least one loss"),
    ],
)
def test_wrong_use_has_its_sentence(source, target, options, sentence: str, tmp_path) -> None:
    np.save(tmp_path / "in.npy", predictions(10))
    (tmp_path / "garbage.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "garbage.zarr").mkdir()
    with pytest.raises((ValueError, OSError), match=sentence):
        quantify(tmp_path / source, tmp_path / target, **options)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("n", [500, 50_000])  # checked at once, and in the pass that computes
def test_a_value_that_is_no_probability_is_named_with_its_rows(n: int, tmp_path) -> None:
    probs = np.full((3, n, 2), 0.5)
    probs[1, n - 1, 1] = 1.5
    np.save(tmp_path / "in.npy", probs)
    with pytest.raises(
        ValueError, match=rf"^in\.npy, rows 0 to {n}: `probs` must lie between 0 and 1"
    ):
        quantify(tmp_path / "in.npy", tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


def test_every_loss_has_columns_of_its_own(tmp_path) -> None:
    """Names say the sign of a number, and no address of a function."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (2, 5))
    save_predictions(tmp_path / "p.npz", probs=probs)
    losses = [
        lw.BetaLoss(-0.5, 0.5),
        lw.BetaLoss(0.5, 0.5),
        lw.CustomLoss(lambda f, y: (1 - f) ** 2 if y else f**2),
    ]
    found = quantify(tmp_path / "p.npz", tmp_path / "u.npz", losses=losses)
    names = [
        "BetaLoss_a_minus0_5_b_0_5",
        "BetaLoss_a_0_5_b_0_5",
        "CustomLoss_lambda",
    ]
    assert list(found.means) == names
    stored = np.load(tmp_path / "u.npz")
    for name, loss in zip(names, losses, strict=True):
        np.testing.assert_allclose(
            stored[f"{name}_total"], lw.decompose(lw.Ensemble(probs), loss).total
        )
    other = lw.CustomLoss(lambda f, y: 2 * (1 - f) ** 2 if y else 2 * f**2)
    with pytest.raises(ValueError, match="two different losses are called 'CustomLoss_lambda'"):
        quantify(tmp_path / "p.npz", tmp_path / "u.npz", losses=[*losses, other])
