from __future__ import annotations

import numpy as np
import pytest

from labelwise_lab.petct.slices import choose_planes, cut, fuse, interpolation, thumbnails, to_bytes
from labelwise_lab.petct.volumes import Volume


def volume(values, spacing=(4.0, 4.0, 4.0)):
    values = np.asarray(values, dtype=np.float32)
    return Volume(values, np.asarray(spacing), np.zeros(3), "RAS")


@pytest.mark.parametrize(
    ("n", "spacing", "size", "pixel"),
    [(10, 4.0, 40, 1.0), (37, 2.0, 20, 3.7), (8, 5.0, 8, 5.0), (9, 1.0, 31, 1.3)],
)
def test_straight_lines_are_kept(n, spacing, size, pixel):
    matrix = interpolation(n, spacing, size, pixel).toarray()
    where_in = (np.arange(n) - (n - 1) / 2) * spacing
    where_out = (np.arange(size) - (size - 1) / 2) * pixel
    inner = np.abs(where_out) < (n - 1) / 2 * spacing - max(pixel, spacing)
    assert inner.sum() >= 3
    np.testing.assert_allclose(matrix.sum(axis=1)[inner], 1, atol=1e-6)
    tolerance = (
        1e-4 if pixel <= spacing else 0.1 * spacing
    )  # the triangles of coarse pixels have their own small errors
    np.testing.assert_allclose((matrix @ where_in)[inner], where_out[inner], atol=tolerance)
    beyond = np.abs(where_out) > (n + 1) / 2 * spacing + pixel
    assert (matrix.sum(axis=1)[beyond] == 0).all()


def test_nothing_falls_between_coarse_pixels():
    """Each voxel has its share of the image, however coarse that is."""
    shares = interpolation(100, 1.0, 20, 5.0).toarray().sum(axis=0)
    np.testing.assert_allclose(shares[10:-10], 1 / 5, rtol=1e-5)


def test_the_same_size_changes_nothing():
    np.testing.assert_allclose(interpolation(12, 3.0, 12, 3.0).toarray(), np.eye(12), atol=1e-6)


def test_head_up_and_right_on_the_left():
    values = np.zeros((8, 3, 8))
    values[6, 1, 7] = 1  # to the patient's right (x is large), at the head (z is large)
    (image,) = cut(volume(values), np.array([1]), 8, outside=0)
    row, column = np.unravel_index(image.argmax(), image.shape)
    assert (row, column) == (0, 1)


def test_proportions_are_the_patients_unless_stretched():
    values = np.ones((10, 1, 20))
    image, stretched = (
        cut(volume(values), np.array([0]), 40, outside=0, stretch=s)[0] > 0.5 for s in (False, True)
    )
    rows, columns = image.any(axis=1).sum(), image.any(axis=0).sum()
    assert (rows, columns) == (40, 20)
    assert stretched[1:-1].all()
    assert stretched[:, 1:-1].all()


def test_air_is_added_not_nothing():
    image = cut(volume(np.full((4, 1, 12), 50.0)), np.array([0]), 24, outside=-1000)[0]
    assert image[:, 0].max() == image[:, -1].max() == -1000
    assert image[12, 12] == pytest.approx(50)


def test_planes_by_rule():
    ct = np.full((20, 30, 20), -1000.0)
    ct[5:15, 10:20, 5:15] = 40
    lesion = np.zeros(ct.shape, dtype=bool)
    lesion[8:10, 12:15, 8:10] = True
    v = volume(ct)
    assert choose_planes(v, lesion, rule="all", step=0).tolist() == list(range(30))
    assert choose_planes(v, lesion, rule="body", step=0).tolist() == list(range(10, 20))
    assert choose_planes(v, lesion, rule="lesion", step=0).tolist() == [12, 13, 14]
    every = choose_planes(v, lesion, rule="all", step=12)
    assert set(np.diff(every)) == {3}


def test_a_thin_lesion_is_not_missed():
    ct = np.full((9, 40, 9), 40.0)
    lesion = np.zeros(ct.shape, dtype=bool)
    lesion[4, 7, 4] = True
    lesion[3:6, 21:23, 4] = True
    lesion[3:7, 22, 4] = True
    planes = choose_planes(volume(ct), lesion, rule="body", step=40)
    assert 7 in planes
    assert 22 in planes  # where it is thickest
    assert 21 not in planes


def test_windows_and_fusion():
    np.testing.assert_array_equal(
        to_bytes(np.float32([-500, -160, 40, 240, 900]), -160, 240), [0, 0, 128, 255, 255]
    )
    pet, ct = np.array([0, 255, 10, 255], np.uint8), np.array([0, 255, 21, 0], np.uint8)
    np.testing.assert_array_equal(fuse(pet, ct), [0, 255, 16, 128])


def test_thumbnails_show_uptake_in_red_over_gray():
    images = np.zeros((2, 300, 300, 3), np.uint8)
    images[..., 1] = 90
    images[0, 30:60, 30:60, 0] = 255
    small = thumbnails(images)
    assert small.shape == (2, 100, 100, 3)
    np.testing.assert_array_equal(small[0, 15, 15], [255, 0, 0])
    np.testing.assert_array_equal(small[1, 15, 15], [90, 90, 90])
