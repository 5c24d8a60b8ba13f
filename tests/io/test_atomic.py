"""Files are there whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from labelwise.io import save_predictions
from labelwise.io.atomic import remove_at_once, replacing, replacing_folder, write_file
from labelwise.io.quantify import quantify

PROBS = np.full((5, 7, 4), 0.25)


def test_failed_write_keeps_the_old_file(tmp_path):
    path = save_predictions(tmp_path / "p.npz", probs=PROBS)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(bytes(100 // (file.write(b"half") - 4)))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["p.npz"]


def test_the_last_to_finish_wins_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "p.txt"
    with replacing(path) as first:
        first.write(b"first, and longer")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first, and longer"
    assert os.listdir(tmp_path) == ["p.txt"]


def store(folder, name: str) -> None:
    (folder / name).touch()


def test_a_folder_is_swapped_also_when_another_process_has_just_put_its_own(tmp_path):
    path, work = tmp_path / "p.zarr", tmp_path / "work"
    work.mkdir()
    with replacing_folder(path, inside=work) as first:
        store(first, "first")
        with replacing_folder(path, inside=work) as second:
            store(second, "second")
        assert os.listdir(path) == ["second"]
    assert os.listdir(path) == ["first"]
    assert os.listdir(work) == []


def test_a_folder_whose_place_was_removed_while_it_was_written_replaces_nothing(tmp_path):
    """Zarr makes missing folders again, so the rest of the files would be there, and only they."""
    inside, out = tmp_path / "inside", tmp_path / "out"
    inside.mkdir()
    out.mkdir()
    (out / "old").touch()

    def write() -> None:
        with replacing_folder(out, inside=inside) as folder:
            (folder / "first").touch()
            remove_at_once(inside)
            folder.mkdir(parents=True)
            (folder / "second").touch()

    with pytest.raises(FileNotFoundError, match="was removed"):
        write()
    assert os.listdir(out) == ["old"]
    assert sorted(os.listdir(tmp_path)) == ["inside", "out"]
    assert os.listdir(inside) == []


def test_a_folder_put_there_between_the_two_renames_is_replaced_too(tmp_path, monkeypatch):
    path, rename = tmp_path / "p.zarr", Path.rename
    path.mkdir()
    raced = []

    def slow(old, new):
        if new == path and not raced:  # ours has been set aside, and now there is another's
            raced.append(old)
            path.mkdir()
            store(path, "another's")
        return rename(old, new)

    monkeypatch.setattr(Path, "rename", slow)
    with replacing_folder(path, inside=tmp_path) as new:
        store(new, "ours")
    assert raced
    assert os.listdir(path) == ["ours"]
    assert os.listdir(tmp_path) == ["p.zarr"]


def test_a_folder_that_cannot_be_put_in_its_place_leaves_the_old_one(tmp_path, monkeypatch):
    path, rename = tmp_path / "p.zarr", Path.rename
    path.mkdir()
    store(path, "old")

    def interrupted(old, new):
        if new == path and old.name == "new":
            raise KeyboardInterrupt
        return rename(old, new)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), replacing_folder(path, inside=tmp_path):
        pass
    assert os.listdir(path) == ["old"]
    assert os.listdir(tmp_path) == ["p.zarr"]


def mode(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such modes")
def test_modes_are_kept_and_new_files_follow_the_umask(umask, tmp_path):
    for name in ("private", "shared", "new"):
        path = tmp_path / name
        if name != "new":
            path.write_text("old")
            path.chmod(0o600 if name == "private" else 0o664)
        write_file(path, "new")
        assert path.read_text() == "new"
        assert mode(path) == {"private": 0o600, "shared": 0o664, "new": 0o640}[name]
    for name in ("private.zarr", "new.zarr"):
        path = tmp_path / name
        if name != "new.zarr":
            path.mkdir(0o700)
        with replacing_folder(path, inside=tmp_path) as new:
            (new / "part").touch()
        assert mode(path) == {"private.zarr": 0o700, "new.zarr": 0o750}[name]


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges there")
def test_a_link_stays_and_its_target_is_updated(tmp_path):
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to("store/real.csv")
    write_file(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert mode(target) == 0o600
    assert os.listdir(tmp_path / "store") == ["real.csv"]
    dangling = tmp_path / "dangling.csv"
    dangling.symlink_to("store/later.csv")
    write_file(dangling, "new")
    assert (tmp_path / "store" / "later.csv").read_text() == "new"
    folder, to_folder = tmp_path / "store" / "real.zarr", tmp_path / "link.zarr"
    folder.mkdir()
    (folder / "old").touch()
    to_folder.symlink_to("store/real.zarr")
    with replacing_folder(to_folder, inside=tmp_path) as new:
        (new / "part").touch()
    assert to_folder.is_symlink()
    assert os.listdir(folder) == ["part"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(
        OSError, match=f"^cannot write {str(path)!r}: it is a pipe or a device, not a file$"
    ):
        write_file(path, "new")
    assert stat.S_ISFIFO(os.stat(path).st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges there")
@pytest.mark.parametrize("suffix", [".npz", ".csv", ".zarr", ".parquet"])
def test_results_of_any_format_keep_mode_and_link(suffix: str, tmp_path, optional):
    if suffix in (".zarr", ".parquet"):
        optional({".zarr": "zarr", ".parquet": "pyarrow"}[suffix])
    source = save_predictions(tmp_path / "p.npz", probs=PROBS)
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / f"real{suffix}", tmp_path / f"link{suffix}"
    quantify(source, target)
    private = 0o700 if suffix == ".zarr" else 0o600
    target.chmod(private)
    before = target.stat().st_ino
    link.symlink_to(target)
    assert quantify(source, link).path == link
    assert link.is_symlink()
    assert target.stat().st_ino != before
    assert mode(target) == private
    assert os.listdir(tmp_path / "store") == [target.name]
    assert set(os.listdir(tmp_path)) == {"p.npz", "store", link.name}
