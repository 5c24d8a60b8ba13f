"""Files of several members become cases."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from volume_files import SHAPE, nifti, soft_members

EMPTY = np.zeros(SHAPE, np.uint8)


def test_cases_are_matched_by_name(tmp_path: Path) -> None:
    members = soft_members(tmp_path, 2, ("b", "a.1"))
    found = lw.dense.cases(*members)
    assert [case.name for case in found] == ["a.1", "b"]
    assert [volume.file for volume in found[1].members] == [x / "b.nii.gz" for x in members]


def test_a_missing_case_is_named(tmp_path: Path) -> None:
    members = soft_members(tmp_path, 3, ("a", "b"))
    (members[1] / "b.nii.gz").unlink()
    with pytest.raises(InputError, match="member1: case 'b' is missing, one of 1 of 2"):
        lw.dense.cases(*members)
    nifti(tmp_path / "truth" / "b.nii.gz", EMPTY)
    with pytest.raises(InputError, match="truth: case 'a' is missing"):
        lw.dense.cases(*[members[0], members[2]], truth=tmp_path / "truth")


def test_one_member_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Each argument is one member"):
        lw.dense.cases(*soft_members(tmp_path, 1))
    members = soft_members(tmp_path, 1)
    with pytest.raises(FileNotFoundError, match="there is no folder or file"):
        lw.dense.cases(*members, tmp_path / "memberO")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: no volumes; expected \.nii\.gz"):
        lw.dense.cases(*members, tmp_path / "empty")


def test_files_of_one_case_are_called_by_it_or_by_their_folder(tmp_path: Path) -> None:
    same = [nifti(tmp_path / member / "patient.nii", EMPTY) for member in "ab"]
    assert lw.dense.cases(*same)[0].name == "patient"
    raters = [nifti(tmp_path / "patient7" / f"{x}.nii.gz", EMPTY) for x in ("one", "two")]
    assert lw.dense.cases(*raters)[0].name == "patient7"


def test_images_and_truth(tmp_path: Path) -> None:
    members = soft_members(tmp_path, 2, ("a", "b"))
    for case in "ab":
        nifti(tmp_path / "images" / f"{case}_0000.nii.gz", EMPTY)
        nifti(tmp_path / "images" / f"{case}_0001.nii.gz", EMPTY)
        nifti(tmp_path / "truth" / f"{case}.nii.gz", EMPTY)
    found = lw.dense.cases(*members, images=tmp_path / "images", truth=tmp_path / "truth")
    assert [case.image.file.name for case in found] == ["a_0000.nii.gz", "b_0000.nii.gz"]
    assert [case.truth.file.name for case in found] == ["a.nii.gz", "b.nii.gz"]
    nifti(tmp_path / "truth" / "b.nii.gz", EMPTY[1:])
    with pytest.raises(InputError, match=r"truth/b\.nii\.gz: shape"):
        lw.dense.cases(*members, truth=tmp_path / "truth")


def test_a_case_may_itself_be_number_0000(tmp_path: Path) -> None:
    members = soft_members(tmp_path, 2, ("case_0000", "case_0001"))
    for place in ("truth", "images"):
        for case in ("case_0000", "case_0001"):
            nifti(tmp_path / place / f"{case}.nii.gz", EMPTY)
    found = lw.dense.cases(*members, images=tmp_path / "images", truth=tmp_path / "truth")
    assert [case.truth.file.name for case in found] == ["case_0000.nii.gz", "case_0001.nii.gz"]
    assert [case.image.file.name for case in found] == ["case_0000.nii.gz", "case_0001.nii.gz"]


def test_probabilities_are_taken_before_the_label_map_beside_them(tmp_path: Path) -> None:
    for m in "01":
        nifti(tmp_path / f"fold_{m}" / "case.nii.gz", EMPTY)
        np.savez_compressed(
            tmp_path / f"fold_{m}" / "case.npz", probabilities=np.ones((1, *SHAPE[::-1]))
        )
        (tmp_path / f"fold_{m}" / "case.pkl").write_bytes(b"never opened")
    (case,) = lw.dense.cases(tmp_path / "fold_0", tmp_path / "fold_1")
    assert {volume.file.suffix for volume in case.members} == {".npz"}


def test_class_names(tmp_path: Path) -> None:
    members = soft_members(tmp_path, 2)
    labels = {"background": 0, "liver": 1, "tumor": 2, "ignore": 3}
    (members[0] / "dataset.json").write_text(json.dumps({"labels": labels}))
    assert lw.dense.cases(*members)[0].class_names == {"liver": [1], "tumor": [2]}
    given = lw.dense.cases(*members, class_names=["none", "a", "b"])[0].class_names
    assert given == {"none": [0], "a": [1], "b": [2]}
    assert lw.dense.cases(*members, class_names={2: "x"})[0].class_names == {"x": [2]}
    both = lw.dense.cases(*members, class_names={1: "x", 4: "x"})[0].class_names
    assert both == {"x": [1, 4]}
    with pytest.raises(InputError, match="`class_names` must be names by label; got 'liver'"):
        lw.dense.cases(*members, class_names={"liver": 1})
    labels = {"background": 0, "whole": [1, 2], "core": 2}
    (members[0] / "dataset.json").write_text(json.dumps({"labels": labels}))
    assert lw.dense.cases(*members)[0].class_names == {"whole": [1, 2], "core": [2]}
    (members[0] / "dataset.json").write_text("{}")
    with pytest.raises(ValueError, match=r"dataset\.json"):
        lw.dense.cases(*members)
