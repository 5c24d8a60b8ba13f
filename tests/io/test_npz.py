"""Prediction files: what is written is read back, and what is broken is refused with one
sentence.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from full_predictions import FULL, PROBS
from labelwise.io import load_predictions, save_predictions
from labelwise.io.npz import NpzArrays
from labelwise.io.predictions import KEYS


class Explosive:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_everything_comes_back(tmp_path):
    path = save_predictions(tmp_path / "p.npz", **FULL)
    p = load_predictions(path)
    for key in KEYS:
        if key not in FULL:
            assert getattr(p, key) is None
        elif key == "class_names":
            assert p.class_names == FULL["class_names"]
        else:
            np.testing.assert_array_equal(getattr(p, key), FULL[key])
            assert getattr(p, key).dtype == FULL[key].dtype
    q = p.distribution()
    np.testing.assert_allclose(
        q.mean(), np.average(PROBS, axis=0, weights=FULL["weights"]), rtol=1e-6
    )
    assert len(p) == 7
    with np.load(path) as plain:  # NumPy reads it as well
        np.testing.assert_array_equal(plain["probs"], PROBS)


def test_files_of_numpy_and_other_layouts_are_read(tmp_path):
    for name, probs in {
        "f": np.asfortranarray(PROBS),
        "big": PROBS.astype(">f4"),
        "half": PROBS.astype(np.float16),
        "c": PROBS,
    }.items():
        for save in (np.savez, np.savez_compressed):
            save(tmp_path / f"{name}.npz", probs=probs)
            back = load_predictions(tmp_path / f"{name}.npz").probs
            np.testing.assert_array_equal(back, probs)
            assert back.dtype.isnative
        np.save(tmp_path / f"{name}.npy", probs)
        np.testing.assert_array_equal(load_predictions(tmp_path / f"{name}.npy").probs, probs)


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_large_arrays_are_mapped_and_small_ones_read(tmp_path, suffix):
    probs = np.full((2, 1 << 20, 3), 1 / 3, np.float32)
    path = save_predictions(tmp_path / f"p{suffix}", probs=probs)
    big = load_predictions(path).probs
    assert isinstance(big, np.memmap)
    np.testing.assert_array_equal(big[:, ::1000], probs[:, ::1000])
    assert not isinstance(
        load_predictions(save_predictions(tmp_path / f"q{suffix}", probs=PROBS)).probs, np.memmap
    )


def test_large_arrays_of_numpy_archives_are_mapped_wherever_they_lie(tmp_path):
    probs = np.tile(np.float32([0.25, 0.75]), (2, 1 << 20, 1))
    np.savez(tmp_path / "p.npz", probs=probs)
    big = load_predictions(tmp_path / "p.npz").probs
    assert isinstance(big, np.memmap)
    assert not big.flags.aligned
    np.testing.assert_array_equal(big, probs)
    np.testing.assert_array_equal(
        lw.decompose(lw.Ensemble(big)).total, lw.decompose(lw.Ensemble(probs)).total
    )


def test_pickled_objects_are_never_loaded(tmp_path):
    trap = tmp_path / "executed"
    objects = np.array([[[Explosive(trap)]]], dtype=object)
    np.savez(tmp_path / "p.npz", probs=objects)
    np.save(tmp_path / "p.npy", objects)
    (tmp_path / "q.npz").write_bytes(pickle.dumps(Explosive(trap)))
    (tmp_path / "q.npy").write_bytes(pickle.dumps(Explosive(trap)))
    for name in ("p.npz", "p.npy", "q.npz", "q.npy"):
        with pytest.raises(
            ValueError,
            match=r"^[pq]\.np[yz].*(bjects? |magic string|is damaged)",
        ):
            load_predictions(tmp_path / name)
    assert not trap.exists()


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("keep", [0, 1, 40, 0.5, 0.9, -1])
def test_truncated_files_are_refused(tmp_path, suffix, keep):
    path = save_predictions(tmp_path / f"p{suffix}", probs=PROBS)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(ValueError, match=r"p\.np[zy]"):
        load_predictions(path)


def test_a_flipped_bit_in_the_data_is_noticed(tmp_path):
    path = save_predictions(tmp_path / "p.npz", probs=PROBS)
    data = bytearray(path.read_bytes())
    data[data.index(PROBS[2].tobytes()) + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"^p\.npz is damaged, .*Bad CRC"):
        load_predictions(path)


def test_class_names_that_are_bytes_of_another_language(tmp_path):
    np.savez(tmp_path / "p.npz", probs=PROBS, class_names=np.array([b"a", b"b", b"\xff", b"d"]))
    with pytest.raises(ValueError, match=r"p\.npz: .*decode"):
        load_predictions(tmp_path / "p.npz")


def test_archive_without_predictions(tmp_path):
    np.savez(tmp_path / "p.npz", PROBS, PROBS)
    with pytest.raises(ValueError, match=r"must hold `probs` .* it holds arr_0, arr_1"):
        load_predictions(tmp_path / "p.npz")
    np.savez(tmp_path / "p.npz", probs=PROBS, extra=np.arange(3))
    with pytest.warns(UserWarning, match=r"p\.npz: `extra` is not read"):
        load_predictions(tmp_path / "p.npz")
    np.savez(tmp_path / "q.npz", probs=PROBS, class_names=np.arange(4))
    with pytest.raises(TypeError, match=r"q\.npz: `class_names` must be text"):
        load_predictions(tmp_path / "q.npz")


def test_arrays_are_read_when_they_are_asked_for(tmp_path):
    np.savez(tmp_path / "p.npz", probs=PROBS, other=np.array([Explosive(tmp_path / "x")]))
    arrays = NpzArrays(tmp_path / "p.npz")
    assert list(arrays) == ["probs", "other"]
    np.testing.assert_array_equal(arrays["probs"], PROBS)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        arrays["other"]


def test_empty_arrays_survive(tmp_path):
    np.savez(tmp_path / "p.npz", a=np.empty((0, 3)), b=np.array("text"), c=np.empty(2, "U0"))
    back = NpzArrays(tmp_path / "p.npz")
    assert back["a"].shape == (0, 3)
    assert str(back["b"]) == "text"
    assert back["c"].shape == (2,)


def test_changes_to_a_copy_on_write_map_are_saved(tmp_path) -> None:
    """Pages of maps are let go while they are written; those that are in no file must not be."""
    path = tmp_path / "a.npy"
    np.save(path, np.full((2, 1_500_000, 2), 0.5))  # more than one piece of 16 MB
    array = np.load(path, mmap_mode="c")
    array[:, :, 0], array[:, :, 1] = 0.25, 0.75
    save_predictions(tmp_path / "b.npy", probs=array)
    assert np.all(np.load(tmp_path / "b.npy") == [0.25, 0.75])
    assert np.all(array == [0.25, 0.75])
    assert np.all(np.load(path) == 0.5)
