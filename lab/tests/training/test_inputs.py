"""Images that are read from disk while they are trained on, and the epoch that is best for patients
nobody trained on.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from optional_libraries import optional

torch = optional("torch")

from labelwise.io import load_predictions  # noqa: E402
from labelwise_lab.datasets import Dataset, Examples  # noqa: E402
from labelwise_lab.training import Recipe, fit_ensemble, load_ensemble, predict_ensemble  # noqa: E402
from labelwise_lab.training._member import Job, train_member  # noqa: E402
from labelwise_lab.training.inputs import Inputs, LazyImages  # noqa: E402
from small_networks import OnDisk  # noqa: E402

RECIPE = Recipe("mlp", epochs=3, batch_size=16, normalize=((0.4,), (0.3,)))


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    x = np.clip(rng.normal(60 + 60 * y[:, None, None], 40, (150, 6, 6)), 0, 255).astype(np.uint8)
    return x, y


def data(images, tmp_path=None):
    x, y = images
    parts = [(x[:100], y[:100]), (x[100:125], y[100:125]), (x[125:], y[125:])]
    if tmp_path is not None:
        parts = [(OnDisk(tmp_path / f"{i}.npy", a), b) for i, (a, b) in enumerate(parts)]
    train, val, test = (Examples(a, b) for a, b in parts)
    return Dataset("own", train, test, ("a", "b", "c"), val)


def test_an_array_is_no_source(images, tmp_path):
    assert isinstance(data(images, tmp_path).train.x, LazyImages)
    assert not isinstance(images[0], LazyImages)


def test_a_source_gives_the_same_weights_as_its_images_in_memory(images, tmp_path):
    fits = [  # in more than one process: test_workers
        fit_ensemble(
            "mlp",
            given,
            n_members=2,
            recipe=RECIPE,
            out_dir=tmp_path / name,
            n_jobs=1,
            progress=False,
        )
        for name, given in (("memory", data(images)), ("disk", data(images, tmp_path)))
    ]
    a, b = (predict_ensemble(fitted, images[0][125:]).probs for fitted in fits)
    np.testing.assert_array_equal(a, b)
    assert [m["val_loss"] for m in fits[0].metrics[0]] == [
        m["val_loss"] for m in fits[1].metrics[0]
    ]
    streamed = predict_ensemble(
        fits[1], data(images, tmp_path).test, out=tmp_path / "p.npz", batch_size=7
    )
    np.testing.assert_allclose(streamed.probs, a, atol=1e-6)
    stored = load_predictions(tmp_path / "p.npz")
    assert stored.images is None  # they are on disk already
    np.testing.assert_array_equal(stored.y_true, images[1][125:])
    assert list((tmp_path / "disk").glob(".*.npy")) == []


def test_another_source_is_not_gone_on_with(images, tmp_path):
    fit_ensemble(
        "mlp", data(images, tmp_path), n_members=1, recipe=RECIPE, out_dir=tmp_path / "o", n_jobs=1
    )
    other = data((255 - images[0], images[1]), tmp_path)
    with pytest.raises(ValueError, match="the training data changed"):
        fit_ensemble(
            "mlp", other, n_members=1, recipe=RECIPE, out_dir=tmp_path / "o", n_jobs=1, resume=True
        )


def test_statistics_of_a_source_must_be_given(images, tmp_path):
    with pytest.raises(ValueError, match="must be given"):
        fit_ensemble(
            "mlp",
            data(images, tmp_path),
            recipe=replace(RECIPE, normalize="train"),
            out_dir=tmp_path / "o",
        )


def test_the_best_epoch_on_validation_is_kept(images, tmp_path):
    """A large learning rate makes later epochs worse, and wrong validation labels make that
    sure.
    """
    x, y = images
    recipe = replace(RECIPE, epochs=6, keep_best=True, rates=((0, 0.02),))
    noisy = data((x, np.where(np.arange(150) >= 100, (y + (np.arange(150) % 2)) % 3, y)))
    fitted = fit_ensemble(
        "mlp", noisy, n_members=2, recipe=recipe, out_dir=tmp_path / "best", n_jobs=1
    )
    last = fit_ensemble(
        "mlp",
        noisy,
        n_members=2,
        recipe=replace(recipe, keep_best=False),
        out_dir=tmp_path / "last",
        n_jobs=1,
    )
    for member in range(2):
        losses = [record["val_loss"] for record in fitted.metrics[member]]
        assert losses == [record["val_loss"] for record in last.metrics[member]]
        best = int(np.argmin(losses))
        assert best < 5  # otherwise this test shows nothing
        with torch.no_grad():
            scores = fitted.model(member)(fitted.inputs(torch.from_numpy(noisy.val.x)))
        loss = torch.nn.functional.cross_entropy(scores.double(), torch.from_numpy(noisy.val.y))
        assert float(loss) == pytest.approx(losses[best], abs=1e-6)
        assert int(torch.load(fitted.checkpoints[member], weights_only=True)["epoch"]) == best + 1
    a, b = (predict_ensemble(f, noisy.test).probs for f in (fitted, last))
    assert np.abs(a - b).max() > 1e-3
    np.testing.assert_array_equal(
        predict_ensemble(load_ensemble(tmp_path / "best"), noisy.test).probs, a
    )


def test_the_best_epoch_survives_an_interruption(images, tmp_path):
    x, y = images
    val = (x[100:125], (y[100:125] + 1) % 3)
    recipe = replace(RECIPE, epochs=5, keep_best=True)
    for name, stops in (("whole", [5]), ("pieces", [2, 3, 5])):
        (tmp_path / name).mkdir()
        job = Job(
            tmp_path / name,
            "mlp",
            3,
            Inputs.fit(x, recipe),
            recipe,
            0,
            "cpu",
            (x[:100], y[:100]),
            val,
        )
        for until in stops:
            train_member(job, 0, lambda *news: None, until=until)
    states = [
        torch.load(tmp_path / name / "member-0.best.pt", weights_only=True)
        for name in ("whole", "pieces")
    ]
    assert states[0]["epoch"] == states[1]["epoch"]
    for key, weight in states[0]["model"].items():
        assert torch.equal(weight, states[1]["model"][key])


def test_the_best_epoch_needs_a_validation_set(images, tmp_path):
    with pytest.raises(ValueError, match="`data` has none"):
        fit_ensemble("mlp", images, recipe=replace(RECIPE, keep_best=True), out_dir=tmp_path / "o")


def test_trainings_of_versions_without_this_choice_go_on(images, tmp_path):
    out = tmp_path / "o"
    fit_ensemble("mlp", images, n_members=1, recipe=RECIPE, out_dir=out, n_jobs=1)
    settings = json.loads((out / "ensemble.json").read_text())
    del settings["recipe"]["keep_best"]
    (out / "ensemble.json").write_text(json.dumps(settings))
    assert (
        fit_ensemble(
            "mlp", images, n_members=2, recipe=RECIPE, out_dir=out, n_jobs=1, resume=True
        ).n_members
        == 2
    )


def test_augmentation_without_padding_only_mirrors(images, tmp_path):
    """Images that are their own mirror images are not changed by it."""
    x, y = images
    symmetric = np.maximum(x, x[:, :, ::-1])
    recipe = replace(RECIPE, epochs=1)
    fits = {
        name: fit_ensemble(
            "mlp", (symmetric, y), n_members=1, recipe=changed, out_dir=tmp_path / name, n_jobs=1
        )
        for name, changed in {
            "plain": recipe,
            "mirrored": replace(recipe, augment=True, padding=0),
            "moved": replace(recipe, augment=True, padding=2),
        }.items()
    }
    plain, mirrored, moved = (predict_ensemble(fitted, symmetric).probs for fitted in fits.values())
    np.testing.assert_array_equal(plain, mirrored)
    assert np.abs(plain - moved).max() > 1e-3
