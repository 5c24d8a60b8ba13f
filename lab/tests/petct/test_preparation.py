"""Volumes to slices: independent of the orientation, with contradictions and copies left out."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from optional_libraries import optional

nib = optional("nibabel")

from labelwise_lab.petct import Settings, find_studies, preparation, prepare  # noqa: E402
from labelwise_lab.petct.phantom import KINDS, Body, draw_anatomy, place_lesions, write_nifti  # noqa: E402
from labelwise_lab.petct.studies import Study  # noqa: E402

SMALL = Settings(size=32, step=0)


def write_study(folder, ct, pet, mask, affine, orientation="RAS"):
    folder.mkdir(parents=True)
    for name, values in (
        ("CTres", ct.astype(np.float32)),
        ("SUV", pet.astype(np.float32)),
        ("SEG", mask.astype(np.uint8)),
    ):
        write_nifti(folder / f"{name}.nii.gz", values, affine, orientation)
    return Study(
        "p",
        folder.name,
        "lymphoma",
        *(folder / f"{name}.nii.gz" for name in ("CTres", "SUV", "SEG")),
    )


def slices_of(study, out, settings=SMALL):
    (out / "slices").mkdir(parents=True, exist_ok=True)
    record = preparation.prepare_study(study, settings=settings, folder=out / "slices")
    assert isinstance(record, dict), record
    stored = np.load(out / "slices" / record["slices"])
    return stored[..., :3], stored[..., 3] > 0, record


def anatomy(spacing, shape=(30, 20, 60), origin=None, seed=5):
    rng = np.random.default_rng(seed)
    body, lesions = Body.draw(rng), place_lesions("lymphoma", rng)
    spacing, shape = np.asarray(spacing, dtype=float), np.asarray(shape)
    origin = -(shape - 1) / 2 * spacing if origin is None else np.asarray(origin)
    grid = [
        (origin[i] + spacing[i] * np.arange(shape[i])).reshape(
            [-1 if i == j else 1 for j in range(3)]
        )
        for i in range(3)
    ]
    affine = np.diag([*spacing, 1.0])
    affine[:3, 3] = origin
    return (*draw_anatomy(body, lesions, grid), affine)


@pytest.mark.parametrize("orientation", ["LPS", "LAS", "PIR", "SRP", "AIL", "ILP"])
def test_every_orientation_gives_the_same_slices(tmp_path, orientation):
    volumes = anatomy((16, 15, 16))
    images, lesions, record = slices_of(write_study(tmp_path / "RAS", *volumes), tmp_path / "out")
    others, other_lesions, other = slices_of(
        write_study(tmp_path / orientation, *volumes, orientation), tmp_path / "out"
    )
    np.testing.assert_array_equal(images, others)
    np.testing.assert_array_equal(lesions, other_lesions)
    assert record["planes"] == other["planes"]
    assert images[..., 0].max() > 60
    assert lesions.any()


def test_other_voxels_of_the_same_anatomy_give_the_same_slices_to_interpolation_error(tmp_path):
    """The same body in the same field of view, with voxels of 10 × 15 × 8 mm instead of 16 × 15 ×
    16.
    """
    a, _, record = slices_of(
        write_study(tmp_path / "a", *anatomy((16, 15, 16), (30, 20, 60))), tmp_path / "out"
    )
    b, _, other = slices_of(
        write_study(tmp_path / "b", *anatomy((10, 15, 8), (48, 20, 120)), "PIR"), tmp_path / "out"
    )
    assert record["planes"] == other["planes"]
    for channel in range(3):
        difference = np.abs(a[..., channel].astype(int) - b[..., channel].astype(int))
        assert difference.mean() < 4
        assert np.corrcoef(a[..., channel].ravel(), b[..., channel].ravel())[0, 1] > 0.97


def test_the_outline_lies_on_the_lesion(tmp_path):
    """Lesions are the hottest things in this body, and the mask of each slice marks just those
    pixels.
    """
    shape, spacing = (40, 24, 80), (12.0, 12.0, 12.0)
    ct, pet, mask, affine = anatomy(spacing, shape)
    pet = np.where(mask, 15.0, np.minimum(pet, 1.0))
    for orientation in ("RAS", "SRP"):
        images, lesions, record = slices_of(
            write_study(tmp_path / orientation, ct, pet, mask, affine, orientation),
            tmp_path / "out",
            Settings(size=80, step=0),
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
    images, lesions, record = slices_of(
        write_study(tmp_path / "s", ct, pet, mask, affine),
        tmp_path / "out",
        Settings(size=20, step=0),
    )
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
        write_study(tmp_path / "s", ct, pet, mask, affine),
        tmp_path / "out",
        Settings(size=60, step=0, window=(-100, 100), suv_max=10),
    )
    middle = images[0, 30, 30]
    np.testing.assert_array_equal(middle, [128, 178, 153])  # 5/10, 140/200, their mean
    np.testing.assert_array_equal(images[0, 0, 0], 0)


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
    result = prepare(
        root,
        tmp_path / "out",
        settings=SMALL,
        diagnoses=KINDS,
        test_size=0.2,
        val_size=0.0,
        n_jobs=1,
    )
    skipped = {f"{s['patient']}/{s['study']}": s["why"] for s in result.manifest["skipped"]}
    assert skipped == {
        negative.name: "its diagnosis is negative, but the segmentation marks 1 voxels as lesion",
        ill[1].name: f"its SUV.nii.gz is the same file as that of {ill[0].name}",
    }


def test_without_segmentations_slices_can_have_the_studys_diagnosis(copy, tmp_path):
    root = copy(15)
    for path in root.rglob("SEG.nii.gz"):
        path.unlink()
    result = prepare(
        root,
        tmp_path / "out",
        settings=SMALL,
        diagnoses=KINDS,
        lesion_free="study",
        test_size=0.2,
        val_size=0.0,
        n_jobs=1,
    )
    assert len(result.manifest["studies"]) == 17
    train = result.part("train")
    assert all(
        result.class_names[y] == train.diagnoses[name]
        for y, name in zip(train.y, train.studies, strict=True)
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 4}, "`size` must be 8 to 4096"),
        ({"window": (5, 5)}, "`window` two numbers"),
        ({"suv_max": 0}, "`suv_max` positive"),
        ({"step": -1}, "`step` 0 or more"),
    ],
)
def test_settings_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        replace(SMALL, **options)


def test_nothing_to_use(copy, tmp_path):
    root = copy(2)
    with pytest.raises(
        ValueError,
        match=r"no study can be used; the first problem: PETCT_.*: its diagnosis .* is not one of",
    ):
        prepare(root, tmp_path / "out", diagnoses=["sarcoma"], n_jobs=1)
    with pytest.raises(
        ValueError, match=r"no training patient has the diagnosis|cannot be called negative"
    ):
        prepare(
            root,
            tmp_path / "out",
            settings=SMALL,
            diagnoses=KINDS,
            test_size=0.6,
            val_size=0.3,
            n_jobs=1,
        )
    with pytest.raises(ValueError, match="`lesion_free` must be one of"):
        prepare(root, tmp_path / "out", lesion_free="maybe")
