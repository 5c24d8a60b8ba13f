"""Interrupted, killed, in parallel or on damaged files: the same slices, or one sentence."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from optional_libraries import optional

nib = optional("nibabel")

from labelwise_lab.petct import Settings, find_studies, open_prepared, preparation, prepare  # noqa: E402
from labelwise_lab.petct.phantom import HELD_BACK, KINDS, write_nifti  # noqa: E402

SMALL = Settings(size=32, step=0)


def contents(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_interrupted_and_resumed_gives_the_same(prepared, phantoms, tmp_path, monkeypatch):
    options = {
        "settings": SMALL,
        "hold_back": [HELD_BACK],
        "test_size": 0.3,
        "val_size": 0.2,
        "n_jobs": 1,
    }
    calls = []
    original = preparation.cut_study

    def stop_at_the_sixth(*args):
        calls.append(args)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(preparation, "cut_study", stop_at_the_sixth)
    with pytest.raises(KeyboardInterrupt):
        prepare(phantoms, tmp_path / "out", **options)
    assert not (tmp_path / "out" / "manifest.json").exists()
    finished = len(list((tmp_path / "out" / "slices").glob("*.json")))
    assert finished >= 5
    calls.clear()
    monkeypatch.setattr(
        preparation, "cut_study", lambda *args: (calls.append(args), original(*args))[1]
    )
    prepare(phantoms, tmp_path / "out", **options)
    assert len(calls) == 17 - finished  # finished studies are not regenerated
    ours, theirs = contents(tmp_path / "out"), contents(prepared.folder)
    assert ours == theirs
    calls.clear()
    prepare(phantoms, tmp_path / "out", **options)
    assert calls == []
    assert contents(tmp_path / "out") == theirs


def test_threads_give_the_same_as_one_after_another(prepared, phantoms, tmp_path):
    told = []
    prepare(
        phantoms,
        tmp_path,
        settings=SMALL,
        hold_back=[HELD_BACK],
        test_size=0.3,
        val_size=0.2,
        n_jobs=2,
        progress=lambda *news: told.append(news),
    )
    assert contents(tmp_path) == contents(prepared.folder)
    assert told == [(i + 1, 17) for i in range(17)]


def test_changed_files_and_lost_slices_are_regenerated(copy, tmp_path):
    root, out = copy(15), tmp_path / "out"
    options = {
        "settings": SMALL,
        "diagnoses": KINDS,
        "n_jobs": 1,
        "test_size": 0.3,
        "val_size": 0.0,
    }
    first = prepare(root, out, **options)
    entry = first.manifest["studies"][0]
    (out / "slices" / entry["slices"]).unlink()
    with pytest.raises(
        ValueError, match=f"slices of {entry['patient']}/{entry['study']} are missing"
    ):
        open_prepared(out).part(entry["part"])
    pet = (
        root
        / first.manifest["studies"][1]["patient"]
        / first.manifest["studies"][1]["study"]
        / "SUV.nii.gz"
    )
    image = nib.load(pet)
    write_nifti(
        pet,
        nib.as_closest_canonical(image).get_fdata(dtype=np.float32) * 1.5,
        nib.as_closest_canonical(image).affine,
    )
    again = prepare(root, out, **options)
    assert again.part(entry["part"])[:].shape
    assert again.manifest["studies"][0] == entry
    assert (
        again.manifest["studies"][1]["slices_sha256"]
        != first.manifest["studies"][1]["slices_sha256"]
    )


def damage_truncated(study):
    study.pet.write_bytes(study.pet.read_bytes()[:-200])


def rewrite(path, change):
    image = nib.load(path)
    nib.save(nib.Nifti1Image(change(image.get_fdata(dtype=np.float32)), image.affine), path)


def spoil(x):
    x[0, 0, 0] = np.nan
    x[1, 1, 1] = np.inf
    return x


BAD = {
    "truncated": (damage_truncated, "SUV.nii.gz cannot be used: Compressed file ended"),
    "not finite": (
        lambda s: rewrite(s.ct, spoil),
        "CTres.nii.gz cannot be used: it has 2 voxels that are not finite",
    ),
    "other shape": (lambda s: rewrite(s.pet, lambda x: x[1:]), "must be on one grid"),
    "other shape of the mask": (
        lambda s: rewrite(s.seg, lambda x: x[:, :-2]),
        "must be on one grid",
    ),
    "four axes": (
        lambda s: rewrite(s.pet, lambda x: np.stack([x, x], -1)),
        "SUV.nii.gz cannot be used: it has 4 axes",
    ),
    "no voxels": (
        lambda s: s.pet.write_bytes(b""),
        "SUV.nii.gz cannot be used: Binary block is wrong size",
    ),
    "counts": (lambda s: rewrite(s.pet, lambda x: x * 5000), "SUV.nii.gz is not in SUV"),
    "not HU": (
        lambda s: rewrite(s.ct, lambda x: x + 1024),
        "CTres.nii.gz is not in Hounsfield units",
    ),
    "moved": (
        lambda s: nib.save(
            nib.Nifti1Image(
                nib.load(s.pet).get_fdata(dtype=np.float32),
                nib.load(s.pet).affine
                + np.diag([0, 0, 0, 0])
                + np.array([[0, 0, 0, 40]] + [[0] * 4] * 3),
            ),
            s.pet,
        ),
        "origin or voxel size",
    ),
    "no mask": (lambda s: s.seg.unlink(), "SEG.nii.gz is missing"),
    "a folder": (lambda s: (s.pet.unlink(), s.pet.mkdir()), "SUV.nii.gz is missing"),
    "empty body": (lambda s: rewrite(s.ct, lambda x: x * 0 - 1000), "intersects a body"),
}


def test_bad_studies_are_skipped_with_one_sentence_and_the_others_are_prepared(copy, tmp_path):
    root = copy(15)
    studies, _ = find_studies(root, diagnoses=KINDS)
    ill = [
        s
        for s in studies
        if s.diagnosis != "negative" and sum(t.patient == s.patient for t in studies) == 1
    ]
    good = [s.name for s in studies]
    expected = {}
    # Three at a time, so that enough are left to train on.
    names = list(BAD)
    backup = tmp_path / "backup"
    shutil.copytree(root, backup)
    out = tmp_path / "out"
    for start in range(0, len(names), 3):
        shutil.rmtree(root)
        shutil.copytree(backup, root)
        expected = {}
        for study, name in zip(ill[start % 2 :: 2], names[start : start + 3], strict=False):
            BAD[name][0](study)
            expected[study.name] = BAD[name][1]
        assert len(expected) == len(names[start : start + 3])
        result = prepare(
            root, out, settings=SMALL, diagnoses=KINDS, test_size=0.2, val_size=0.0, n_jobs=1
        )
        skipped = {f"{s['patient']}/{s['study']}": s["why"] for s in result.manifest["skipped"]}
        assert set(skipped) == set(expected), names[start : start + 3]
        for name, words in expected.items():
            assert words in skipped[name]
            assert "\n" not in skipped[name]
        used = [f"{s['patient']}/{s['study']}" for s in result.manifest["studies"]]
        assert sorted(used + list(skipped)) == sorted(good)


def test_a_full_disk_stops_and_leaves_nothing_half_written(
    prepared, phantoms, tmp_path, monkeypatch
):
    """The disk fills while the third study is written."""
    original, written = np.save, []

    def save(file, array):
        written.append(array)
        if len(written) == 3:
            file.write(b"the beginning")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(file, array)

    monkeypatch.setattr(preparation.np, "save", save)
    options = {
        "settings": SMALL,
        "hold_back": [HELD_BACK],
        "test_size": 0.3,
        "val_size": 0.2,
        "n_jobs": 1,
    }
    with pytest.raises(OSError, match="No space left on device"):
        prepare(phantoms, tmp_path / "out", **options)
    assert not (tmp_path / "out" / "manifest.json").exists()
    left = {path.suffix: path.stem for path in (tmp_path / "out" / "slices").iterdir()}
    assert set(left) == {".json", ".npy"}
    monkeypatch.undo()
    prepare(phantoms, tmp_path / "out", **options)
    assert contents(tmp_path / "out") == contents(prepared.folder)


PAUSED = """
import sys, time
from pathlib import Path
from labelwise_lab.petct import Settings, preparation

root, out = Path(sys.argv[1]), Path(sys.argv[2])

def pause():
    print("paused", flush=True)
    time.sleep(600)

def half(file, array):
    file.write(b"the beginning")
    pause()

if __name__ == "__main__":
    preparation.np.save = half
    preparation.prepare(root, out, settings=Settings(size=32, step=0), n_jobs=1)
"""


def test_what_a_killed_process_left_is_not_taken_for_slices(prepared, phantoms, tmp_path):
    out = tmp_path / "out"
    (tmp_path / "script.py").write_text(PAUSED)
    command = [sys.executable, str(tmp_path / "script.py"), str(phantoms), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "paused\n"
    process.kill()
    process.communicate()
    (left,) = (out / "slices").iterdir()
    assert left.name.startswith(".")
    prepare(
        phantoms, out, settings=SMALL, hold_back=[HELD_BACK], test_size=0.3, val_size=0.2, n_jobs=1
    )
    left.unlink()
    assert contents(out) == contents(prepared.folder)
