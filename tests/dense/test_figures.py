"""Planes through the worst place, the same however a volume is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise.dense.figures import Plane, cut_planes, draw
from labelwise.dense.predictions import PredictedVolumes
from labelwise.dense.structures import Settings, examine
from optional_libraries import optional
from volume_files import nifti

SHAPE = (24, 26, 28)


def picture(
    folder: Path, affine: np.ndarray, turn: tuple[int, ...] = (0, 1, 2), **files: object
) -> list[Plane]:
    """Three raters who agree, except on a corner in front, at the head and on the right."""
    agreed = np.zeros(SHAPE, np.uint8)
    agreed[8:14, 8:14, 8:14] = 1
    disputed = agreed.copy()
    disputed[14:18, 14:18, 14:18] = 1
    maps = [agreed, agreed, disputed]
    image = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    if affine[0, 0] < 0:
        maps, image = [x[::-1] for x in maps], image[::-1]
    maps, image = [x.transpose(turn) for x in maps], image.transpose(turn)
    members = [nifti(folder / f"{m}.nii", labels, affine) for m, labels in enumerate(maps)]
    where = nifti(folder / "image" / "i.nii", image, affine, "f4")
    truth = nifti(folder / "truth" / "t.nii", maps[0], affine)
    (case,) = lw.dense.cases(*members, images=where, truth=truth)
    details = next(examine(PredictedVolumes(case), Settings("log", None)))
    return cut_planes(details)


def test_planes_go_through_the_disputed_place(tmp_path: Path) -> None:
    shown = picture(tmp_path, np.eye(4))
    for _, cut in shown:
        assert cut["epistemic"].max() > 0.9
        outlines = [mask.any() for mask in cut["members"]]
        assert outlines == [False, False, True]
        assert len(cut["truth"]) == len(cut["mean"]) == 1


@pytest.mark.parametrize("turned", ["flipped", "swapped"])
def test_orientation_of_the_file_does_not_matter(tmp_path: Path, turned: str) -> None:
    expected = picture(tmp_path / "straight", np.eye(4))
    affine, turn = np.eye(4), (0, 1, 2)
    if turned == "flipped":
        affine[0] = [-1, 0, 0, SHAPE[0] - 1]
    else:
        turn = (2, 0, 1)
        affine = np.eye(4)[:, [2, 0, 1, 3]]
    found = picture(tmp_path / turned, affine, turn)
    for (aspect, cut), (same_aspect, other) in zip(found, expected, strict=True):
        assert aspect == same_aspect
        for name in cut:
            for plane, same in zip(cut[name], other[name], strict=True):
                assert np.array_equal(plane, same)


def test_figures_are_drawn(tmp_path: Path) -> None:
    pyplot = optional("matplotlib.pyplot")
    before = pyplot.get_fignums()  # those of other tests
    draw(picture(tmp_path, np.diag([1.0, 1, 3, 1])), "a case, a structure", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert pyplot.imread(tmp_path / "a.png").std() > 0.1
    assert pyplot.get_fignums() == before
