"""Volumes to slices: independent of the orientation, with a complete manifest, split without leakage."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from optional_libraries import optional

nib = optional("nibabel")
zarr = optional("zarr")

from labelwise.petct import Prepared, Settings, find_studies, preparation, prepare, slice_labels, store  # noqa: E402
from labelwise.petct.phantom import HELD_BACK, KINDS, Body, draw_anatomy, place_lesions, write_nifti  # noqa: E402
from labelwise.petct.studies import Skipped, Study  # noqa: E402

SMALL = Settings(size=32, step=0)


def write_study(folder, ct, pet, mask, affine, orientation="RAS"):
    folder.mkdir(parents=True)
    for name, values in (("CTres", ct.astype(np.float32)), ("SUV", pet.astype(np.float32)), ("SEG", mask.astype(np.uint8))):
        write_nifti(folder / f"{name}.nii.gz", values, affine, orientation)
    return Study("p", folder.name, "lymphoma", *(folder / f"{name}.nii.gz" for name in ("CTres", "SUV", "SEG")))


def slices_of(study, out, settings=SMALL):
    (out / "studies").mkdir(parents=True, exist_ok=True)
    record = preparation.prepare_study(study, settings=settings, out=out)
    assert not isinstance(record, Skipped), record
    images, lesions = (np.asarray(zarr.open_array(out / store.GROUP / study.key / name, mode="r")[:]) for name in ("images", "lesions"))
    return images, lesions, record


def anatomy(spacing, shape=(30, 20, 60), origin=None, seed=5):
    rng = np.random.default_rng(seed)
    body, lesions = Body.draw(rng), place_lesions("lymphoma", rng)
    spacing, shape = np.asarray(spacing, dtype=float), np.asarray(shape)
    origin = -(shape - 1) / 2 * spacing if origin is None else np.asarray(origin)
    grid = [(origin[i] + spacing[i] * np.arange(shape[i])).reshape([-1 if i == j else 1 for j in range(3)]) for i in range(3)]
    affine = np.diag([*spacing, 1.0])
    affine[:3, 3] = origin
    return (*draw_anatomy(body, lesions, grid), affine)


@pytest.mark.parametrize("orientation", ["LPS", "LAS", "PIR", "SRP", "AIL", "ILP"])
def test_every_orientation_gives_the_same_slices(tmp_path, orientation):
    volumes = anatomy((16, 15, 16))
    images, lesions, record = slices_of(write_study(tmp_path / "RAS", *volumes), tmp_path / "out")
    others, other_lesions, other = slices_of(write_study(tmp_path / orientation, *volumes, orientation), tmp_path / "out")
    np.testing.assert_array_equal(images, others)
    np.testing.assert_array_equal(lesions, other_lesions)
    assert other["orientation"] == orientation
    assert record["planes"] == other["planes"]
    assert images[..., 0].max() > 60
    assert lesions.any()


def test_other_voxels_of_the_same_anatomy_give_the_same_slices_to_interpolation_error(tmp_path):
    """The same body in the same field of view, with voxels of 10 × 15 × 8 mm instead of 16 × 15 × 16."""
    a, _, record = slices_of(write_study(tmp_path / "a", *anatomy((16, 15, 16), (30, 20, 60))), tmp_path / "out")
    b, _, other = slices_of(write_study(tmp_path / "b", *anatomy((10, 15, 8), (48, 20, 120)), "PIR"), tmp_path / "out")
    assert record["planes"] == other["planes"]
    for channel in range(3):
        difference = np.abs(a[..., channel].astype(int) - b[..., channel].astype(int))
        assert difference.mean() < 4
        assert np.corrcoef(a[..., channel].ravel(), b[..., channel].ravel())[0, 1] > 0.97


def test_the_outline_lies_on_the_lesion(tmp_path):
    """Lesions are the hottest things in this body, and the mask of each slice marks just those pixels."""
    shape, spacing = (40, 24, 80), (12.0, 12.0, 12.0)
    ct, pet, mask, affine = anatomy(spacing, shape)
    pet = np.where(mask, 15.0, np.minimum(pet, 1.0))
    for orientation in ("RAS", "SRP"):
        images, lesions, record = slices_of(
            write_study(tmp_path / orientation, ct, pet, mask, affine, orientation), tmp_path / "out", Settings(size=80, step=0)
        )
        crossing = np.array(record["lesion_voxels"]) > 0
        assert crossing.sum() > 5
        assert lesions[crossing].any(axis=(1, 2)).all()
        assert not lesions[~crossing].any()
        hot = images[..., 0] > 255 * 8 / 20
        assert (hot & lesions).sum() / (hot | lesions).sum() > 0.9


def test_a_lesion_smaller_than_a_pixel_is_outlined_too(tmp_path):
    ct, pet, mask, affine = anatomy((8, 16, 8), (60, 20, 100))
    pet[:], mask[:] = 0.0, False
    pet[20, 9, 30], mask[20, 9, 30] = 18.0, True
    images, lesions, record = slices_of(write_study(tmp_path / "s", ct, pet, mask, affine), tmp_path / "out", Settings(size=20, step=0))
    (i,) = np.flatnonzero(record["lesion_voxels"])
    assert 1 <= lesions[i].sum() <= 4
    assert lesions[i].flat[images[i, ..., 0].argmax()]
    assert not np.delete(lesions, i, axis=0).any()


def test_channels_mean_what_is_documented(tmp_path):
    ct, pet, mask, affine = anatomy((16, 16, 16))
    ct[:], pet[:] = -1000.0, 0.0
    ct[10:20, :, 20:40] = 39.6
    pet[10:20, :, 20:40] = 5.0
    images, _, _ = slices_of(
        write_study(tmp_path / "s", ct, pet, mask, affine), tmp_path / "out", Settings(size=60, step=0, window=(-100, 100), suv_max=10)
    )
    middle = images[0, 30, 30]
    np.testing.assert_array_equal(middle, [128, 178, 153])  # 5/10, 140/200, their mean
    np.testing.assert_array_equal(images[0, 0, 0], 0)


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
        stored = zarr.open_array(prepared.folder / store.GROUP / entry["key"] / "images", mode="r")
        assert hashlib.sha256(np.asarray(stored[:]).data).hexdigest() == entry["slices_sha256"]
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
    entries[0]["diagnosis"] = "lymphoma"  # of a patient who also has the kind that is held back: neither known nor unknown
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


def test_the_source_reads_what_is_stored(prepared):
    images = prepared.part("test").images
    everything = images[:]
    assert everything.shape == images.shape
    assert images.nbytes == everything.nbytes
    index = np.random.default_rng(0).permutation(len(images))[:7]
    np.testing.assert_array_equal(images[index], everything[index])
    np.testing.assert_array_equal(images[3], everything[3])
    np.testing.assert_array_equal(images[-2:], everything[-2:])
    again = pickle.loads(pickle.dumps(images))
    np.testing.assert_array_equal(again[index], everything[index])
    assert again.fingerprint == images.fingerprint != prepared.part("train").images.fingerprint


def test_contradictions_and_copies_are_skipped(copy, tmp_path):
    root = copy(15)
    studies, _ = find_studies(root, diagnoses=KINDS)
    negative = next(s for s in studies if s.diagnosis == "negative")
    ill = [s for s in studies if s.diagnosis == "lymphoma"]
    seg = nib.load(negative.seg)
    marked = np.zeros(seg.shape, np.uint8)
    marked[2, 3, 4] = 1
    nib.save(nib.Nifti1Image(marked, seg.affine), negative.seg)
    for name in ("ct", "pet", "seg"):
        shutil.copy(getattr(ill[0], name), getattr(ill[1], name))
    result = prepare(root, tmp_path / "out", settings=SMALL, diagnoses=KINDS, test_size=0.2, val_size=0.0, n_jobs=1)
    skipped = {f"{s['patient']}/{s['study']}": s["why"] for s in result.manifest["skipped"]}
    assert skipped == {
        negative.name: "its diagnosis is negative, but the segmentation marks 1 voxels as lesion",
        ill[1].name: f"its SUV.nii.gz is the same file as that of {ill[0].name}",
    }


def test_without_segmentations_slices_can_have_the_studys_diagnosis(copy, tmp_path):
    root = copy(15)
    for path in root.rglob("SEG.nii.gz"):
        path.unlink()
    result = prepare(root, tmp_path / "out", settings=SMALL, diagnoses=KINDS, lesion_free="study", test_size=0.2, val_size=0.0, n_jobs=1)
    assert len(result.manifest["studies"]) == 17
    train = result.part("train")
    assert all(result.class_names[y] == train.diagnoses[name] for y, name in zip(train.y, train.studies, strict=True))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 4}, "`size` must be 8 to 4096"),
        ({"window": (5, 5)}, "`window` must be two numbers"),
        ({"suv_max": 0}, "`suv_max` must be positive"),
        ({"planes": "some"}, "`planes` must be one of"),
        ({"step": -1}, "`step` must be 0 or more"),
    ],
)
def test_settings_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        replace(SMALL, **options)


def test_nothing_to_use(copy, tmp_path):
    root = copy(2)
    with pytest.raises(ValueError, match=r"no study can be used; the first problem: PETCT_.*: its diagnosis .* is not one of"):
        prepare(root, tmp_path / "out", diagnoses=["sarcoma"], n_jobs=1)
    with pytest.raises(ValueError, match=r"no training patient has the diagnosis|cannot be called negative"):
        prepare(root, tmp_path / "out", settings=SMALL, diagnoses=KINDS, test_size=0.6, val_size=0.3, n_jobs=1)
    with pytest.raises(ValueError, match="`lesion_free` must be one of"):
        prepare(root, tmp_path / "out", lesion_free="maybe")
