"""Members trained side by side: the same weights, and every death and error is reported."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from labelwise_lab.datasets import Examples
from labelwise_lab.training import Recipe, _workers
from labelwise_lab.training._member import Job
from labelwise_lab.training._workers import Schedule, progress_bars, train_apart
from labelwise_lab.training.inputs import Inputs
from small_networks import Dropped, EvenOrOdd, Failing, OnDisk, Suicidal
from small_trainings import DATA, RECIPE, N, X, Y, fit, same, weights


@pytest.fixture
def quick_processes(monkeypatch):
    """Workers that are forked from a process that has imported PyTorch, which takes seconds each
    time. The test that kills them starts them as the library does.
    """
    context = multiprocessing.get_context("forkserver")
    # the second is what an optimizer imports when it is used first
    context.set_forkserver_preload(["small_networks", "torch._dynamo", _workers.__name__])
    monkeypatch.setattr(_workers.multiprocessing, "get_context", lambda method: context)


@pytest.mark.usefixtures("quick_processes")
def test_processes_change_nothing(tmp_path):
    """Not even if each member sees its own instances in each epoch, and the processes read the
    validation set from disk.
    """
    options = {"n_members": 3, "subset": EvenOrOdd(N)}  # 3 on 2: trained in pieces
    on_disk = OnDisk(tmp_path / "val.npy", DATA.val.x)
    from_disk = replace(DATA, val=Examples(on_disk, DATA.val.y))
    here = fit(tmp_path / "1", Dropped, DATA, n_jobs=1, **options)
    apart = fit(tmp_path / "2", Dropped, from_disk, n_jobs=2, **options)
    assert same(weights(here), weights(apart))
    val_losses = [[line["val_loss"] for line in fitted.metrics[2]] for fitted in (here, apart)]
    assert val_losses[0] == val_losses[1]
    kept = {path.name for path in (tmp_path / "2").iterdir()}
    assert kept == {"ensemble.json"} | {
        f"member-{m}.{kind}" for m in range(3) for kind in ("pt", "jsonl")
    }


@pytest.mark.parametrize(
    ("members", "n_jobs", "epochs", "expected"),
    [
        (5, 2, 20, 50),
        (4, 2, 20, 40),
        (3, 2, 4, 6),
        (5, 4, 8, 10),
        (1, 2, 7, 7),
        (2, 4, 5, 5),
        (7, 3, 12, 30),
    ],
)
def test_schedule_keeps_every_process_busy(members, n_jobs, epochs, expected):
    schedule = Schedule(dict.fromkeys(range(members), 0), epochs, n_jobs)
    done = dict.fromkeys(range(members), 0)
    running: dict[int, tuple[int, int]] = {}  # member -> (when it is over, epoch)
    now = 0
    while True:
        while len(running) < n_jobs and (task := schedule.next()) is not None:
            member, until = task
            assert member not in running
            assert done[member] < until <= epochs
            running[member] = now + until - done[member], until
        if not running:
            break
        member = min(running, key=lambda m: running[m][0])
        now, done[member] = running.pop(member)
        schedule.finished(member, done[member])
    assert set(done.values()) == {epochs}
    assert now == expected


SCRIPT = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from small_networks import Dropped
from labelwise_lab.training import Recipe, fit_ensemble

if __name__ == "__main__":
    data = np.load({data!r})
    recipe = Recipe("mlp", epochs={epochs}, batch_size=50)
    fit_ensemble(Dropped, (data["x"], data["y"]), n_members=2, recipe=recipe, rng=7, out_dir={folder!r}, n_jobs=2)
"""  # noqa: E501


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def wait_until(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_kill_nine_at_a_random_moment_then_resume_is_bit_identical(tmp_path):
    epochs, folder, script = 40, tmp_path / "killed", tmp_path / "script.py"
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    settings = {
        "tests": str(Path(__file__).parents[3] / "tests"),
        "data": str(tmp_path / "data.npz"),
        "epochs": epochs,
        "folder": str(folder),
    }
    script.write_text(SCRIPT.format(**settings))

    def start() -> subprocess.Popen:
        slowly = os.environ | {"LABELWISE_TEST_SLEEP": "0.01", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, str(script)],
            stderr=subprocess.PIPE,
            text=True,
            env=slowly,
        )

    def lines_written() -> int:
        return sum(len(path.read_text().splitlines()) for path in folder.glob("member-*.jsonl"))

    def kill_after(process: subprocess.Popen, lines: int, delay: float) -> int:
        wait_until(lambda: lines_written() > lines or process.poll() is not None)
        time.sleep(delay)
        assert process.poll() is None, f"it was over before the kill: {process.communicate()[1]}"
        workers = children(process.pid)
        process.kill()
        process.communicate()
        wait_until(lambda: not any(map(alive, workers)))  # none goes on training by itself
        return len(workers)

    moment = np.random.default_rng(int.from_bytes(os.urandom(8))).uniform(0, 0.4)
    print("killed after", moment)
    assert kill_after(start(), 3, moment) >= 2
    done = [torch.load(path, weights_only=True)["epoch"] for path in folder.glob("member-*.pt")]
    assert 2 <= sum(done) < 2 * epochs

    recipe = Recipe("mlp", epochs=epochs, batch_size=50)
    resumed = fit(folder, Dropped, (X, Y), recipe=recipe, resume=True)
    undisturbed = fit(tmp_path / "undisturbed", Dropped, (X, Y), recipe=recipe)
    assert same(weights(resumed), weights(undisturbed))
    assert [[line["epoch"] for line in lines] for lines in resumed.metrics] == [
        list(range(1, epochs + 1))
    ] * 2
    assert not list(folder.glob(".*.tmp"))


@pytest.mark.usefixtures("quick_processes")
def test_death_and_errors_of_workers_are_reported(tmp_path):
    job = Job(tmp_path, Suicidal, 2, Inputs.of(X), RECIPE, 0, "cpu", (X, Y))
    with pytest.raises(
        ChildProcessError,
        match=r"member 0 was ended by signal 9 \(perhaps the memory was short\)\. .* \(--resume\)",
    ):
        train_apart(job, {0: 0}, n_jobs=1, threads=1, show=print)
    with pytest.raises(ArithmeticError, match="no gradient today") as caught:
        train_apart(replace(job, make_model=Failing), {0: 0}, n_jobs=1, threads=1, show=print)
    assert "in forward" in caught.value.__notes__[0]


def test_bars_on_a_terminal_and_none_in_a_pipe(monkeypatch, capsys):
    with progress_bars([0], 10, 2, wanted=True) as show:
        show(0, 0, 5, 0.5)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars([0, 3], 10, 2, wanted=True) as show:
        show(3, 1, 10, 0.125)
    shown = capsys.readouterr().err
    assert "member 3" in shown
    assert "epoch 2/2" in shown
    assert "loss 0.1250" in shown
    with progress_bars([0], 10, 2, wanted=False) as show:
        show(0, 0, 5, 0.5)
    assert capsys.readouterr().err == ""


def test_a_script_without_a_main_guard_is_told(tmp_path, monkeypatch):
    # What multiprocessing sets while a worker imports the user's script.
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(RuntimeError, match="under `if __name__ == '__main__':`"):
        fit(tmp_path, n_jobs=2)
