"""Files are there whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from labelwise.io import atomic, save_predictions
from labelwise.io.atomic import replacing, replacing_folder, write_file
from labelwise.io.quantify import quantify

PROBS = np.full((5, 7, 4), 0.25)


def test_failed_write_keeps_the_old_file(tmp_path):
    path = save_predictions(tmp_path / "p.npz", probs=PROBS)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(bytes(100 // (file.write(b"half") - 4)))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["p.npz"]


KILLED = """
import os, pathlib, signal, sys
from labelwise.io import atomic
path = pathlib.Path(sys.argv[2])
with getattr(atomic, sys.argv[1])(path) as new:
    (new / "part").touch() if sys.argv[1] == "replacing_folder" else new.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="leftovers are not told from live files there")
@pytest.mark.parametrize("kind", ["replacing", "replacing_folder"])
def test_leftovers_of_a_killed_process_go_and_files_of_a_live_one_stay(kind: str, tmp_path):
    path = tmp_path / "p.npz"
    (tmp_path / ".p.npz.mine.labelwise.tmp").touch()
    (tmp_path / ".p.npz.b.abcdefgh.labelwise.tmp").touch()  # of another target
    kept = set(os.listdir(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED, kind, str(path)], check=False)
    assert len(set(os.listdir(tmp_path)) - kept) == 1
    write = getattr(atomic, kind)
    with write(path):
        (live,) = set(os.listdir(tmp_path)) - kept  # the killed one's is gone
        with write(path):
            assert live in os.listdir(tmp_path)
    assert set(os.listdir(tmp_path)) - kept == {"p.npz"}


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
        with replacing_folder(path) as new:
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
    with replacing_folder(to_folder) as new:
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
