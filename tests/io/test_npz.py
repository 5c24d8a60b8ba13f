"""Prediction files: what is written is read back, and what is broken or hostile is refused with one
sentence.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from full_predictions import FULL, PROBS
from labelwise.io import load_predictions, save_predictions
from labelwise.io.atomic import replacing
from labelwise.io.npz import read_npz, write_compressed_npz, write_npz
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
    assert big.flags.aligned
    assert big.offset % 64 == 0
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


def test_compressed_archives_are_small_and_the_same_every_time(tmp_path):
    arrays = {
        "a": np.zeros((50, 40)),
        "names": np.array(["x", "yz"]),
        "f": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    }
    for name in ("one.npz", "two.npz"):
        with replacing(tmp_path / name) as file:
            write_compressed_npz(file, arrays)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert (tmp_path / "one.npz").stat().st_size < arrays["a"].nbytes / 10
    with np.load(tmp_path / "one.npz") as plain:  # NumPy reads it as well
        assert plain.files == list(arrays)
    for key, array in read_npz(tmp_path / "one.npz", list(arrays)).items():
        np.testing.assert_array_equal(array, arrays[key])
        assert array.flags.f_contiguous == arrays[key].flags.f_contiguous


def test_errors_call_the_file_what_they_are_told(tmp_path):
    path = tmp_path / "a.npz"
    path.write_text("x")
    for what, start in ((None, "a.npz is"), (repr(str(path)), f"{str(path)!r} is")):
        with pytest.raises(ValueError, match=r"not a readable \.npz file") as refused:
            read_npz(path, ["x"], what=what)
        assert str(refused.value).startswith(start)


def test_pickled_objects_are_never_loaded(tmp_path):
    trap = tmp_path / "executed"
    objects = np.array([[[Explosive(trap)]]], dtype=object)
    np.savez(tmp_path / "p.npz", probs=objects)
    np.save(tmp_path / "p.npy", objects)
    (tmp_path / "q.npz").write_bytes(pickle.dumps(Explosive(trap)))
    (tmp_path / "q.npy").write_bytes(pickle.dumps(Explosive(trap)))
    for name in ("p.npz", "p.npy", "q.npz", "q.npy"):
        with pytest.raises(ValueError, match=r"never read|not a readable|not an array"):
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
    with pytest.raises(ValueError, match=r"not a readable \.npz file: Bad CRC"):
        load_predictions(path)


def test_header_that_promises_more_than_is_there(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": (5, 10**12, 10)}
    )
    (tmp_path / "p.npy").write_bytes(head.getvalue() + bytes(100))
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("probs.npy", head.getvalue() + bytes(100))
    for name in ("p.npy", "p.npz"):
        with pytest.raises(
            ValueError, match=r"is damaged: .* needs 200,000,000,000,000 bytes; 100 are there"
        ):
            load_predictions(tmp_path / name)


def test_zip_bomb_is_refused_by_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "labelwise.io.files.FLOOR", 1 << 20
    )  # the same rule, with a file that is quick to make
    np.savez_compressed(tmp_path / "p.npz", probs=np.zeros((1, 1 << 20, 2)))
    with pytest.raises(ValueError, match="would unpack from"):
        load_predictions(tmp_path / "p.npz")


def test_the_arrays_of_a_file_are_counted_together(tmp_path):
    parts = {
        "probs": np.zeros((1, 17_000_000, 2), np.float32),
        "images": np.zeros((17_000_000, 8, 1), np.uint8),
    }
    np.savez_compressed(tmp_path / "p.npz", **parts)  # 136 MB each: one of them would do
    with pytest.raises(
        ValueError,
        match=r"p\.npz would unpack from [0-9,]+ to 272,000,256 bytes; .* Save it uncompressed",
    ):
        load_predictions(tmp_path / "p.npz")
    np.savez_compressed(tmp_path / "q.npz", probs=parts["probs"])
    assert load_predictions(tmp_path / "q.npz").probs.shape == (1, 17_000_000, 2)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_occurs_twice_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", PROBS)
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        for _ in range(300):
            archive.write(tmp_path / "a.npy", "probs.npy")
    with pytest.raises(ValueError, match=r"p\.npz is damaged: it holds 'probs' twice"):
        load_predictions(tmp_path / "p.npz")
    with zipfile.ZipFile(
        tmp_path / "p.npz", "w"
    ) as archive:  # the second is the same array for NumPy
        archive.write(tmp_path / "a.npy", "probs.npy")
        archive.write(tmp_path / "a.npy", "probs")
    with pytest.raises(ValueError, match="twice"):
        load_predictions(tmp_path / "p.npz")


def test_sizes_of_terabytes_are_refused(tmp_path):
    for huge in (1 << 43, (1 << 63) - 1, (1 << 64) - 1):
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "<f4", "fortran_order": False, "shape": (1, 1 << 40, 2)}
        )
        with (
            zipfile.ZipFile(tmp_path / "q.npz", "w") as archive,
            archive.open("probs.npy", "w", force_zip64=True) as member,
        ):
            member.write(head.getvalue())
        with zipfile.ZipFile(tmp_path / "q.npz") as archive:
            entry = archive.getinfo("probs.npy")
        content = bytearray((tmp_path / "q.npz").read_bytes())
        at = content.rindex(b"PK\x01\x02")  # the directory: both sizes in a field of 64 bits
        name = len(entry.filename)
        content[at + 20 : at + 28] = b"\xff" * 8
        content[at + 30 : at + 32] = struct.pack("<H", 20)
        extra = struct.pack("<HHQQ", 1, 16, huge, len(head.getvalue()))
        content[at + 46 + name : at + 46 + name] = extra
        end = content.rindex(b"PK\x05\x06")
        content[end + 12 : end + 16] = struct.pack("<I", end - at)
        (tmp_path / "q.npz").write_bytes(content)
        with pytest.raises(
            ValueError, match=r"q\.npz would unpack from|q\.npz (is damaged|is not a readable)"
        ):
            load_predictions(tmp_path / "q.npz")


@pytest.mark.parametrize("code", [0x110000, 0x7FFFFFFF, 0xFFFFFFFF, 0xD800])
def test_text_with_impossible_characters_is_refused(tmp_path, code):
    for key, values in (
        ("class_names", np.array(["a", "b", "c", "d"])),
        ("ids", np.array([f"case {i}" for i in range(7)])),
    ):
        path = tmp_path / "p.npz"
        values.view(np.uint32)[-1] = code
        with replacing(path) as file:
            write_npz(file, {"probs": PROBS, key: values})
        with pytest.raises(
            ValueError,
            match=rf"p\.npz: `{key}` is damaged: it holds text with impossible characters",
        ):
            load_predictions(path)


def test_class_names_that_are_bytes_of_another_language(tmp_path):
    np.savez(tmp_path / "p.npz", probs=PROBS, class_names=np.array([b"a", b"b", b"\xff", b"d"]))
    with pytest.raises(ValueError, match=r"p\.npz: .*decode"):
        load_predictions(tmp_path / "p.npz")


@pytest.mark.filterwarnings("ignore::UserWarning")  # damaged names are said
def test_random_damage_gives_one_sentence(tmp_path):
    rng = np.random.default_rng(0)
    whole = {}
    for name, options in (("p.npz", {}), ("z.npz", {}), ("p.npy", None)):
        if options is None:
            save_predictions(tmp_path / name, probs=PROBS)
        elif name == "z.npz":
            np.savez_compressed(tmp_path / name, **FULL)
        else:
            save_predictions(tmp_path / name, **FULL)
        whole[name] = (tmp_path / name).read_bytes()
    refused = []
    for i in range(900):
        name = list(whole)[i % 3]
        content = bytearray(whole[name])
        for _ in range(rng.integers(1, 4)):
            at = (
                rng.integers(len(content))
                if rng.random() < 0.5
                else len(content) - 1 - rng.integers(min(len(content), 600))
            )
            content[at] = rng.integers(256)
        (tmp_path / name).write_bytes(content)
        try:
            load_predictions(tmp_path / name)
        except (ValueError, TypeError) as error:
            refused.append((name, str(error)))
    assert len(refused) > 300
    assert [pair for pair in refused if not pair[1].startswith(pair[0]) or "\n" in pair[1]] == []


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


def test_empty_arrays_survive(tmp_path):
    with replacing(tmp_path / "p.npz") as file:
        write_npz(file, {"a": np.empty((0, 3)), "b": np.array("text"), "c": np.empty(2, "U0")})
    back = read_npz(tmp_path / "p.npz", ("a", "b", "c"))
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
