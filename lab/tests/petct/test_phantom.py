from __future__ import annotations

import numpy as np
import pytest

from optional_libraries import optional

nib = optional("nibabel")

from labelwise_lab.petct.phantom import (  # noqa: E402
    HELD_BACK,
    KINDS,
    ORIENTATIONS,
    Body,
    draw_anatomy,
    place_lesions,
    write_phantoms,
)


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_phantoms(tmp_path / name, patients=2, voxel=30, rng=3)
    a, b = (
        {
            p.relative_to(tmp_path / n): p.read_bytes()
            for p in (tmp_path / n).rglob("*")
            if p.is_file()
        }
        for n in "ab"
    )
    assert a == b
    write_phantoms(tmp_path / "c", patients=2, voxel=30, rng=4)
    assert {p.name for p in (tmp_path / "c").iterdir()} != {
        p.name for p in (tmp_path / "a").iterdir()
    }


def test_files_vary_as_hospitals_do(phantoms):
    images = [nib.load(path) for path in phantoms.rglob("SUV.nii.gz")]
    assert {"".join(nib.aff2axcodes(image.affine)) for image in images} == set(ORIENTATIONS)
    assert len({image.shape for image in images}) > 10
    assert nib.load(next(phantoms.rglob("CTres.nii.gz"))).get_data_dtype() == np.int16


@pytest.mark.parametrize("kind", KINDS)
def test_lesions_are_hot_and_where_the_disease_puts_them(kind):
    axes = [
        np.arange(-c, c, 12.0).reshape([-1 if i == j else 1 for j in range(3)])
        for i, c in enumerate((230, 140, 460))
    ]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        body, lesions = Body.draw(rng), place_lesions(kind, rng)
        ct, pet, mask = draw_anatomy(body, lesions, axes)
        assert ct.min() == -1000
        assert 500 < ct.max() < 900
        assert (len(lesions) == 0) == (kind == "negative") == (not mask.any())
        if kind == "negative":
            continue
        healthy = draw_anatomy(body, [], axes)
        assert pet[mask].mean() > 2 * healthy[1][mask].mean()
        if kind == "lung cancer":
            assert (healthy[0][mask] < -600).mean() > 0.3
        if kind == HELD_BACK:
            assert (healthy[0][mask] > 100).mean() > 0.25


def test_diseases_share_sites():
    """A lesion in the lung is nearly always a lung cancer, but not always: that is what is
    ambiguous.
    """

    def in_lung(kind):
        rng = np.random.default_rng(0)
        found = [
            any(
                50 < abs(x) < 110 and 70 < z < 200 and abs(y) < 40
                for x, y, z in (lesion[:3] for lesion in place_lesions(kind, rng))
            )
            for _ in range(200)
        ]
        return np.mean(found)

    assert in_lung("lung cancer") > 0.8
    assert 0.005 < in_lung("lymphoma") < 0.1
    assert 0.005 < in_lung("melanoma") < 0.1


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty"):
        write_phantoms(tmp_path)
