"""Locks: one process at a time, said by name, and gone with the process that held them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labelwise.io import lock

HOLDER = (
    "import sys, pathlib\nfrom labelwise.io.lock import locked\nwith "
    "locked(pathlib.Path(sys.argv[1]), 'x', 'y'):\n    print('held', flush=True)\n    "
    "sys.stdin.read()\n"
)


def test_another_process_is_named_and_its_end_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(
                ValueError,
                match=(
                    rf"another process is writing 'a' \(process {other.pid} on .*\); wait for it, "
                    r"or stop"
                ),
            ),
            lock.locked(path, "writing 'a'", "stop"),
        ):
            pass
        other.kill()
    with lock.locked(path, "writing 'a'", "stop"):
        assert str(os.getpid()) in path.read_text()
    assert not path.exists()


def test_a_lock_removed_by_its_last_holder_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    path.touch()
    monkeypatch.setattr(lock, "_lock", lambda handle: path.unlink())
    with pytest.raises(lock.Vanished, match="is gone"):
        lock.hold(path)


def test_a_file_system_without_locks_gives_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock, "_lock", refuse)
    with (
        pytest.warns(UserWarning, match="cannot be locked"),
        lock.locked(tmp_path / "lock", "writing", "stop"),
    ):
        pass
