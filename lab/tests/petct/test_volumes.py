"""Reading volumes: every orientation gives the same anatomy, and no damaged file gives anything."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc

import numpy as np
import pytest

from optional_libraries import optional

nib = optional("nibabel")

from labelwise_lab.petct.phantom import Body, draw_anatomy, place_lesions, write_nifti  # noqa: E402
from labelwise_lab.petct.volumes import MAX_VOXELS, read_volume  # noqa: E402

CODES = [
    "".join(c)
    for order in itertools.permutations(("RL", "AP", "SI"))
    for c in itertools.product(*order)
]


def affine(spacing=(4.0, 5.0, 6.0), origin=(-10.0, 20.0, 30.0)):
    result = np.diag([*spacing, 1.0])
    result[:3, 3] = origin
    return result


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=(5, 6, 7)).astype(np.float32)


def test_there_are_48_orientations():
    assert len(set(CODES)) == 48


@pytest.mark.parametrize("code", CODES)
def test_every_order_and_direction_of_the_axes_gives_the_same_volume(tmp_path, values, code):
    path = tmp_path / "v.nii.gz"
    write_nifti(path, values, affine(), code)
    volume = read_volume(path)
    np.testing.assert_array_equal(volume.values, values)
    np.testing.assert_allclose(volume.spacing, (4, 5, 6), rtol=1e-6)
    np.testing.assert_allclose(volume.origin, (-10, 20, 30), atol=1e-4)


def test_nibabel_reads_the_same(tmp_path, values):
    path = tmp_path / "v.nii.gz"
    write_nifti(path, values, affine(), "PIL")
    theirs = nib.as_closest_canonical(nib.load(path))
    ours = read_volume(path)
    np.testing.assert_array_equal(ours.values, theirs.get_fdata(dtype=np.float32))
    np.testing.assert_allclose(ours.origin, theirs.affine[:3, 3], atol=1e-4)


@pytest.mark.parametrize("degrees", [3.0, 20.0])
def test_a_volume_that_is_oblique_is_straightened(tmp_path, degrees):
    rng = np.random.default_rng(3)
    body, lesions = Body.draw(rng), place_lesions("lymphoma", rng)
    spacing, shape = 12.0, np.array([44, 40, 84])
    a = np.radians(degrees)
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    oblique = np.eye(4)
    oblique[:3, :3] = turn * spacing
    oblique[:3, 3] = -turn @ ((shape - 1) / 2 * spacing)
    index = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"))
    world = np.tensordot(oblique[:3, :3], index, 1) + oblique[:3, 3].reshape(3, 1, 1, 1)
    ct, _, _ = draw_anatomy(body, lesions, world)
    nib.save(nib.Nifti1Image(ct.astype(np.float32), oblique), tmp_path / "oblique.nii.gz")
    volume = read_volume(tmp_path / "oblique.nii.gz", outside=-1000)
    grid = [
        (volume.origin[i] + volume.spacing[i] * np.arange(volume.values.shape[i])).reshape(
            [-1 if i == j else 1 for j in range(3)]
        )
        for i in range(3)
    ]
    expected, _, _ = draw_anatomy(body, lesions, grid)
    assert (expected > -300).mean() > 0.05  # there is a body to compare
    wrong = np.abs(volume.values - expected)
    assert (
        np.median(wrong[expected > -300]) < 25
    )  # HU, of a range of 1800; edges are blurred by the interpolation
    assert np.corrcoef(volume.values.ravel(), expected.ravel())[0, 1] > 0.97


def test_scaling_types_and_byte_order(tmp_path, values):
    header = nib.Nifti1Header(endianness=">")
    header.set_data_dtype(np.int16)
    image = nib.Nifti1Image((values * 100).astype(np.int16), affine(), header)
    image.header.set_slope_inter(0.5, 3)
    path = tmp_path / "v.nii"
    nib.save(image, path)
    assert path.read_bytes()[:4] == (348).to_bytes(4, "big")
    volume = read_volume(path)
    np.testing.assert_allclose(volume.values, nib.load(path).get_fdata(), rtol=1e-6)
    np.testing.assert_allclose(volume.spacing, (4, 5, 6), rtol=1e-6)


def test_other_units_than_millimeters_are_noticed_by_the_size_of_a_voxel(tmp_path, values):
    image = nib.Nifti1Image(values, affine(spacing=(4000.0, 5000.0, 6000.0)))
    image.header.set_xyzt_units("micron")
    nib.save(image, tmp_path / "v.nii")
    with pytest.raises(ValueError, match=r"voxels of \[4000.0, 5000.0, 6000.0\] mm"):
        read_volume(tmp_path / "v.nii")


def test_nifti_2_and_a_trailing_axis_of_one(tmp_path, values):
    path = tmp_path / "v.nii.gz"
    nib.save(nib.Nifti2Image(values[..., None], affine()), path)
    np.testing.assert_array_equal(read_volume(path).values, values)


def edited(path, edit):
    """Unpack a file, change its bytes, and pack it again."""
    raw = bytearray(gzip.decompress(path.read_bytes()))
    edit(raw)
    path.write_bytes(gzip.compress(bytes(raw)))


def set_shape(*shape):
    def edit(raw):
        raw[40 : 40 + 16] = np.array([len(shape), *shape, *[1] * (7 - len(shape))], "<i2").tobytes()

    return edit


def put(at, values, dtype):
    def edit(raw):
        data = np.asarray(values, dtype).tobytes()
        raw[at : at + len(data)] = data

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (set_shape(5, 6, 0), "expected 1 to"),
        (set_shape(5, -6, 7), "expected 1 to"),
        (set_shape(30000, 30000, 30000), "expected 1 to"),
        (set_shape(5, 3, 2, 7), "has 4 axes"),
        (set_shape(5, 42), "has 2 axes"),
        (put(70, [1792], "<i2"), "expected numbers"),  # complex
        (put(70, [128], "<i2"), "expected numbers"),  # RGB
        (put(70, [9999], "<i2"), "data code 9999 not recognized"),
        (put(252, [0, 0], "<i2"), "has no orientation"),
        (put(280, [np.nan], "<f4"), "has voxels of"),
        (put(280, [0, 0, 0, 0], "<f4"), "has voxels of"),
        (put(108, [np.float32(1e9)], "<f4"), "Expected"),
        (put(108, [np.float32(np.nan)], "<f4"), "cannot convert float NaN"),
        (put(352, [np.nan, np.inf], "<f4"), "has 2 voxels that are not finite"),
        (lambda raw: raw.__delitem__(slice(-9, None)), "Expected 840 bytes, got 831"),
        (lambda raw: raw.__delitem__(slice(100, None)), "wrong size"),
    ],
)
def test_damaged_files_get_one_sentence(tmp_path, values, edit, words):
    path = tmp_path / "SUV.nii.gz"
    write_nifti(path, values, affine())
    edited(path, edit)
    with pytest.raises(ValueError, match=words) as error:
        read_volume(path)
    assert str(error.value).startswith("SUV.nii.gz cannot be used: ")
    assert "\n" not in str(error.value)


def test_damaged_compression(tmp_path):
    values = np.random.default_rng(0).normal(size=(20, 20, 20)).astype(np.float32)
    path = tmp_path / "SUV.nii.gz"
    write_nifti(path, values, affine())
    whole = path.read_bytes()
    for cut in (
        0,
        5,
        30,
        len(whole) // 2,
        len(whole) - 3,
    ):  # the last one: only the checksum is missing
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"^SUV\.nii\.gz cannot be used"):
            read_volume(path)
    for at in range(20, len(whole), len(whole) // 40):  # bits flip: never other numbers
        damaged = bytearray(whole)
        damaged[at] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"^SUV\.nii\.gz cannot be used"):
            read_volume(path)


def test_random_headers_raise_nothing_but_sentences(tmp_path, values):
    path = tmp_path / "SUV.nii"
    nib.save(nib.Nifti1Image(values, affine()), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        raw = bytearray(whole)
        for at in rng.integers(0, 352, rng.integers(1, 6)):
            raw[at] = rng.integers(256)
        path.write_bytes(raw)
        try:
            said = "" if np.isfinite(read_volume(path).values).all() else "nonsense"
        except ValueError as error:
            said = str(error)
        assert said == "" or said.startswith("SUV.nii ")


def test_a_hostile_size_is_refused_before_memory_is_used(tmp_path, values):
    path = tmp_path / "SUV.nii.gz"
    write_nifti(path, values, affine())
    edited(path, set_shape(1200, 1200, 1200))
    assert MAX_VOXELS < 1200**3
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="expected 1 to"):
            read_volume(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
