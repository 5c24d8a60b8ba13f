from __future__ import annotations

import numpy as np
import pytest

from labelwise_lab.petct.slices import choose_planes, cut, to_bytes
from labelwise_lab.petct.volumes import Volume


def volume(values, spacing=(4.0, 4.0, 4.0)):
    values = np.asarray(values, dtype=np.float32)
    return Volume(values, np.asarray(spacing), np.zeros(3))


def test_straight_lines_are_kept():
    """Values that grow along an axis keep their place, in fine and in coarse pixels."""
    ramp = np.arange(20.0)[:, None, None] * np.ones((1, 1, 20))
    for size in (40, 20, 10):
        (image,) = cut(volume(ramp), np.array([0]), size, outside=0)
        expected = 9.5 - (np.arange(size) - (size - 1) / 2) * 20 / size
        np.testing.assert_allclose(image[size // 2, 3:-3], expected[3:-3], atol=1e-4)


def test_nothing_falls_between_coarse_pixels():
    """Each voxel has its share of the image, however coarse that is."""
    total = []
    for x in range(40, 46):
        values = np.zeros((100, 1, 100))
        values[x, 0, 50] = 1
        total.append(cut(volume(values), np.array([0]), 20, outside=0).sum())
    np.testing.assert_allclose(total, 1 / 25, rtol=0.05)


def test_the_same_size_changes_nothing():
    values = np.random.default_rng(0).normal(size=(12, 1, 12))
    (image,) = cut(volume(values), np.array([0]), 12, outside=0)
    np.testing.assert_allclose(image, values[::-1, 0, ::-1].T, atol=1e-6)


def test_head_up_and_right_on_the_left():
    values = np.zeros((8, 3, 8))
    values[6, 1, 7] = 1  # to the patient's right (x is large), at the head (z is large)
    (image,) = cut(volume(values), np.array([1]), 8, outside=0)
    row, column = np.unravel_index(image.argmax(), image.shape)
    assert (row, column) == (0, 1)


def test_proportions_are_the_patients():
    image = cut(volume(np.ones((10, 1, 20))), np.array([0]), 40, outside=0)[0] > 0.5
    assert (image.any(axis=1).sum(), image.any(axis=0).sum()) == (40, 20)


def test_air_is_added_not_nothing():
    image = cut(volume(np.full((4, 1, 12), 50.0)), np.array([0]), 24, outside=-1000)[0]
    assert image[:, 0].max() == image[:, -1].max() == -1000
    assert image[12, 12] == pytest.approx(50)


def test_planes_of_the_body():
    ct = np.full((20, 30, 20), -1000.0)
    ct[5:15, 10:20, 5:15] = 40
    lesion = np.zeros(ct.shape, dtype=bool)
    lesion[8:10, 12:15, 8:10] = True
    assert choose_planes(volume(ct), lesion, step=0).tolist() == list(range(10, 20))
    assert set(np.diff(choose_planes(volume(ct), lesion, step=12))) == {3}
    with pytest.raises(ValueError, match="no coronal plane of it intersects a body"):
        choose_planes(volume(np.full((20, 30, 20), -1000.0)), lesion, step=0)


def test_a_thin_lesion_is_not_missed():
    ct = np.full((9, 40, 9), 40.0)
    lesion = np.zeros(ct.shape, dtype=bool)
    lesion[4, 7, 4] = True
    lesion[3:6, 21:23, 4] = True
    lesion[3:7, 22, 4] = True
    planes = choose_planes(volume(ct), lesion, step=40)
    assert 7 in planes
    assert 22 in planes  # where it is thickest
    assert 21 not in planes


def test_windows():
    np.testing.assert_array_equal(
        to_bytes(np.float32([-500, -160, 40, 240, 900]), -160, 240), [0, 0, 128, 255, 255]
    )
