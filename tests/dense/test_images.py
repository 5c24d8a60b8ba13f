"""Grids are read, compared and never changed; values come as (z, y, x)."""

from __future__ import annotations

from pathlib import Path

import nibabel
import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from labelwise.dense.images import open_volume
from volume_files import ANISOTROPIC, OBLIQUE, SHAPE, nifti

ONE = np.array(True)
VALUES = np.arange(np.prod(SHAPE)).reshape(SHAPE).astype(np.int16)


@pytest.mark.parametrize("affine", [np.eye(4), ANISOTROPIC, OBLIQUE])
def test_the_grid_is_that_of_nibabel(tmp_path: Path, affine: np.ndarray) -> None:
    volume = open_volume(nifti(tmp_path / "a.nii.gz", VALUES, affine))
    image = nibabel.load(tmp_path / "a.nii.gz")
    assert volume.shape == SHAPE[::-1]
    assert volume.spacing == pytest.approx(nibabel.affines.voxel_sizes(image.affine)[::-1])
    sides = image.affine[:3, :3].T
    assert volume.ml(ONE) == pytest.approx(abs(np.dot(sides[0], np.cross(*sides[1:]))) / 1000)
    assert np.array_equal(volume.affine, image.affine)


def test_a_voxel_of_anisotropic_volumes_has_its_volume(tmp_path: Path) -> None:
    volume = open_volume(nifti(tmp_path / "a.nii", VALUES, ANISOTROPIC))
    assert volume.ml(ONE) == pytest.approx(0.7 * 0.7 * 4 / 1000)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_values_of_label_maps(tmp_path: Path, name: str) -> None:
    values = open_volume(nifti(tmp_path / name, VALUES)).read()
    assert np.array_equal(values, VALUES.transpose(2, 1, 0))


def test_values_with_a_scale(tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(VALUES, np.eye(4), dtype=np.int16)
    image.header.set_slope_inter(0.5, 1)
    image.to_filename(tmp_path / "a.nii")
    expected = nibabel.load(tmp_path / "a.nii").get_fdata()
    assert np.array_equal(open_volume(tmp_path / "a.nii").read(), expected.transpose(2, 1, 0))


@pytest.mark.parametrize("vectors", [False, True])
def test_classes_of_nifti_come_first(tmp_path: Path, vectors: bool) -> None:
    probs = np.random.default_rng(0).random((*SHAPE, 3)).astype(np.float32)
    stored = probs[:, :, :, None] if vectors else probs
    values = open_volume(nifti(tmp_path / "a.nii.gz", stored)).read()
    assert np.array_equal(values, probs.transpose(3, 2, 1, 0))


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_nnunet_arrays_are_where_the_file_beside_them_says(tmp_path: Path, ending: str) -> None:
    probs = np.random.default_rng(0).random((3, *SHAPE[::-1])).astype(np.float32)
    np.savez_compressed(tmp_path / "case.npz", probabilities=probs)
    nifti(tmp_path / f"case{ending}", VALUES, OBLIQUE)
    volume = open_volume(tmp_path / "case.npz")
    assert np.array_equal(volume.read(), probs)
    assert volume.affine == pytest.approx(OBLIQUE, abs=1e-5)


def test_swapped_axes_of_an_array_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "case.npz", probabilities=np.zeros((3, *SHAPE)))
    nifti(tmp_path / "case.nii.gz", VALUES)
    with pytest.raises(InputError, match=r"case\.npz: shape: must be \(z, y, x\) = \(7, 8, 9\)"):
        open_volume(tmp_path / "case.npz").read()


@pytest.mark.parametrize(
    ("kept", "expected"),
    [("npz", "affine: there is no NIfTI file"), ("damaged", "a.nii"), ("singular", "affine: must")],
)
def test_unusable_files_are_named(tmp_path: Path, kept: str, expected: str) -> None:
    path = tmp_path / "a.nii"
    if kept == "npz":
        path = tmp_path / "a.npz"
        np.savez(path, probabilities=np.zeros((2, 3, 3, 3)))
    elif kept == "damaged":
        path.write_bytes(b"no header")
    else:
        image = nibabel.Nifti1Image(VALUES, None, dtype=np.int16)
        image.header.set_sform(np.diag([1.0, 0, 1, 1]), code=1)
        image.to_filename(path)
    with pytest.raises(ValueError, match=expected) as error:
        open_volume(path)
    assert path.name in str(error.value)


FLIPPED = np.diag([-1.0, 1, 1, 1])
FLIPPED[0, 3] = SHAPE[0] - 1
SWAPPED = np.eye(4)[[1, 0, 2, 3]]
SHIFTED = np.eye(4)
SHIFTED[0, 3] = 1


@pytest.mark.parametrize(
    ("affine", "expected"),
    [(SHIFTED, "1 voxels apart.*RAS from"), (FLIPPED, "axes LAS"), (SWAPPED, "axes ARS")],
)
def test_a_volume_elsewhere_is_refused(tmp_path: Path, affine: np.ndarray, expected: str) -> None:
    first = nifti(tmp_path / "first.nii", VALUES > 9, dtype=np.uint8)
    second = nifti(tmp_path / "second.nii", VALUES > 9, affine, np.uint8)
    with pytest.raises(InputError, match=rf"second\.nii: affine: .*{expected}.*first\.nii"):
        lw.dense.cases(first, second)


def test_another_size_is_refused(tmp_path: Path) -> None:
    first = nifti(tmp_path / "first.nii", VALUES)
    second = nifti(tmp_path / "second.nii", VALUES[:-1])
    with pytest.raises(InputError, match=r"second\.nii: shape: \(z, y, x\) = \(7, 8, 8\) against"):
        lw.dense.cases(first, second)


@pytest.mark.parametrize(("voxels", "same"), [(0.009, True), (0.011, False)])
def test_headers_are_compared_to_a_hundredth_of_a_voxel(
    tmp_path: Path, voxels: float, same: bool
) -> None:
    moved = ANISOTROPIC.copy()
    moved[2, 3] = 4 * voxels
    places = [
        nifti(tmp_path / "a.nii", VALUES, ANISOTROPIC),
        nifti(tmp_path / "b.nii", VALUES, moved),
    ]
    if same:
        assert len(lw.dense.cases(*places)) == 1
    else:
        with pytest.raises(InputError, match="affine"):
            lw.dense.cases(*places)


def test_only_one_of_sform_and_qform_is_needed(tmp_path: Path) -> None:
    for name, setter in (("s.nii", "set_sform"), ("q.nii", "set_qform")):
        image = nibabel.Nifti1Image((VALUES > 9).astype(np.uint8), None)
        getattr(image.header, setter)(ANISOTROPIC, code=1)
        image.to_filename(tmp_path / name)
    (case,) = lw.dense.cases(tmp_path / "s.nii", tmp_path / "q.nii")
    assert case.grid.spacing == pytest.approx([4, 0.7, 0.7])


@pytest.mark.parametrize("shape", [(5, 6), (0, 5, 6)])
def test_images_without_three_axes_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(shape))
    nifti(tmp_path / "b.nii", np.zeros((5, 6)), dtype="u1")
    for name in ("a.npy", "b.nii"):
        with pytest.raises(InputError, match=f"{name}: shape: must have three axes, none empty"):
            lw.dense.cases(tmp_path / name, tmp_path / name)
