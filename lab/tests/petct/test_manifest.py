"""The manifest: complete, split without leakage, and checked when it is opened."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from itertools import pairwise

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")

from labelwise_lab.petct import Settings, find_studies, open_prepared, prepare, slice_labels  # noqa: E402
from labelwise_lab.petct.phantom import HELD_BACK, KINDS  # noqa: E402


def test_the_manifest_says_everything(prepared, phantoms):
    m = prepared.manifest
    assert prepared.class_names == ("negative", "lung cancer", "lymphoma", "melanoma")
    assert m["held_back"] == [HELD_BACK]
    assert len(m["studies"]) == 17
    assert m["skipped"] == []
    for entry in m["studies"]:
        path = phantoms / entry["patient"] / entry["study"] / "SUV.nii.gz"
        assert entry["sha256"]["pet"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert len(entry["planes"]) == len(entry["lesion_voxels"]) > 5
        stored = np.load(prepared.folder / "slices" / entry["slices"])
        assert hashlib.sha256(stored.data).hexdigest() == entry["slices_sha256"]
    assert {e["part"] for e in m["studies"] if e["diagnosis"] == HELD_BACK} == {"held back"}


def test_no_patient_in_two_parts_and_statistics_of_the_training_patients_only(prepared):
    parts = {name: prepared.part(name) for name in ("train", "val", "test", "held back")}
    patients = [set(part.patients) for part in parts.values()]
    assert all(patients)
    assert sum(map(len, patients)) == len(set.union(*patients)) == 15
    images = parts["train"][:].astype(float) / 255
    mean, deviation = prepared.statistics
    np.testing.assert_allclose(images.mean(axis=(0, 1, 2)), mean, rtol=1e-12)
    np.testing.assert_allclose(images.std(axis=(0, 1, 2)), deviation, rtol=1e-9)
    everything = np.concatenate([part[:] for part in parts.values()])
    assert abs(everything.mean() / 255 - np.mean(mean)) > 1e-5  # the others would have changed it
    assert (parts["held back"].y == -1).all()


def test_held_back_are_whole_studies_of_that_kind(prepared):
    entries = [entry for entry in prepared.manifest["studies"] if entry["part"] == "held back"]
    held = prepared.part("held back")
    assert len(held.y) == sum(len(entry["planes"]) for entry in entries)
    assert 0 < (held.lesion_voxels > 0).sum() < len(held.y)


def test_rules_for_slices_without_a_lesion_hold_for_held_back_studies_too(copy, tmp_path):
    """And other studies of these patients are in no part."""
    root = copy(15)
    studies, _ = find_studies(root, diagnoses=KINDS)
    first, second = next(pair for pair in pairwise(studies) if pair[0].patient == pair[1].patient)
    table = root / "metadata.csv"
    lines = [
        line.rpartition(",")[0] + ",BONE_METASTASES" if second.study in line else line
        for line in table.read_text().splitlines()
    ]
    table.write_text("\n".join(lines))
    changed = prepare(
        root,
        tmp_path / "out",
        settings=Settings(size=32, step=0),
        hold_back=[HELD_BACK],
        lesion_free="skip",
        test_size=0.3,
        val_size=0.2,
        n_jobs=1,
    )
    held = changed.part("held back")
    assert (held.lesion_voxels > 0).all()
    assert second.name in held.studies
    for part in ("train", "val", "test", "held back"):
        assert first.name not in changed.part(part).studies


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
        with pytest.raises(ValueError, match=r"manifest\.json"):
            open_prepared(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("statistics"), "it has no 'statistics'"),
        (lambda m: m.update(format=1), "it is of another version; run `labelwise-lab"),
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
    images = prepared.part("test")
    everything = images[:]
    assert everything.shape == images.shape
    index = np.random.default_rng(0).permutation(len(images))[:7]
    np.testing.assert_array_equal(images[index], everything[index])
    np.testing.assert_array_equal(images[3], everything[3])
    np.testing.assert_array_equal(images[-2:], everything[-2:])
    assert images[:0].shape == (0, *images.shape[1:])
    again = pickle.loads(pickle.dumps(images))
    np.testing.assert_array_equal(again[index], everything[index])
    assert again.fingerprint == images.fingerprint != prepared.part("train").fingerprint


def test_slices_that_are_cut_short_or_lost(prepared, tmp_path):
    shutil.copytree(prepared.folder, tmp_path / "out")
    part = open_prepared(tmp_path / "out").part("test")
    path, _ = part.places[0]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=f"{path.name}: mmap length"):
        part[0]
    path.unlink()
    with pytest.raises(ValueError, match=f"slices of {part.studies[0]} are missing in"):
        open_prepared(tmp_path / "out").part("test")
