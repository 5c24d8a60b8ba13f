"""Stored predictions and numbers."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation import Estimate
from labelwise.paper import results_folder
from labelwise.paper.results_folder import Options, over_runs, plain, predictions, read_predictions, write_predictions
from labelwise.paper.settings import Setting, TestImages

ROOT = Path(__file__).parents[2]


def test_stored_predictions_are_small_and_close(tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(10, 0.02), (5, 2000)).astype(np.float32)
    probs[0, 0] = np.eye(10)[3]
    y = rng.integers(0, 10, 2000)
    for name in ("a.npz", "b.npz"):
        write_predictions(tmp_path / name, probs, y, list("abcdefghij"))
    stored = read_predictions(tmp_path / "a.npz")
    assert stored.probs.dtype == np.float32
    np.testing.assert_allclose(stored.probs.sum(-1, dtype=float), 1, atol=1e-6)
    np.testing.assert_allclose(stored.probs, probs, atol=3e-4)
    small = (probs > 1.3e-7) & (probs < 3e-4)
    np.testing.assert_allclose(stored.probs[small], probs[small], rtol=0.037)  # half of 1/16, and float16
    np.testing.assert_array_equal(stored.probs[0, 0], probs[0, 0])  # 0 and 1 stay what they are
    np.testing.assert_array_equal(stored.y_true, y)
    assert stored.class_names == tuple("abcdefghij")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert (tmp_path / "a.npz").stat().st_size < probs.nbytes / 3
    with np.load(tmp_path / "a.npz") as plain_numpy:  # an auditor needs nothing but NumPy
        assert (plain_numpy["log_probs"].dtype, plain_numpy["log_probs"].shape) == (np.float16, probs.shape)
    np.testing.assert_array_equal(read_predictions(tmp_path / "a.npz", 2).probs, stored.probs[:2])


def test_rounding_moves_no_auroc_in_its_fourth_digit(tmp_path):
    stored = [ROOT / "results" / "fashion-mnist-paper" / "run-0" / f"{name}.npz" for name in ("fashion-mnist", "mnist")]
    exact = [np.asarray(read_predictions(path, redraw=0).probs) for path in stored]  # the unrounded ones are not kept
    rounded = []
    for i, probs in enumerate(exact):
        write_predictions(tmp_path / f"{i}.npz", probs, None, list("abcdefghij"))
        rounded.append(read_predictions(tmp_path / f"{i}.npz").probs)
    a, b = (
        float(lw.evaluation.detection_scores(*(lw.decompose(lw.Ensemble(p)).sum().epistemic for p in pair)).auroc)
        for pair in (exact, rounded)
    )
    assert a != b
    assert a == pytest.approx(b, abs=5e-5)


def test_redrawn_predictions_round_to_the_stored_ones(tmp_path):
    probs = np.random.default_rng(0).dirichlet(np.full(10, 0.1), (2, 300))
    write_predictions(tmp_path / "a.npz", probs, None, list("abcdefghij"))
    stored, redrawn = (np.log(read_predictions(tmp_path / "a.npz", redraw=seed).probs) for seed in (None, 1))
    assert not np.array_equal(stored, redrawn)
    fine, coarse = stored > -7.9, (stored < -8.1) & (stored > -15.9)
    np.testing.assert_allclose(redrawn[fine], stored[fine], atol=4e-3)
    assert 0.02 < np.abs(redrawn[coarse] - stored[coarse]).max() < 0.04  # half of a step of 1/16
    images, setting = TestImages("digits"), Setting("digits", members=2)
    path = Options(tmp_path).path(setting, 0, images)
    path.parent.mkdir(parents=True)
    (tmp_path / "a.npz").rename(path)
    assert 0 < results_folder.effect_of_rounding(setting, [images], Options(tmp_path), lambda p: {"mean": p.probs[0, :, 0].mean()}) < 1e-4


def test_a_file_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "p.npz", probs=np.ones((1, 2, 3)))
    with pytest.raises(ValueError, match=r"p\.npz must hold `log_probs` and `class_names`; it holds neither"):
        read_predictions(tmp_path / "p.npz")


def test_the_results_folder_fits_a_checkout():
    assert sum(path.stat().st_size for path in (ROOT / "results").rglob("*") if "training" not in path.parts) < 18e6


def test_fewer_members_are_the_first_of_five(tmp_path):
    five = Setting("digits", epochs=1)
    three, images = replace(five, members=3), TestImages("digits")
    trained = predictions(three, 0, [images], Options(tmp_path / "a", n_jobs=1))[images]
    all_five = predictions(five, 0, [images], Options(tmp_path / "b", n_jobs=1))[images]
    derived = predictions(three, 0, [images], Options(tmp_path / "b", say=pytest.fail))[images]  # nothing is trained
    np.testing.assert_array_equal(derived.probs, all_five.probs[:3])
    np.testing.assert_array_equal(derived.probs, trained.probs)


def test_a_run_is_resumed_from_the_predictions_of_finished_members(tmp_path):
    setting, images, said = Setting("digits", members=3, epochs=1), TestImages("digits"), []
    whole = predictions(setting, 0, [images], Options(tmp_path / "a", n_jobs=1))
    folder = tmp_path / "b" / setting.name / "run-0"

    def stop(text: str) -> None:  # the machine is gone when two members are trained and one of them is predicted
        if "member 1" in text and "predicting" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predictions(setting, 0, [images], Options(tmp_path / "b", n_jobs=1, say=stop))
    names = {path.name for path in (folder / "members").iterdir()}
    assert names == {"digits-0.npz", "fashion-8x8-0.npz", "shuffled-digits-0.npz"}
    assert not list(folder.glob("*.npz"))  # nothing that could be taken for all members
    shutil.rmtree(folder / "training")
    parts = predictions(setting, 0, [images], Options(tmp_path / "b", n_jobs=2, say=said.append))
    assert said[0].endswith("members 1, 2 of 3 × mlp, 1 epochs")
    np.testing.assert_array_equal(parts[images].probs, whole[images].probs)
    assert sorted(path.name for path in folder.iterdir()) == ["digits.npz", "fashion-8x8.npz", "shuffled-digits.npz", "training"]
    longer = predictions(replace(setting, epochs=2), 0, [images], Options(tmp_path / "b", n_jobs=2, say=said.append))
    assert any(line.endswith("3 × mlp, 2 epochs") for line in said)  # not from epoch 1: member 0 was trained elsewhere
    assert longer[images].probs.shape == whole[images].probs.shape
    (folder / "members").mkdir()
    (folder / "members" / "digits-1.npz").touch()  # as an interruption may leave it
    predictions(setting, 0, [images], Options(tmp_path / "b", say=pytest.fail))
    assert not (folder / "members").exists()
    one, other = ((tmp_path / each / setting.name / "run-0" / "digits.npz").read_bytes() for each in "ab")
    assert one == other


def test_a_longer_training_continues_a_shorter_one(tmp_path):
    images, said = TestImages("digits"), []
    whole = predictions(Setting("digits", members=2, epochs=3), 0, [images], Options(tmp_path / "a", n_jobs=1))[images]
    for epochs in (1, 3):
        options = Options(tmp_path / "b", n_jobs=1, say=said.append)
        parts = predictions(Setting("digits", members=2, epochs=epochs), 0, [images], options)[images]
    assert any(line.endswith("3 epochs, from epoch 1") for line in said)
    np.testing.assert_array_equal(parts.probs, whole.probs)


def test_numbers_over_runs():
    found = over_runs([{"a": {("x", "y"): 1.0}, "b": 2.0}, {"a": {("x", "y"): 3.0}, "b": 2.0}])
    assert found["a"]["x", "y"]["mean"] == 2
    assert found["a"]["x", "y"]["sd"] == pytest.approx(np.sqrt(2))
    assert found["b"]["runs"] == [2.0, 2.0]
    assert over_runs([0.5]) == {"mean": 0.5, "sd": None, "low": None, "high": None, "runs": [0.5]}


def test_plain_data():
    value = {("a", 1): np.float32(0.1), "b": Estimate(0.5), "c": np.arange(2), "d": (np.bool_(True), None), "e": Setting("digits")}
    assert plain(value) == {
        "a | 1": 0.100000001,
        "b": {"value": 0.5, "low": None, "high": None},
        "c": [0, 1],
        "d": [True, None],
        "e": {"data": "digits", "protocol": "paper", "members": 5, "epochs": None, "changes": []},
    }


def test_statistics_of_unscaled_inputs(optional):
    from labelwise.predictors.inputs import Inputs

    torch = optional("torch")
    inputs = Inputs((3, 4, 4), True, ((0.4, 0.5, 0.6), (0.2, 0.3, 0.1)))
    x = torch.randint(0, 256, (2, 4, 4, 3), dtype=torch.uint8)
    mean, sd = (torch.tensor(s)[:, None, None] for s in inputs.statistics)
    expected = (x.permute(0, 3, 1, 2).float() - mean) / sd
    torch.testing.assert_close(results_folder._unscaled(inputs)(x), expected, rtol=1e-4, atol=1e-3)
