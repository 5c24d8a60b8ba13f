"""The manifest: complete, split without leakage, and checked when it is opened."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from copy import deepcopy

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")

from labelwise_lab.petct import Prepared, open_prepared, slice_labels  # noqa: E402
from labelwise_lab.petct.phantom import HELD_BACK  # noqa: E402


def test_the_manifest_says_everything(prepared, phantoms):
    m = prepared.manifest
    assert prepared.class_names == ("negative", "lung cancer", "lymphoma", "melanoma")
    assert m["held_back"] == [HELD_BACK]
    assert len(m["studies"]) == 17
    assert m["skipped"] == []
    for entry in m["studies"]:
        path = phantoms / entry["patient"] / entry["study"] / "SUV.nii.gz"
        assert entry["files"]["pet"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert len(entry["planes"]) == len(entry["lesion_voxels"]) > 5
        stored = np.load(prepared.folder / "slices" / f"{entry['key']}.npy")
        assert hashlib.sha256(stored.data).hexdigest() == entry["slices_sha256"]
    assert {e["part"] for e in m["studies"] if e["diagnosis"] == HELD_BACK} == {"held back"}


def test_no_patient_in_two_parts_and_statistics_of_the_training_patients_only(prepared):
    parts = {name: prepared.part(name) for name in ("train", "val", "test", "held back")}
    patients = [set(part.patients) for part in parts.values()]
    assert all(patients)
    assert sum(map(len, patients)) == len(set.union(*patients)) == 15
    images = parts["train"].images[:].astype(float) / 255
    mean, deviation = prepared.statistics
    np.testing.assert_allclose(images.mean(axis=(0, 1, 2)), mean, rtol=1e-12)
    np.testing.assert_allclose(images.std(axis=(0, 1, 2)), deviation, rtol=1e-9)
    everything = np.concatenate([part.images[:] for part in parts.values()])
    assert abs(everything.mean() / 255 - np.mean(mean)) > 1e-5  # the others would have changed it
    assert (parts["held back"].y == -1).all()


def test_held_back_are_whole_studies_of_that_kind(prepared):
    """Treated as the known ones are: the rule for slices without a lesion holds for them too."""
    manifest = deepcopy(prepared.manifest)
    entries = [entry for entry in manifest["studies"] if entry["part"] == "held back"]
    held = prepared.part("held back")
    assert len(held.y) == sum(len(entry["planes"]) for entry in entries)
    assert 0 < (held.lesion_voxels > 0).sum() < len(held.y)
    manifest["lesion_free"] = "skip"
    skipped = Prepared(prepared.folder, manifest).part("held back")
    np.testing.assert_array_equal(skipped.ids, held.ids[held.lesion_voxels > 0])
    entries[0]["diagnosis"] = (
        # of a patient who also has the kind that is held back: neither known nor unknown
        "lymphoma"
    )
    name = f"{entries[0]['patient']}/{entries[0]['study']}"
    assert name in held.studies
    assert name not in Prepared(prepared.folder, manifest).part("held back").studies


def test_labels_of_slices(prepared):
    train = prepared.part("train")
    for y, voxels, name in zip(train.y, train.lesion_voxels, train.studies, strict=True):
        assert prepared.class_names[y] == (train.diagnoses[name] if voxels else "negative")
    classes = ("negative", "lung cancer", "lymphoma")
    assert slice_labels("lymphoma", [0, 3], classes, "negative").tolist() == [0, 2]
    assert slice_labels("lymphoma", [0, 3], classes, "study").tolist() == [2, 2]
    assert slice_labels("lymphoma", [0, 3], classes, "skip").tolist() == [-1, 2]
    assert slice_labels("negative", [0, 0], classes, "skip").tolist() == [0, 0]
    assert slice_labels("sarcoma", [0, 3], classes, "negative").tolist() == [-1, -1]


def test_folders_that_are_no_preparation(tmp_path):
    with pytest.raises(FileNotFoundError, match="run `labelwise-lab petct prepare` first"):
        open_prepared(tmp_path)
    for text in ("{", "[]", '{"format": 1}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(ValueError, match="cannot be used"):
            open_prepared(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("statistics"), "it has no 'statistics'"),
        (lambda m: m["statistics"].pop("mean"), "it has no 'mean'"),
        (lambda m: m.update(settings={}), "it has no 'size'"),
        (lambda m: m.update(format=1), "run `labelwise-lab petct prepare` again"),
    ],
)
def test_a_damaged_manifest_gets_one_sentence(prepared, tmp_path, change, words):
    content = json.loads(json.dumps(prepared.manifest))
    change(content)
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=words) as caught:
        open_prepared(tmp_path)
    assert "manifest.json' cannot be used" in str(caught.value)


def test_slices_are_read_when_they_are_asked_for(prepared):
    images = prepared.part("test").images
    everything = images[:]
    assert everything.shape == images.shape
    index = np.random.default_rng(0).permutation(len(images))[:7]
    np.testing.assert_array_equal(images[index], everything[index])
    np.testing.assert_array_equal(images[3], everything[3])
    np.testing.assert_array_equal(images[-2:], everything[-2:])
    assert images[:0].shape == (0, *images.shape[1:])
    again = pickle.loads(pickle.dumps(images))
    np.testing.assert_array_equal(again[index], everything[index])
    assert again.fingerprint == images.fingerprint != prepared.part("train").images.fingerprint


def test_slices_that_are_cut_short_or_lost(prepared, tmp_path):
    shutil.copytree(prepared.folder, tmp_path / "out")
    part = open_prepared(tmp_path / "out").part("test")
    path, _ = part.images.places[0]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"cannot be read .*; remove it, and run `labelwise-lab"):
        part.images[0]
    path.unlink()
    with pytest.raises(ValueError, match=f"slices of {part.studies[0]} are missing in"):
        open_prepared(tmp_path / "out").part("test")
