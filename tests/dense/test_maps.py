"""Maps are in the grid of the input, whichever library reads them."""

from __future__ import annotations

from pathlib import Path

import nibabel
import numpy as np
import pytest
from nibabel.affines import apply_affine

import labelwise as lw
from labelwise._errors import InputError
from labelwise.dense.predictions import file_name
from optional_libraries import optional
from volume_files import (
    ANISOTROPIC,
    OBLIQUE,
    SHAPE,
    hard_members,
    normalized,
    probabilities,
    soft_members,
)

STEP = 1 / 65535
FLIPPED = np.diag([-2.0, 1.5, 1, 1])
FLIPPED[:3, 3] = 30, -10, 5
PERMUTED = ANISOTROPIC[[2, 0, 1, 3]]


def values(path: Path) -> np.ndarray:
    return np.asarray(nibabel.load(path).get_fdata())


@pytest.mark.parametrize("as_float", [False, True])
def test_values_and_names(tmp_path: Path, as_float: bool) -> None:
    (case,) = lw.dense.cases(*soft_members(tmp_path, affine=OBLIQUE))
    parts = ["total", "aleatoric", "epistemic"]
    paths = lw.dense.maps(case, tmp_path / "out", parts=parts, as_float=as_float, compress=False)
    assert [path.name for path in (*paths[:4], paths[-1])] == [
        "case_1_total.nii",
        "case_1_aleatoric.nii",
        "case_1_epistemic.nii",
        "case_1_components.nii",
        "case_segmentation.nii",
    ]
    probs = np.stack([normalized(probabilities(10 * m)) for m in range(3)])
    u = lw.decompose(lw.Ensemble(probs))
    for part, path in zip(parts, paths, strict=False):
        image = nibabel.load(path)
        assert image.affine == pytest.approx(OBLIQUE, abs=1e-5)
        assert image.get_data_dtype() == ("f4" if as_float else "u2")
        tolerance = 1e-6 if as_float else STEP
        assert np.abs(values(path) - getattr(u, part)[..., 1]).max() <= tolerance
    assert np.array_equal(values(paths[-1]), probs.mean(axis=0).argmax(axis=-1))


def test_the_scale_is_that_of_the_loss(tmp_path: Path) -> None:
    (case,) = lw.dense.cases(*soft_members(tmp_path))
    path, *_ = lw.dense.maps(case, tmp_path / "out", parts=["total"], loss="squared")
    probs = np.stack([normalized(probabilities(10 * m)) for m in range(3)])
    expected = lw.decompose(lw.Ensemble(probs), "squared").total[..., 1]
    assert np.abs(values(path) - expected).max() <= STEP / 2


def test_the_scale_holds_the_largest_value_of_unequal_costs(tmp_path: Path) -> None:
    """It is not that of p = 0.5."""
    (case,) = lw.dense.cases(*soft_members(tmp_path))
    loss = lw.CostLoss(1, 9)
    path, *_ = lw.dense.maps(case, tmp_path / "out", parts=["total"], loss=loss)
    probs = np.stack([normalized(probabilities(10 * m)) for m in range(3)])
    expected = lw.decompose(lw.Ensemble(probs), loss).total[..., 1]
    assert expected.max() > loss.entropy(np.array(0.5))
    assert np.abs(values(path) - expected).max() <= STEP


def test_components_have_the_numbers_of_the_table(tmp_path: Path) -> None:
    labels = np.zeros(SHAPE)
    labels[0, 0, 0] = labels[5, 5, 5] = labels[8, 0, 3] = 1
    (case,) = lw.dense.cases(*hard_members(tmp_path, [labels, labels * 0], OBLIQUE))
    paths = lw.dense.maps(case, tmp_path / "out")
    numbers = values(next(path for path in paths if path.name.endswith("_components.nii.gz")))
    rows = lw.dense.components(case)
    assert len(rows) == numbers.max() == 3
    for row in rows:
        (place,) = np.argwhere(numbers == row["component"])
        assert apply_affine(OBLIQUE, place) == pytest.approx([row[x] for x in "xyz"], abs=1e-4)


def test_unknown_parts_are_refused(tmp_path: Path) -> None:
    (case,) = lw.dense.cases(*soft_members(tmp_path))
    with pytest.raises(InputError, match="`parts`"):
        lw.dense.maps(case, tmp_path / "out", parts=["epistemik"])


def test_names_of_structures_are_safe_in_files() -> None:
    assert file_name("../left lung/*") == ".._left_lung_"


@pytest.mark.parametrize("library", ["nibabel", "SimpleITK", "monai"])
@pytest.mark.parametrize("affine", [np.eye(4), OBLIQUE, FLIPPED, PERMUTED])
def test_a_marked_voxel_stays_at_its_place(
    tmp_path: Path, library: str, affine: np.ndarray
) -> None:
    """One disputed voxel is written by us and found by each library at the same millimeters."""
    marked = (6, 2, 4)
    if affine is OBLIQUE:  # ITK takes only grids with right angles
        turn = np.linalg.qr(OBLIQUE[:3, :3])[0] * [0.7, 0.7, 4]
        affine = np.block([[turn, OBLIQUE[:3, 3:]], [np.array([[0, 0, 0, 1.0]])]])
    labels = np.zeros(SHAPE)
    labels[marked] = 1
    (case,) = lw.dense.cases(*hard_members(tmp_path, [labels, labels * 0], affine))
    path = lw.dense.maps(case, tmp_path / "out")[0]
    expected = apply_affine(affine, marked)
    if library == "SimpleITK":
        sitk = optional("SimpleITK")
        image = sitk.ReadImage(str(path))
        (place,) = np.argwhere(sitk.GetArrayFromImage(image) > 0.5)[:, ::-1]
        x, y, z = image.TransformIndexToPhysicalPoint([int(i) for i in place])
        found = [-x, -y, z]  # ITK's axes are toward left and back
    elif library == "monai":
        optional("monai")
        from monai.transforms import LoadImage

        image = LoadImage(image_only=True, ensure_channel_first=False)(str(path))
        (place,) = np.argwhere(np.asarray(image) > 0.5)
        found = apply_affine(np.asarray(image.affine), place)
    else:
        (place,) = np.argwhere(values(path) > 0.5)
        found = apply_affine(nibabel.load(path).affine, place)
    assert found == pytest.approx(expected, abs=1e-3)
