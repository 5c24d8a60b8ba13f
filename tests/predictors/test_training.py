"""Training: the same seed gives the same weights, however the work is divided and however often it is interrupted."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import labelwise as lw
from labelwise.datasets import Dataset, Examples
from labelwise.predictors import Recipe, fit_ensemble, load_ensemble
from labelwise.predictors._member import Job, _batches
from labelwise.predictors._training_folder import reserved
from labelwise.predictors._workers import Schedule, progress_bars, train_apart
from labelwise.predictors.inputs import Inputs
from small_networks import Dropped, EvenOrOdd, Failing, Suicidal

RNG = np.random.default_rng(0)
N = 200
X = RNG.integers(0, 256, (N, 6, 6), dtype=np.uint8)
Y = (X[:, :3].mean((1, 2)) > X[:, 3:].mean((1, 2))).astype(np.int64)
DATA = Dataset("halves", Examples(X, Y), Examples(X[:50], Y[:50]), ("top", "bottom"), Examples(X[50:80], Y[50:80]))
RECIPE = Recipe("mlp", epochs=3, batch_size=32)


def weights(fitted) -> list[dict[str, torch.Tensor]]:
    return [torch.load(path, weights_only=True)["model"] for path in fitted.checkpoints]


def same(a, b) -> bool:
    return len(a) == len(b) and all(x.keys() == y.keys() and all(torch.equal(x[k], y[k]) for k in x) for x, y in zip(a, b, strict=True))


def fit(folder: Path, make_model="mlp", data=DATA, **options):
    return fit_ensemble(make_model, data, **{"n_members": 2, "recipe": RECIPE, "rng": 7, "n_jobs": 1, "out_dir": folder} | options)


def test_same_seed_same_weights_and_members_differ(tmp_path):
    a, b, c = fit(tmp_path / "a"), fit(tmp_path / "b"), fit(tmp_path / "c", rng=8)
    assert same(weights(a), weights(b))
    assert not same(weights(a), weights(c))
    assert not same(weights(a)[:1], weights(a)[1:])
    more = fit(tmp_path / "a", n_members=3, resume=True)  # a member more leaves the others as they are
    assert same(weights(a), weights(more)[:2])
    assert more.n_members == 3


def test_it_learns_and_says_so(tmp_path):
    fitted = fit(tmp_path, epochs=30)
    first, last = fitted.metrics[0][0], fitted.metrics[0][-1]
    assert [line["epoch"] for line in fitted.metrics[1]] == list(range(1, 31))
    assert {"member", "epoch", "learning_rate", "loss", "accuracy", "val_accuracy", "val_loss", "seconds"} == first.keys()
    assert last["loss"] < 0.5 * first["loss"]
    assert last["accuracy"] > 0.9
    assert last["val_accuracy"] > 0.9  # part of the training set here
    model = fitted.model(1)
    assert not model.training
    right = model(fitted.inputs(torch.from_numpy(X))).argmax(1).numpy() == Y
    assert right.mean() > 0.9


def test_processes_change_nothing(tmp_path):
    """Not even if each member sees its own instances in each epoch."""
    options = {"n_members": 3, "subset": EvenOrOdd(N)}  # 3 on 2: trained in pieces
    here, apart = (fit(tmp_path / str(n_jobs), Dropped, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert same(weights(here), weights(apart))
    kept = {path.name for path in (tmp_path / "2").iterdir()}
    assert kept == {"ensemble.json"} | {f"member-{m}.{kind}" for m in range(3) for kind in ("pt", "jsonl")}


@pytest.mark.parametrize(
    ("members", "n_jobs", "epochs", "expected"),
    [(5, 2, 20, 50), (4, 2, 20, 40), (3, 2, 4, 6), (5, 4, 8, 10), (1, 2, 7, 7), (2, 4, 5, 5), (7, 3, 12, 30)],
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


@pytest.mark.parametrize("make_model", ["mlp", Dropped])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_going_on_after_each_epoch_gives_the_same_weights(tmp_path, monkeypatch, make_model, optimizer):
    recipe = replace(RECIPE, optimizer=optimizer, momentum=0.9, rates=((0, 0.01), (2, 0.001)))
    straight = fit(tmp_path / "straight", make_model, recipe=recipe)
    import labelwise.predictors._member as member

    save = member._save

    def save_and_stop(*state):
        save(*state)
        raise InterruptedError

    for _ in range(6):  # two members, three epochs
        monkeypatch.setattr(member, "_save", save_and_stop)
        with pytest.raises(InterruptedError):
            fit(tmp_path / "stopped", make_model, recipe=recipe, resume=True)
    monkeypatch.undo()
    stopped = fit(tmp_path / "stopped", make_model, recipe=recipe, resume=True)
    assert same(weights(straight), weights(stopped))
    assert [len(lines) for lines in stopped.metrics] == [3, 3]


SCRIPT = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from small_networks import Dropped
from labelwise.predictors import Recipe, fit_ensemble

if __name__ == "__main__":
    data = np.load({data!r})
    recipe = Recipe("mlp", epochs={epochs}, batch_size=50)
    fit_ensemble(Dropped, (data["x"], data["y"]), n_members=2, recipe=recipe, rng=7, out_dir={folder!r}, resume=True, n_jobs=int(sys.argv[1]))
"""


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
def test_kill_nine_at_random_moments_then_resume_is_bit_identical(tmp_path):
    epochs, folder, script = 60, tmp_path / "killed", tmp_path / "script.py"
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    settings = {"tests": str(Path(__file__).parent.parent), "data": str(tmp_path / "data.npz"), "epochs": epochs, "folder": str(folder)}
    script.write_text(SCRIPT.format(**settings))

    def start(n_jobs: int) -> subprocess.Popen:
        slowly = os.environ | {"LABELWISE_TEST_SLEEP": "0.01", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([sys.executable, str(script), str(n_jobs)], stderr=subprocess.PIPE, text=True, env=slowly)

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

    moments = np.random.default_rng(int.from_bytes(os.urandom(8))).uniform(0, 0.4, 3)
    print("killed after", moments)
    assert kill_after(start(n_jobs=2), 1, moments[0]) >= 2
    for moment in moments[1:]:
        kill_after(start(n_jobs=1), lines_written() + 1, moment)
    done = [torch.load(path, weights_only=True)["epoch"] for path in folder.glob("member-*.pt")]
    assert 3 <= sum(done) < 2 * epochs

    recipe = Recipe("mlp", epochs=epochs, batch_size=50)
    resumed = fit(folder, Dropped, (X, Y), recipe=recipe, resume=True)
    undisturbed = fit(tmp_path / "undisturbed", Dropped, (X, Y), recipe=recipe)
    assert same(weights(resumed), weights(undisturbed))
    assert [[line["epoch"] for line in lines] for lines in resumed.metrics] == [list(range(1, epochs + 1))] * 2
    assert not list(folder.glob(".*.tmp"))


def test_death_and_errors_of_workers_are_reported(tmp_path):
    job = Job(tmp_path, Suicidal, 2, Inputs.of(X), RECIPE, 0, "cpu", (X, Y))
    with pytest.raises(ChildProcessError, match=r"member 0 was ended by signal 9 \(perhaps the memory was short\)\. .* \(--resume\)"):
        train_apart(job, {0: 0}, n_jobs=1, threads=1, show=print)
    with pytest.raises(ArithmeticError, match="no gradient today") as caught:
        train_apart(replace(job, make_model=Failing), {0: 0}, n_jobs=1, threads=1, show=print)
    assert "in forward" in caught.value.__notes__[0]


def test_a_folder_with_a_training_is_not_touched_without_resume(tmp_path):
    fitted = fit(tmp_path)
    before = weights(fitted)
    with pytest.raises(ValueError, match="already holds a training; resume it with resume=True"):
        fit(tmp_path, rng=8)
    for change, words in (
        ({"rng": 8}, "`seed` changed: it was 7, now 8"),
        ({"recipe": replace(RECIPE, batch_size=16)}, "`recipe` changed"),
        ({"make_model": "cnn", "data": (np.zeros((4, 20, 20), np.uint8), Y[:4])}, "changed"),
        ({"data": replace(DATA, train=Examples(X[::-1].copy(), Y))}, "the training data changed"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(tmp_path, **({"resume": True} | change))
    assert same(before, weights(fitted))
    with (
        reserved(tmp_path),
        pytest.raises(ValueError, match=rf"another process is training in .* \(process {os.getpid()} on .*\); wait for it"),
    ):
        fit(tmp_path, resume=True)


def test_an_ensemble_is_loaded_from_its_folder(tmp_path):
    fitted = fit(tmp_path / "a", recipe=replace(RECIPE, normalize="train"))
    again = load_ensemble(tmp_path / "a")
    for field in ("make_model", "n_classes", "class_names", "inputs", "recipe", "n_members"):
        assert getattr(again, field) == getattr(fitted, field)
    assert fitted.inputs.statistics == ((pytest.approx(X.mean() / 255),), (pytest.approx(X.std() / 255),))
    assert torch.equal(fitted.model(1).layers[0].weight, again.model(1).layers[0].weight)
    own = fit(tmp_path / "b", Dropped)
    with pytest.raises(ValueError, match="pass the function `make_model`"):
        load_ensemble(own.folder)
    assert isinstance(load_ensemble(own.folder, Dropped).model(0), Dropped)
    with pytest.raises(FileNotFoundError, match=r"ensemble\.json is missing"):
        load_ensemble(tmp_path)
    with pytest.raises(ValueError, match="`member` must be between 0 and 1; got 2"):
        own.model(2)


def test_checkpoints_never_run_code(tmp_path):
    fitted = fit(tmp_path)
    trap = tmp_path / "executed"

    class Explosive:
        def __reduce__(self):
            return Path.touch, (trap,)

    torch.save({"epoch": 1, "model": Explosive()}, fitted.checkpoints[0])
    fitted.checkpoints[1].write_bytes(fitted.checkpoints[1].read_bytes()[:5000])
    for member in (0, 1):
        with pytest.raises(ValueError, match=f"member-{member}.pt' cannot be read; delete it to train this member again"):
            fitted.model(member)
    assert not trap.exists()


def test_damaged_folders_get_one_sentence(tmp_path):
    fitted = fit(tmp_path)
    good = torch.load(fitted.checkpoints[0], weights_only=True)
    for state in ([], {"epoch": 1}, {"epoch": "1", "model": {}}, {"epoch": 1, "model": []}):
        torch.save(state, fitted.checkpoints[0])
        with pytest.raises(ValueError, match=r"member-0\.pt' is not a checkpoint"):
            fitted.model(0)
    for state in ({**good, "model": {}}, {**good, "model": {"layers.0.weight": 3}}):
        torch.save(state, fitted.checkpoints[0])
        with pytest.raises(ValueError, match=r"member-0\.pt' cannot be read; delete it"):
            fitted.model(0)
    torch.save(good, fitted.checkpoints[0], _use_new_zipfile_serialization=False)  # takes memory before anything can be checked
    with pytest.raises(ValueError, match=r"member-0\.pt' cannot be read"):
        fitted.model(0)
    torch.save(good, fitted.checkpoints[0])
    with zipfile.ZipFile(fitted.checkpoints[0], "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(300_000_000))
    with pytest.raises(ValueError, match=r"member-0\.pt' cannot be read"):
        fitted.model(0)
    torch.save(good, fitted.checkpoints[0])
    load_ensemble(tmp_path).model(0)
    settings = tmp_path / "ensemble.json"
    stored = json.loads(settings.read_text())
    for content in (
        "[",
        "[]",
        "[" * 10**5,
        *({key: value for key, value in stored.items() if key != lost} for lost in ("network", "n_classes", "inputs", "recipe")),
        {**stored, "inputs": {}},
        {**stored, "inputs": 3},
        {**stored, "recipe": {"nonsense": 1}},
        {**stored, "n_classes": "three"},
        {**stored, "class_names": ["a"]},
        {**stored, "inputs": {**stored["inputs"], "shape": [4 * 10**9]}, "network": "mlp"},
        {**stored, "n_classes": 10**12, "class_names": None},
        {**stored, "n_classes": 10**30, "class_names": None},
    ):
        settings.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(ValueError, match=r"ensemble|member-0\.pt' cannot be read"):
            load_ensemble(tmp_path).model(0)
    settings.write_text(json.dumps(stored))
    fitted._job.metrics(1).write_text("[]\n{")
    with pytest.raises(ValueError, match=r"cannot be read"):
        _ = fitted.metrics


def test_wrong_arguments_leave_no_trace(tmp_path):
    floats = X.astype(float)
    cases = [
        ({"data": (X, Y[:-1])}, ValueError, "one integer label for each of the 200"),
        ({"data": (X, Y.astype(float))}, ValueError, "integer label"),
        ({"data": (X, Y - 1)}, ValueError, "labels from 0"),
        ({"data": (X.astype(int), Y)}, TypeError, "uint8 images"),
        ({"data": (X[:0], Y[:0])}, ValueError, "at least one instance"),
        ({"data": (np.where(floats > 250, np.nan, floats), Y)}, ValueError, "must be finite"),
        ({"data": X}, TypeError, "a Dataset, an Examples or a pair"),
        ({"data": replace(DATA, train=None)}, ValueError, "only the test files were found"),
        ({"data": (floats, Y), "recipe": replace(RECIPE, normalize="train")}, ValueError, "not uint8 images"),
        ({"recipe": replace(RECIPE, normalize=((0.5, 0.5), (1.0, 1.0)))}, ValueError, "each of the 1 channels; got 2 and 2"),
        ({"make_model": "mpl"}, ValueError, "Did you mean 'mlp'"),
        ({"make_model": lambda: 3}, TypeError, r"must return a torch\.nn\.Module; got int"),
        ({"make_model": lambda: nn.Flatten()}, ValueError, r"for 2 classes; got shape \(2, 36\)"),
        ({"n_members": 0}, ValueError, "`n_members` must be a positive integer"),
        ({"epochs": 0}, ValueError, "`epochs` must be a positive integer"),
        ({"rng": -1}, TypeError, "`rng`"),
    ]
    for change, kind, words in cases:
        with pytest.raises(kind, match=words):
            fit(tmp_path / "new", **change)
        assert not (tmp_path / "new").exists(), change
    with pytest.raises(TypeError, match=r"importable function.* or pass n_jobs=1"):
        fit(tmp_path / "other", lambda: Dropped(), n_jobs=2)


def test_a_loss_that_explodes_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"the loss of member 0 is (nan|inf) in epoch 1: lower the learning rate"):
        fit(tmp_path, recipe=replace(RECIPE, optimizer="sgd", rates=((0, 1e30),)))


def test_a_single_instance_is_not_left_alone():
    assert [len(part) for part in _batches(65, 32, None)] == [32, 33]
    assert [len(part) for part in _batches(66, 32, None)] == [32, 32, 2]
    assert [len(part) for part in _batches(1, 32, None)] == [1]
    order = torch.cat(list(_batches(65, 32, torch.Generator().manual_seed(0))))
    assert sorted(order.tolist()) == list(range(65))
    assert order.tolist() != list(range(65))


def test_unshuffled_recipes_see_the_order_of_the_files(tmp_path, monkeypatch):
    orders = []

    def spy(n, size, generator):
        orders.append(generator)
        return _batches(n, size, generator)

    monkeypatch.setattr("labelwise.predictors._member._batches", spy)
    fit(tmp_path / "a", recipe=replace(RECIPE, epochs=1, shuffle=False), n_members=1)
    assert orders == [None]


def test_augmented_images_are_shifted_and_reproducible(tmp_path):
    recipe = replace(RECIPE, augment=True)
    a, b, plain = fit(tmp_path / "a", recipe=recipe), fit(tmp_path / "b", recipe=recipe), fit(tmp_path / "c")
    assert same(weights(a), weights(b))
    assert not same(weights(a), weights(plain))


def test_read_only_and_strided_arrays_are_fine(tmp_path):
    frozen = X.copy()
    frozen.flags.writeable = False
    a, b, c = fit(tmp_path / "a", data=(X, Y)), fit(tmp_path / "b", data=(frozen, Y)), fit(tmp_path / "c", data=(np.asfortranarray(X), Y))
    assert same(weights(a), weights(b))
    assert same(weights(a), weights(c))


def test_tables_of_numbers(tmp_path):
    x = RNG.normal(size=(80, 5))
    fitted = fit(tmp_path, data=(x, (x[:, 0] > 0).astype(int)), recipe="default")
    assert fitted.inputs.shape == (5,)
    assert fitted.recipe.network == "mlp"
    assert fitted.metrics[0][-1]["accuracy"] > 0.95


def test_threads_and_random_state_of_the_caller_are_left_alone(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    before = torch.get_num_threads()
    fit(tmp_path).model(0)
    assert torch.get_num_threads() == before
    assert torch.equal(torch.rand(3), expected)


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


def test_metrics_are_json_lines(tmp_path):
    fit(tmp_path, n_members=1)
    lines = (tmp_path / "member-0.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]


def test_a_script_without_a_main_guard_is_told(tmp_path, monkeypatch):
    # What multiprocessing sets while a worker imports the user's script.
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(RuntimeError, match="under `if __name__ == '__main__':`"):
        fit(tmp_path, n_jobs=2)


def test_lw_datasets_go_straight_in(tmp_path):
    data = lw.datasets.load("digits")
    fitted = fit(tmp_path, data=data, recipe=None, epochs=2, n_members=1)
    assert fitted.class_names == data.class_names
    assert fitted.metrics[0][-1]["accuracy"] > 0.7


def test_a_member_sees_only_its_subset(tmp_path):
    rows = EvenOrOdd(N)
    fitted = fit(tmp_path / "a", subset=rows)
    alone = fit(
        tmp_path / "b",
        data=Dataset("", Examples(X[::2], Y[::2]), DATA.test, DATA.class_names),
        n_members=1,
        recipe=replace(RECIPE, epochs=1),
    )
    first = fit(tmp_path / "c", subset=rows, recipe=replace(RECIPE, epochs=1))
    assert same(weights(first)[:1], weights(alone))  # the first epoch of member 0 is the one on even rows alone
    assert not same(weights(fitted), weights(fit(tmp_path / "d")))
    with pytest.raises(ValueError, match=r"`subset` changed: it was EvenOrOdd\(n=200, turn=0\), now EvenOrOdd\(n=200, turn=1\)"):
        fit(tmp_path / "a", subset=EvenOrOdd(N, 1), resume=True)


@pytest.mark.parametrize("rows", [np.array([0.5]), np.array([[0]]), np.array([], int), np.array([-1]), np.array([N])])
def test_a_wrong_subset_is_refused(tmp_path, rows):
    with pytest.raises(ValueError, match=r"`subset` must give positions of instances, whole numbers from 0 to 199 in one dimension; got"):
        fit(tmp_path / "a", subset=lambda member, epoch: rows)
    assert not (tmp_path / "a").exists()


def test_two_trainings_branch_off_from_one(tmp_path):
    whole = fit(tmp_path / "whole")
    start = fit(tmp_path / "start", recipe=replace(RECIPE, epochs=1))
    before = weights(start)
    on = fit(tmp_path / "on", start=start)
    other = fit(tmp_path / "other", start=start, subset=EvenOrOdd(N))
    assert same(weights(on), weights(whole))
    assert [line["epoch"] for line in on.metrics[1]] == [1, 2, 3]
    assert not same(weights(other), weights(whole))
    assert same(before, weights(start))
    again = fit(tmp_path / "on", start=start, resume=True)
    assert same(weights(again), weights(whole))
    with pytest.raises(ValueError, match="`start` has 2 members and 1 epochs; going on with 3 members up to epoch 3"):
        fit(tmp_path / "x", start=start, n_members=3)
    with pytest.raises(ValueError, match="going on with 2 members up to epoch 1"):
        fit(tmp_path / "x", start=start, recipe=replace(RECIPE, epochs=1))
    with pytest.raises(TypeError, match="`start` must be an ensemble from fit_ensemble or load_ensemble; got PosixPath"):
        fit(tmp_path / "x", start=tmp_path)
    assert not (tmp_path / "x").exists()
