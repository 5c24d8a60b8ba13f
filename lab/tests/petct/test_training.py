"""From prepared slices to predictions of slices and studies."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
optional("torch")

from labelwise.io import load_predictions  # noqa: E402
from labelwise_lab.petct import aggregate, open_prepared, train  # noqa: E402
from labelwise_lab.training import find_recipe, load_ensemble  # noqa: E402

OPTIONS = {"network": "mlp", "n_members": 2, "epochs": 3, "n_jobs": 1}


def test_predictions_of_slices_and_studies(slices, trained):
    prepared = open_prepared(slices)
    test, held = prepared.part("test"), prepared.part("held back")
    stored, studies = (
        load_predictions(trained / "slices.npz"),
        load_predictions(trained / "studies.npz"),
    )
    assert stored.probs.shape == (2, len(test.y), 4)
    assert stored.class_names == prepared.class_names
    np.testing.assert_array_equal(stored.y_true, test.y)
    np.testing.assert_array_equal(stored.ids, test.ids)
    names, expected = aggregate(stored.probs, test.studies)
    np.testing.assert_array_equal(studies.ids, names)
    np.testing.assert_allclose(studies.probs, expected, atol=1e-6)
    assert [prepared.class_names[y] for y in studies.y_true] == [
        test.diagnoses[name] for name in names
    ]
    other = load_predictions(trained / "held-back-slices.npz")
    np.testing.assert_array_equal(other.ids, held.ids)
    assert other.y_true is None
    assert load_predictions(trained / "held-back-studies.npz").probs.shape[1] == len(
        set(held.studies)
    )


def test_patients_are_groups_and_slices_have_pictures(slices, trained):
    """Slices and studies of one patient are not independent."""
    prepared = open_prepared(slices)
    for prefix, part in (("", prepared.part("test")), ("held-back-", prepared.part("held back"))):
        stored = load_predictions(trained / f"{prefix}slices.npz")
        np.testing.assert_array_equal(stored.groups, part.patients)
        assert stored.images.shape == (len(part.y), 32, 32)
        studies = load_predictions(trained / f"{prefix}studies.npz")
        assert list(studies.groups) == [name.partition("/")[0] for name in studies.ids]
        suspicion = 1 - stored.probs.mean(axis=0)[:, 0]
        for name, image in zip(studies.ids, studies.images, strict=True):
            own = np.flatnonzero(part.studies == name)
            shown = own[np.argmax(suspicion[own])]
            np.testing.assert_array_equal(image, stored.images[shown])


def test_normalized_by_the_training_patients_and_the_epoch_chosen_on_validation(slices, trained):
    fitted = load_ensemble(trained / "training")
    prepared = open_prepared(slices)
    assert fitted.inputs.statistics == prepared.statistics
    assert fitted.recipe.keep_best
    assert all("val_loss" in record for record in fitted.metrics[0])
    assert [path.name for path in fitted.checkpoints] == ["member-0.best.pt", "member-1.best.pt"]


def test_test_patients_change_nothing_in_the_training(slices, trained, tmp_path):
    """What is learned must not depend on the test patients: a lie about their labels goes
    unnoticed.
    """
    shutil.copytree(slices, tmp_path / "slices")
    manifest = json.loads((tmp_path / "slices" / "manifest.json").read_text())
    for entry in manifest["studies"]:
        if entry["part"] == "test":
            entry["diagnosis"] = "melanoma"
            entry["labels"] = [3 for _ in entry["labels"]]
    (tmp_path / "slices" / "manifest.json").write_text(json.dumps(manifest))
    train(tmp_path / "slices", tmp_path / "out", **OPTIONS)
    a, b = (
        load_predictions(trained / "slices.npz"),
        load_predictions(tmp_path / "out" / "slices.npz"),
    )
    np.testing.assert_array_equal(a.probs, b.probs)
    assert not np.array_equal(a.y_true, b.y_true)


def test_the_papers_recipe_and_the_codes():
    for name in ("paper", "code"):
        recipe = find_recipe("petct", name)
        assert (
            recipe.network,
            recipe.epochs,
            recipe.batch_size,
            recipe.optimizer,
            recipe.rate(0),
        ) == ("resnet50", 40, 50, "adam", 1e-3)
    assert find_recipe("petct", "paper").normalize == "train"
    assert find_recipe("petct", "code").rate(7) == pytest.approx(1e-4)


def test_a_training_is_not_overwritten(slices, trained):
    with pytest.raises(ValueError, match="already holds a training"):
        train(slices, trained, **OPTIONS)
    before = (trained / "slices.npz").read_bytes()
    train(slices, trained, **OPTIONS, resume=True)
    assert (trained / "slices.npz").read_bytes() == before
