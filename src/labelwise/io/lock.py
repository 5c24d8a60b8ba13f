"""One process at a time: locks of the operating system, which end with the process, however it
ends.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

FOLDER_LOCK = ".labelwise.lock"
"""Name of the lock of a folder with one output."""
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # what file systems without locks say

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(
            handle, 1 << 30, os.SEEK_SET
        )  # a locked byte cannot be read: lock one far behind the text
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from None
        os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Vanished(FileNotFoundError):
    """The process that held a file has removed it at its end."""


def hold(path: Path, *, create: bool = False) -> int:
    """An open descriptor of a file or folder, locked until it is closed or the process ends.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    Vanished
        If it was removed before it was locked.
    OSError
        If it cannot be opened, or the file system has no locks.
    """
    how = os.O_RDONLY if path.is_dir() else os.O_RDWR
    handle = os.open(path, how | os.O_CREAT if create else how, 0o666)
    try:
        _lock(handle)
        if not _same(handle, path):
            raise Vanished(f"{str(path)!r} is gone")
    except BaseException:
        os.close(handle)
        raise
    return handle


def _same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def locked(path: Path, doing: str, otherwise: str) -> Iterator[None]:
    """Hold the file ``path``, which exists only for this purpose and is removed at the end.

    While another process holds it, the error says which: "another process is {doing} (...); wait
    for it, or {otherwise}".
    """
    handle = _hold_new(path, doing, otherwise)
    try:
        if handle is not None:
            with suppress(OSError):  # on a full disk without a name: what comes next may make room
                _write_holder(handle)
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file ...
            path.unlink()
        if handle is not None:
            os.close(handle)
            if sys.platform == "win32":
                with suppress(OSError):  # ... and none that the next process has opened
                    path.unlink()


def _write_holder(handle: int) -> None:
    from socket import gethostname

    os.ftruncate(handle, 0)
    holder = {
        "host": gethostname(),
        "pid": os.getpid(),
        "since": f"{datetime.now():%Y-%m-%d %H:%M:%S}",
    }
    os.write(handle, json.dumps(holder).encode())


def _hold_new(path: Path, doing: str, otherwise: str) -> int | None:
    while True:
        try:
            return hold(path, create=True)
        except BlockingIOError:
            raise ValueError(
                f"another process is {doing}{_holder(path)}; wait for it, or {otherwise}"
            ) from None
        except Vanished:
            continue
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise type(error)(
                    error.errno, f"cannot write in {str(path.parent)!r}: {error.strerror}"
                ) from error
            warnings.warn(
                f"{str(path)!r} cannot be locked ({error}): let no other process write there",
                stacklevel=4,
            )
            return None


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text(encoding="utf-8"))
        return f" (process {holder['pid']} on {holder['host']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):  # it has only just begun, or ended
        return ""


def end_with_parent() -> None:
    """End this process when its parent is gone: after ``kill -9`` nobody else would, and the lock
    of the parent is free by then.
    """
    import multiprocessing
    import threading
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def end() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
