"""What members predict is recognized, checked, and said."""

from __future__ import annotations

from pathlib import Path

import nibabel
import numpy as np
import pytest
from scipy.stats import entropy

import labelwise as lw
from labelwise._errors import InputError
from labelwise.dense.predictions import PredictedVolumes
from labelwise.dense.structures import Settings, examine
from volume_files import SHAPE, hard_members, nifti, normalized, probabilities, soft_members


def predicted(members: list[Path], **options: object) -> PredictedVolumes:
    (case,) = lw.dense.cases(*members, **options)
    return PredictedVolumes(case)


def regions(folder: Path, n: int = 2) -> list[Path]:
    """Two overlapping sigmoid regions."""
    rng = np.random.default_rng(0)
    return [nifti(folder / f"{m}.nii", rng.random((*SHAPE, 2)), dtype="f4") for m in range(n)]


def masks_of(found: PredictedVolumes) -> list[np.ndarray]:
    """Those of each structure: of each member, of their mean, and of the truth."""
    whole = []
    for details in examine(found, Settings("log", None)):
        whole.append(np.concatenate(list(details.masks.values())))
    return whole


def names(found: PredictedVolumes, events: object = None) -> list[str]:
    return list(found.structures(events))


def test_probabilities(tmp_path: Path) -> None:
    found = predicted(soft_members(tmp_path))
    assert found.kind == "probabilities"
    assert found.sentence == "probabilities of 3 classes, the background first"
    assert names(found) == ["1", "2"]
    probs = np.stack([normalized(probabilities(10 * m)) for m in range(3)])
    mean = probs.mean(axis=0)
    assert np.array_equal(found.mean.T, mean.argmax(axis=-1))
    for member, own in zip(found.label_maps[:3], probs, strict=True):
        assert np.array_equal(member.T, own.argmax(axis=-1))
    assert found.entropy == pytest.approx(entropy(mean, base=2, axis=-1).sum(), rel=1e-5)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_types_of_probabilities(tmp_path: Path, dtype: str) -> None:
    members = []
    for m in range(2):
        probs = normalized(probabilities(m))
        np.save(tmp_path / f"{m}.npy", probs.T.astype(dtype))
        members.append(tmp_path / f"{m}.npy")
    found = predicted(members)
    assert found.kind == "probabilities"
    assert not found.case.grid.placed


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_label_maps_of_any_type_with_gaps(tmp_path: Path, dtype: str) -> None:
    labels = np.zeros(SHAPE)
    labels[1:3], labels[4:6] = 4, 2
    members = [nifti(tmp_path / f"{m}.nii", labels, dtype=dtype) for m in range(3)]
    found = predicted(members)
    assert found.kind == "votes"
    assert "Votes have no aleatoric part: AU is 0" in found.sentence
    assert names(found) == ["2", "4"]
    assert found.entropy == 0


def test_ties_of_votes_go_to_the_smaller_label(tmp_path: Path) -> None:
    found = predicted(hard_members(tmp_path, [np.full(SHAPE, 3), np.full(SHAPE, 1)]))
    assert (found.mean == 1).all()


def test_large_and_negative_labels(tmp_path: Path) -> None:
    labels = np.zeros(SHAPE)
    labels[0], labels[1] = -3, 14175
    members = [nifti(tmp_path / f"{m}.nii", labels, dtype="i4") for m in range(2)]
    found = predicted(members)
    assert np.array_equal(found.mean.T, labels)
    assert names(found) == ["-3", "14175"]


def test_regions(tmp_path: Path) -> None:
    found = predicted(regions(tmp_path))
    assert found.kind == "regions"
    assert found.sentence == "probabilities of 2 regions that may overlap"
    assert names(found) == ["0", "1"]
    chances = np.stack([volume.read()[1] for volume in found.case.members])
    *members, mean = masks_of(found)[1]
    assert np.array_equal(mean, chances.mean(axis=0) > 0.5)
    for mask, own in zip(members, chances, strict=True):
        assert np.array_equal(mask, own > 0.5)


@pytest.mark.parametrize(("dtype", "above"), [("f2", 1.001), ("f4", 1 + 2e-7), ("f8", 1 + 1e-9)])
def test_probabilities_above_1_by_rounding(tmp_path: Path, dtype: str, above: float) -> None:
    chances = np.full((2, 3, 4, 5), 0.25, dtype)
    chances[:, 0] = above
    members = [tmp_path / f"{m}.npy" for m in range(2)]
    for member in members:
        np.save(member, chances)
    rows = lw.dense.structures(lw.dense.cases(*members)[0])
    expected = 2 * binary_entropy(0.25) * 2 / 3
    assert [row["mean_entropy"] for row in rows] == pytest.approx([expected] * 2)
    assert [row["eu_per_volume"] for row in rows] == [0, 0]


