"""Numbers of structures and components against brute force and published volumes."""

from __future__ import annotations

import tracemalloc
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from nibabel.affines import apply_affine
from scipy import ndimage
from scipy.stats import entropy

import labelwise as lw
from labelwise.dense.predictions import PredictedVolumes
from labelwise.dense.structures import Settings, dice, examine, find_shell
from volume_files import (
    ANISOTROPIC,
    OBLIQUE,
    SHAPE,
    hard_members,
    nifti,
    normalized,
    probabilities,
    soft_members,
)

GRIDS = {"1 mm": np.eye(4), "0.7 x 0.7 x 4 mm": ANISOTROPIC, "oblique": OBLIQUE}


def brute_dice(one: np.ndarray, other: np.ndarray) -> float:
    return 2 * float((one & other).sum()) / float(one.sum() + other.sum())


def binary_entropy(p: np.ndarray) -> np.ndarray:
    return entropy(np.stack([p, 1 - p]), base=2)


def brute_shell(mask: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """Within 2 mm of the other side, by distances, or a neighbor of it."""
    far_in = ndimage.distance_transform_edt(mask, sampling=spacing)
    far_out = ndimage.distance_transform_edt(~mask, sampling=spacing)
    cross = ndimage.generate_binary_structure(3, 1)
    beside = ndimage.binary_dilation(mask, cross) & ~ndimage.binary_erosion(
        mask, cross, border_value=1
    )
    return beside | np.where(mask, far_in <= 2, far_out <= 2)


@pytest.mark.parametrize("grid", GRIDS)
def test_soft_structures_by_brute_force(tmp_path: Path, grid: str) -> None:
    affine = GRIDS[grid]
    members = soft_members(tmp_path, 3, affine=affine)
    true = np.random.default_rng(5).integers(0, 3, SHAPE)
    truth = nifti(tmp_path / "truth" / "case.nii.gz", true, affine, "u1")
    (case,) = lw.dense.cases(*members, truth=truth.parent)
    rows = lw.dense.structures(case, events={"any": [1, 2]})
    assert [row["structure"] for row in rows] == ["1", "2", "any"]
    probs = np.stack([normalized(probabilities(10 * m)) for m in range(3)]).astype(float)
    voxel = abs(np.linalg.det(affine)) / 1000
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    joint_entropy = entropy(probs.mean(axis=0), base=2, axis=-1)
    for row, labels in zip(rows, ([1], [2], [1, 2]), strict=True):
        chance = probs[..., labels].sum(axis=-1)
        total, aleatoric = binary_entropy(chance.mean(0)), binary_entropy(chance).mean(axis=0)
        mean = np.isin(probs.mean(axis=0).argmax(axis=-1), labels)
        own = [np.isin(one.argmax(axis=-1), labels) for one in probs]
        assert row["members"] == 3
        assert row["ml"] == pytest.approx(voxel * mean.sum(), rel=1e-5)
        sizes = [voxel * mask.sum() for mask in own]
        assert (row["ml_low"], row["ml_high"]) == pytest.approx((min(sizes), max(sizes)), rel=1e-5)
        pairs = [brute_dice(one, other) for one, other in combinations(own, 2)]
        assert row["pairwise_dice"] == pytest.approx(np.mean(pairs))
        assert row["pairwise_dice_lowest"] == pytest.approx(min(pairs))
        n = mean.sum()
        shell = brute_shell(mean, spacing)
        zones = {"inside": mean & ~shell, "shell": shell, "outside": ~mean & ~shell}
        for short, part in (("eu", total - aleatoric), ("au", aleatoric)):
            assert row[f"{short}_per_volume"] == pytest.approx(part.sum() / n, rel=1e-4)
            for zone, mask in zones.items():
                expected = part[mask].sum() / n
                assert row[f"{short}_{zone}"] == pytest.approx(expected, rel=1e-4, abs=1e-6)
        assert row["mean_entropy"] == pytest.approx(joint_entropy.mean(), rel=1e-4)
        assert row["entropy_per_volume"] == pytest.approx(joint_entropy.sum() / n, rel=1e-4)
        assert row["true_ml"] == pytest.approx(voxel * np.isin(true, labels).sum(), rel=1e-5)
        assert row["dice"] == pytest.approx(brute_dice(mean, np.isin(true, labels)))


@pytest.mark.parametrize("grid", GRIDS)
def test_components_by_brute_force(tmp_path: Path, grid: str) -> None:
    affine = GRIDS[grid]
    rng = np.random.default_rng(3)
    shape = (20, 18, 16)
    seeds = rng.random(shape) > 0.997
    maps = [ndimage.binary_dilation(seeds & (rng.random(shape) > 0.3)) for _ in range(4)]
    true = ndimage.binary_dilation(seeds & (rng.random(shape) > 0.5))
    members = hard_members(tmp_path, maps, affine)
    truth = nifti(tmp_path / "truth" / "t.nii", true, affine, "u1")
    (case,) = lw.dense.cases(*members, truth=truth)
    rows = lw.dense.components(case)
    union, n = ndimage.label(np.any(maps, axis=0), np.ones((3, 3, 3)))
    assert len(rows) == n > 3
    share = np.mean(maps, axis=0)
    mean = share > 0.5
    voxel = abs(np.linalg.det(affine)) / 1000
    matched = set()
    for row in rows:
        inverse = np.linalg.inv(affine)
        center = apply_affine(inverse, [row["x"], row["y"], row["z"]])
        centers = ndimage.center_of_mass(union > 0, union, range(1, n + 1))
        k = 1 + int(np.argmin(np.linalg.norm(np.array(centers) - center, axis=1)))
        assert center == pytest.approx(centers[k - 1], abs=1e-3)
        matched.add(k)
        inside = union == k
        sizes = [(mask & inside).sum() * voxel for mask in maps]
        assert row["ml"] == pytest.approx((mean & inside).sum() * voxel, rel=1e-5)
        assert (row["ml_low"], row["ml_high"]) == pytest.approx((min(sizes), max(sizes)), rel=1e-5)
        assert row["members"] == np.count_nonzero(sizes)
        assert row["eu"] == pytest.approx(binary_entropy(share[inside]).mean(), rel=1e-5)
        assert row["truth"] == bool((true & inside).any())
    assert len(matched) == n


def test_one_voxel_and_empty_structures(tmp_path: Path) -> None:
    labels = np.zeros(SHAPE)
    labels[4, 3, 2] = 1
    members = hard_members(tmp_path, [labels, labels, np.zeros(SHAPE)], OBLIQUE)
    (case,) = lw.dense.cases(*members, class_names={1: "seen", 2: "unseen"})
    seen, unseen = lw.dense.structures(case)
    voxel = abs(np.linalg.det(OBLIQUE)) / 1000
    assert seen["ml"] == pytest.approx(voxel, rel=1e-5)
    assert seen["pairwise_dice"] == pytest.approx(1 / 3)
    assert seen["eu_per_volume"] == pytest.approx(entropy([1, 2], base=2), rel=1e-6)
    assert seen["eu_shell"] == seen["eu_per_volume"]
    assert unseen["ml"] == unseen["eu_per_volume"] == unseen["components"] == 0
    assert unseen["pairwise_dice"] == 1
    (component,) = lw.dense.components(case)
    expected = apply_affine(OBLIQUE, [4, 3, 2])
    assert [component[x] for x in "xyz"] == pytest.approx(expected, abs=1e-4)
    assert component["members"] == 2


def test_a_structure_that_only_a_minority_sees_stays_finite(tmp_path: Path) -> None:
    labels = np.zeros(SHAPE)
    labels[4, 3, 2:4] = 1
    members = hard_members(tmp_path, [labels, np.zeros(SHAPE), np.zeros(SHAPE)])
    (row,) = lw.dense.structures(lw.dense.cases(*members)[0])
    assert row["ml"] == 0
    assert row["eu_per_volume"] == pytest.approx(2 * entropy([1, 2], base=2), rel=1e-6)
    assert row["eu_outside"] == row["eu_per_volume"]


@pytest.mark.parametrize("spacing", [(1, 1, 1), (4, 0.7, 0.7), (3, 3, 3), (0.5, 0.6, 0.9)])
def test_the_shell_is_that_of_distances(spacing: tuple[float, ...]) -> None:
    smooth = ndimage.gaussian_filter(np.random.default_rng(0).normal(size=(30, 28, 26)), 3)
    mask = smooth > np.quantile(smooth, 0.8)
    mask[:, :, 0] = True  # the border of the volume is no border of the structure
    shell = brute_shell(mask, np.array(spacing))
    assert np.array_equal(find_shell(mask, np.array(spacing)), shell)


def test_the_box_has_a_margin_of_10_mm(tmp_path: Path) -> None:
    labels = np.zeros((40, 30, 9))  # x, y, z
    labels[20:22, 5, 4] = 1
    members = hard_members(tmp_path, [labels, labels], np.diag([0.9, 1, 4, 1]))
    (case,) = lw.dense.cases(*members, class_names={1: "seen", 2: "unseen"})
    seen, unseen = list(examine(PredictedVolumes(case), Settings("log", None)))
    assert seen.box == (slice(1, 8), slice(0, 16), slice(8, 34))
    assert unseen.box == (slice(None),) * 3


def test_dice() -> None:
    mask = np.zeros((5, 6, 7), bool)
    assert dice(mask, mask) == 1
    mask[1:3, 2, 6] = True
    assert dice(mask, ~mask) == 0


def test_numbers_of_rows_are_plain(tmp_path: Path) -> None:
    """So that they are printed and stored without the names of NumPy's types."""
    members = soft_members(tmp_path)
    truth = nifti(tmp_path / "truth" / "case.nii.gz", np.ones(SHAPE), dtype="u1")
    (case,) = lw.dense.cases(*members, truth=truth.parent)
    for row in (*lw.dense.structures(case), *lw.dense.components(case)):
        assert {type(value) for value in row.values()} <= {str, int, float, bool}


def test_six_algorithms_of_brats(medical: Path) -> None:
    files = sorted((medical / "brats").glob("*.nii.gz"))
    names = {1: "NCR", 2: "edema", 4: "ET"}
    (case,) = lw.dense.cases(*files, class_names=names)
    events = {"whole": ["NCR", "edema", "ET"], "core": [1, 4]}
    rows = {row["structure"]: row for row in lw.dense.structures(case, events=events)}
    for name, low, high in (("NCR", 8.44, 11.51), ("edema", 11.92, 16.02)):
        assert rows[name]["members"] == 6
        assert round(rows[name]["ml_low"], 2) == low
        assert round(rows[name]["ml_high"], 2) == high
    assert round(rows["whole"]["pairwise_dice_lowest"], 3) == 0.951
    assert round(rows["whole"]["pairwise_dice"], 3) == 0.963
    assert round(rows["core"]["pairwise_dice_lowest"], 3) == 0.821
    assert round(rows["core"]["pairwise_dice"], 3) == 0.867
    assert {row["au_per_volume"] for row in rows.values()} == {0}


def test_three_modes_of_totalsegmentator(medical: Path) -> None:
    files = sorted((medical / "totalsegmentator").glob("example_seg*.nii.gz"))
    (case,) = lw.dense.cases(*files)
    tracemalloc.start()
    rows = lw.dense.structures(case)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(rows) == 41  # 42 labels with the background
    assert all(row["members"] == 3 for row in rows)
    assert peak < 100e6
