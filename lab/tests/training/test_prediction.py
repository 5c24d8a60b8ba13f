"""Predictions of an ensemble: the members' softmax, in batches, with the preprocessing of the
training.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
import torch

import labelwise as lw
from labelwise.io import load_predictions
from labelwise_lab.datasets import Dataset, Examples
from labelwise_lab.training import FittedEnsemble, Recipe, fit_ensemble, predict_ensemble

RNG = np.random.default_rng(1)
X = RNG.integers(0, 256, (90, 6, 6, 3), dtype=np.uint8)
Y = RNG.integers(0, 3, 90)
DATA = Dataset("noise", Examples(X, Y), Examples(X[:40], Y[:40]), ("a", "b", "c"))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> FittedEnsemble:
    recipe = Recipe("mlp", epochs=2, batch_size=30, normalize="train")
    return fit_ensemble(
        "mlp", DATA, n_members=3, recipe=recipe, out_dir=tmp_path_factory.mktemp("noise"), n_jobs=1
    )


def by_hand(fitted: FittedEnsemble, x: np.ndarray) -> np.ndarray:
    pixels = x / 255
    inputs = (pixels - (X / 255).mean((0, 1, 2))) / (X / 255).std((0, 1, 2))
    tensor = torch.from_numpy(inputs.transpose(0, 3, 1, 2).astype(np.float32))
    with torch.no_grad():
        return np.stack([torch.softmax(fitted.model(m)(tensor), -1).numpy() for m in range(3)])


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_probabilities_are_the_members_softmax(fitted, batch_size):
    q = predict_ensemble(fitted, X, batch_size=batch_size)
    assert isinstance(q, lw.Ensemble)
    assert q.class_names == ("a", "b", "c")
    np.testing.assert_allclose(q.probs, by_hand(fitted, X), atol=1e-5)
    assert lw.decompose(q).total.shape == (90, 3)


def test_a_prediction_file_holds_labels_names_and_images(fitted, tmp_path):
    q = predict_ensemble(fitted, DATA.test, out=tmp_path / "p.npz")
    p = load_predictions(tmp_path / "p.npz")
    np.testing.assert_array_equal(p.probs, predict_ensemble(fitted, X[:40]).probs)
    np.testing.assert_array_equal(q.probs, p.probs)
    np.testing.assert_array_equal(p.y_true, Y[:40])
    np.testing.assert_array_equal(p.images, X[:40])
    assert p.class_names == q.class_names == ("a", "b", "c")
    predict_ensemble(fitted, DATA.test, out=tmp_path / "p.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), p.probs)
    assert sorted(os.listdir(tmp_path)) == ["p.npy", "p.npz"]


def test_one_batch_at_a_time_is_read_from_a_map(fitted, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    sizes = []
    apply = type(fitted.inputs).__call__
    monkeypatch.setattr(
        type(fitted.inputs),
        "__call__",
        lambda self, part: (sizes.append(len(part)), apply(self, part))[1],
    )
    predict_ensemble(fitted, x, batch_size=32, out=tmp_path / "p.npz")
    assert sizes == [32, 32, 26] * 3
    assert load_predictions(tmp_path / "p.npz").images is None


def test_a_failure_leaves_nothing_behind(fitted, tmp_path, monkeypatch):
    old = tmp_path / "p.npz"
    predict_ensemble(fitted, DATA.test, out=old)
    before = old.read_bytes()
    monkeypatch.setattr(
        FittedEnsemble, "model", lambda self, member: (_ for _ in ()).throw(MemoryError("short"))
    )
    for name in ("p.npz", "p.npy"):
        with pytest.raises(MemoryError):
            predict_ensemble(fitted, DATA.test, out=tmp_path / name)
    assert os.listdir(tmp_path) == ["p.npz"]
    assert old.read_bytes() == before


def test_wrong_inputs(fitted, tmp_path):
    with pytest.raises(
        ValueError,
        match=(
            r"like the training set, uint8 images .* \(3, 6, 6\); got uint8 images that give \(1, "
            r"6, 6\)"
        ),
    ):
        predict_ensemble(fitted, X[..., 0])
    with pytest.raises(ValueError, match="got numbers"):
        predict_ensemble(fitted, X / 255)
    with pytest.raises(ValueError, match=r"must end in \.npz or \.npy"):
        predict_ensemble(fitted, X, out=tmp_path / "p.csv")
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer"):
        predict_ensemble(fitted, X, batch_size=0)
    x = RNG.normal(size=(20, 4))
    table = fit_ensemble(
        "mlp",
        (x, Y[:20]),
        n_members=1,
        recipe=Recipe("mlp", 1, 10),
        out_dir=tmp_path / "t",
        n_jobs=1,
    )
    x[3] = np.nan
    with pytest.raises(ValueError, match=r"scores that are not finite, in rows 0 to 19 .* missing"):
        predict_ensemble(table, x)
    assert predict_ensemble(replace(table, n_members=1), x[4:]).probs.shape == (1, 16, 3)


def test_classes_that_are_numbers_are_written_as_such(fitted, tmp_path):
    numbered = replace(fitted, class_names=("3", "5", "8"))
    predict_ensemble(numbered, DATA.test, out=tmp_path / "p.npz")
    stored = load_predictions(tmp_path / "p.npz")
    np.testing.assert_array_equal(stored.y_true, np.array([3, 5, 8])[DATA.test.y])
    np.testing.assert_array_equal(stored.true_class, DATA.test.y)