def binary_entropy(p: float) -> float:
    return float(entropy([p, 1 - p], base=2))


@pytest.mark.parametrize("dtype", [bool, "u1", "i2"])
def test_whole_numbers_may_be_probabilities(tmp_path: Path, dtype: str) -> None:
    """One channel for each class, 0 or 1."""
    labels = np.random.default_rng(0).integers(0, 3, SHAPE)
    members = []
    for m in range(2):
        np.save(tmp_path / f"{m}.npy", np.eye(3)[labels].T.astype(dtype))
        members.append(tmp_path / f"{m}.npy")
    found = predicted(members)
    assert found.kind == "probabilities"
    assert np.array_equal(found.mean.T, labels)
    assert found.entropy == 0


def test_probabilities_stored_as_scaled_integers(tmp_path: Path) -> None:
    members = []
    for m in range(2):
        image = nibabel.Nifti1Image(normalized(probabilities(m)), np.eye(4))
        image.set_data_dtype(np.uint16)
        nibabel.save(image, tmp_path / f"{m}.nii.gz")
        members.append(tmp_path / f"{m}.nii.gz")
    assert predicted(members).kind == "probabilities"


def test_label_maps_beside_a_sigmoid_map(tmp_path: Path) -> None:
    labels = np.zeros(SHAPE)
    labels[2:4] = 1
    soft = nifti(tmp_path / "soft.nii", 0.8 * labels, dtype="f4")
    hard = nifti(tmp_path / "hard.nii", labels, dtype="u1")
    assert predicted([soft, hard]).kind == "regions"
    with pytest.raises(InputError, match=r"soft\.nii: labels: must be whole numbers"):
        predicted([hard, soft])


def test_one_sigmoid_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    members = [nifti(tmp_path / f"{m}.nii", rng.random(SHAPE), dtype="f4") for m in range(2)]
    truth = nifti(tmp_path / "truth" / "t.nii", rng.random(SHAPE) > 0.5, dtype="u1")
    assert names(predicted(members, class_names={1: "lesion"}, truth=truth)) == ["lesion"]
    (case,) = lw.dense.cases(*members, class_names={1: "lesion"}, truth=truth)
    (row,) = lw.dense.structures(case)
    assert 0.3 < row["dice"] < 0.7


def test_regions_and_their_truth(tmp_path: Path) -> None:
    members = regions(tmp_path)
    labels = np.random.default_rng(1).integers(0, 3, SHAPE)
    truth = nifti(tmp_path / "truth" / "t.nii", labels, dtype="u1")
    (case,) = lw.dense.cases(*members, truth=truth)
    with pytest.raises(InputError, match=r"t\.nii: labels: unknown for regions"):
        lw.dense.structures(case)
    for member in members:
        member.rename(tmp_path / f"fold_{member.stem}.nii")
    folders = []
    for m in range(2):
        (tmp_path / f"m{m}").mkdir()
        (tmp_path / f"fold_{m}.nii").rename(tmp_path / f"m{m}" / "t.nii")
        folders.append(tmp_path / f"m{m}")
    (folders[0] / "dataset.json").write_text(
        '{"labels": {"background": 0, "whole": [1, 2], "core": 2}}'
    )
    found = predicted(folders, truth=tmp_path / "truth")
    whole, core = [masks[-1] for masks in masks_of(found)]
    assert np.array_equal(whole.T, labels > 0)
    assert np.array_equal(core.T, labels == 2)
    # the same names for label maps: structures made of labels
    for folder in folders:
        nifti(folder / "t.nii", labels, dtype="u1")
    voted = predicted(folders)
    assert names(voted) == ["whole", "core"]
    assert np.array_equal(masks_of(voted)[0][2].T, labels > 0)


def test_regions_have_no_events_and_need_all_names(tmp_path: Path) -> None:
    members = regions(tmp_path)
    with pytest.raises(InputError, match=r"0\.nii: classes: .* no events .* \['any'\]"):
        predicted(members).structures({"any": [0, 1]})
    with pytest.raises(InputError, match=r"each\s+needs one name; got \['a'\]"):
        predicted(members, class_names=["a"]).structures(None)


