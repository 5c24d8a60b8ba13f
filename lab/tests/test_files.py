"""The lab's files: written whole or not at all, one process at a time."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelwise_lab import files


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    files.write_file(path, "first")
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~files._umask()

    def fail() -> None:
        with files.replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["a.txt"]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        files.write_file(tmp_path / "nowhere" / "a.txt", "x")


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    for content in ("old", "new"):
        with files.replacing_folder(path) as folder:
            (folder / "a").write_text(content)
    assert (path / "a").read_text() == "new"
    with pytest.raises(ZeroDivisionError), files.replacing_folder(path):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == ["folder"]


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.txt.xyz.labelwise.tmp").write_text("half")
    (tmp_path / ".folder.xyz.labelwise.tmp").mkdir()
    (tmp_path / "kept.txt").write_text("whole")
    files.remove_all_leftovers(tmp_path)
    assert os.listdir(tmp_path) == ["kept.txt"]


def test_arrays_there_and_back(tmp_path: Path) -> None:
    with files.replacing(tmp_path / "a.npz") as file:
        files.write_compressed_npz(file, {"x": np.arange(3), "y": np.eye(2)})
    assert list(files.read_npz(tmp_path / "a.npz", ["y"])) == ["y"]
    found = files.read_npz(tmp_path / "a.npz", lambda names: [n for n in names if n == "x"])
    np.testing.assert_array_equal(found["x"], np.arange(3))
    with files.replacing(tmp_path / "a.npy") as file:
        files.write_npy(file, np.arange(4))
    np.testing.assert_array_equal(files.read_npy(tmp_path / "a.npy"), np.arange(4))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"a\.npz"):
        files.read_npz(path)
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.json: Expecting property name"):
        files.read_json(tmp_path / "a.json")
    (tmp_path / "a.txt").write_bytes(b"\xff")
    with pytest.raises(ValueError, match=r"a\.txt: not a text file in UTF-8 \(.* at byte 0\)"):
        files.read_text(tmp_path / "a.txt")
    assert str(files.refuse("a.csv", "no rows")) == "a.csv: no rows"


def test_csv_text_quotes_what_needs_it() -> None:
    assert files.csv_text(("a", "b"), [("x,y", 1)]) == 'a,b\n"x,y",1\n'


def test_only_one_process_holds_a_lock(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from labelwise_lab.files import locked\n"
        "with locked(pathlib.Path(sys.argv[1]), 'training', 'stop it'): pass"
    )
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", script, str(lock)]
    with files.locked(lock, "training", "stop it"):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert f"another process is training (process {os.getpid()}, since" in done.stderr
    assert subprocess.run(command, timeout=60).returncode == 0
    assert not lock.exists()


def test_usable_cores() -> None:
    assert 1 <= files.usable_cores() <= (os.cpu_count() or 1)