def test_nan_and_wrong_sums_name_the_file(tmp_path: Path) -> None:
    members = soft_members(tmp_path, 2)
    probs = normalized(probabilities(1))
    probs[3, 3, 3, 1] = np.nan
    nifti(members[1] / "case.nii.gz", probs)
    with pytest.raises(InputError, match=r"member1/case\.nii\.gz: .*NaN"):
        predicted(members)
    labels = np.zeros(SHAPE, np.float32)
    labels[1, 2, 3] = np.nan
    hard = [nifti(tmp_path / f"{m}.nii", labels) for m in range(2)]
    with pytest.raises(InputError, match=r"0\.nii: labels: must be whole numbers, none NaN"):
        predicted(hard)
    labels[1, 2, 3] = 1.5
    hard = [nifti(tmp_path / f"{m}.nii", labels) for m in range(2)]
    with pytest.raises(InputError, match="whole numbers"):
        predicted(hard)
    negative = normalized(probabilities(1))
    negative[0, 0, 0] = [-0.5, 0.5, 1]
    nifti(members[1] / "case.nii.gz", negative)
    with pytest.raises(InputError, match=r"member1/case\.nii\.gz: "):
        predicted(members)


def test_members_with_other_classes_are_refused(tmp_path: Path) -> None:
    members = soft_members(tmp_path, 2)
    nifti(members[1] / "case.nii.gz", normalized(probabilities(n_classes=4)))
    with pytest.raises(InputError, match=r"member1/case\.nii\.gz: classes: shape \(4, 7, 8, 9\)"):
        predicted(members)


def test_an_image_is_no_label_map(tmp_path: Path) -> None:
    shape = (20, 20, 20)
    image = np.random.default_rng(0).integers(0, 4000, shape)
    members = [nifti(tmp_path / f"{m}.nii", image, dtype="i2") for m in range(2)]
    with pytest.raises(InputError, match=r"0\.nii: labels: .* different values; is this an image"):
        predicted(members)


def test_events(tmp_path: Path) -> None:
    found = predicted(soft_members(tmp_path), class_names=["none", "liver", "tumor"])
    structures = found.structures({"any": ["liver", 2, "2"]})
    assert structures == {"liver": [1], "tumor": [2], "any": [1, 2]}
    with pytest.raises(InputError, match=r"'any' must have .* got 'livr'. Did you mean 'liver'"):
        found.structures({"any": ["livr"]})
    with pytest.raises(InputError, match="a name of its own"):
        found.structures({"liver": ["tumor"]})


def test_labels_that_no_channel_has_are_refused(tmp_path: Path) -> None:
    members = soft_members(tmp_path)
    truth = nifti(tmp_path / "truth" / "case.nii.gz", np.full(SHAPE, 5), dtype="u1")
    with pytest.raises(InputError, match=r"classes: probabilities of 3 classes.*also have \{5\}"):
        predicted(members, truth=truth.parent)
    with pytest.raises(InputError, match=r"also have \{7\}"):
        predicted(members, class_names={7: "x"})


def test_a_structure_that_all_members_missed_has_a_row(tmp_path: Path) -> None:
    members = hard_members(tmp_path, [np.zeros(SHAPE)] * 2)
    truth = nifti(tmp_path / "truth" / "t.nii", np.full(SHAPE, 2), dtype="u1")
    (row,) = lw.dense.structures(lw.dense.cases(*members, truth=truth)[0])
    assert (row["structure"], row["ml"], row["dice"]) == ("2", 0, 0)


def test_cases_in_which_nobody_sees_anything(tmp_path: Path) -> None:
    members = hard_members(tmp_path, [np.zeros(SHAPE)] * 2)
    assert lw.dense.structures(lw.dense.cases(*members)[0]) == []
    (row,) = lw.dense.structures(lw.dense.cases(*members, class_names={1: "lesion"})[0])
    assert (row["ml"], row["eu_per_volume"], row["pairwise_dice"], row["components"]) == (
        0,
        0,
        1,
        0,
    )


@pytest.mark.parametrize("other", ["a_b", "A b"])  # some file systems do not tell cases apart
def test_structures_whose_files_would_have_one_name_are_refused(tmp_path: Path, other: str) -> None:
    given = ["none", "a b", other]
    with pytest.raises(InputError, match="names of structures are parts of file names"):
        predicted(soft_members(tmp_path), class_names=given).structures(None)
    with pytest.raises(InputError, match="names of structures are parts of file names"):
        predicted(regions(tmp_path / "regions"), class_names=given[1:]).structures(None)
