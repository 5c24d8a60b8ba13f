"""Files that are there whole or not at all: written under a temporary name beside their place, then
renamed.

A process that is killed leaves its temporary files. They are called
``.NAME.xxxxxxxx.labelwise.tmp`` and are locked as long as their process lives, so that whoever
writes NAME next can tell those that nobody writes any more, and removes them.

What is replaced keeps its mode, and a symbolic link stays: the file that it leads to is replaced.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .lock import hold

_SUFFIX = ".labelwise.tmp"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends well, and vanishes when it
    does not.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder")
    if path.exists() and not path.is_file():  # renaming would turn /dev/null into a file
        raise OSError(f"cannot write {str(path)!r}: it is a pipe or a device, not a file")
    path = final_place(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name!r}: there is no folder {str(path.parent)!r}"
        )
    with _temporary(path) as name:
        with name.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        take_over_mode(name, path)
        name.replace(path)


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, whole or not at all; text in UTF-8."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A new, empty folder that takes the place of ``path`` when the block ends well, and vanishes
    when it does not.
    """
    path = final_place(path)
    with _temporary(path, folder=True) as name:
        yield name
        take_over_mode(name, path)
        shutil.rmtree(path, ignore_errors=True)
        name.rename(path)


def final_place(path: Path) -> Path:
    """Where a symbolic link leads, so that it stays and its target is updated; any other path as it
    is.
    """
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def take_over_mode(new: Path, old: Path) -> None:
    """Give ``new`` the mode of what it replaces; where there is nothing yet, the one that the umask
    asks for.
    """
    try:
        mode = stat.S_IMODE(old.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = (
            0o777 if new.is_dir() else 0o666
        ) & ~mask  # 0600 of a temporary file would hide the result from the user's group
    new.chmod(mode)


def remove_leftovers(path: Path) -> None:
    """Remove what killed processes have left of ``path``."""
    _remove(path.parent, re.compile(rf"\.{re.escape(path.name)}\.\w{{8}}{re.escape(_SUFFIX)}"))


def remove_all_leftovers(folder: Path) -> None:
    """Remove what killed processes have left in a folder that belongs to one output."""
    _remove(folder, re.compile(rf"\..+\.\w{{8}}{re.escape(_SUFFIX)}"))


def _remove(folder: Path, pattern: re.Pattern[str]) -> None:
    if (
        sys.platform == "win32"
        # a file that is locked there cannot be renamed either: ours are not locked, and cannot be
        # told apart
    ):
        return
    try:
        found = [
            folder / name
            for name in os.listdir(folder)
            if name.endswith(_SUFFIX) and pattern.fullmatch(name)
        ]
    except OSError:  # a folder that cannot be listed
        return
    for path in found:
        try:
            handle = hold(path)
        except OSError:  # its process is alive, or nobody can know
            continue
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        except OSError:  # it stays: no reason to fail
            continue
        finally:
            os.close(handle)


@contextmanager
def _temporary(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A new temporary file or folder for ``path``, locked against `remove_leftovers` and removed at
    the end if it is still there.
    """
    remove_leftovers(path)
    try:
        name, handle = _create(path, folder)
    except OSError as error:
        raise type(error)(
            f"cannot write {str(path)!r}: its folder takes no new files ({error.strerror})"
        ) from error
    try:
        yield name
    except BaseException:
        shutil.rmtree(name, ignore_errors=True) if folder else name.unlink(missing_ok=True)
        raise
    finally:
        if handle is not None:
            os.close(handle)


def _create(path: Path, folder: bool) -> tuple[Path, int | None]:
    while True:
        if folder:
            name = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=_SUFFIX, dir=path.parent))
        else:
            opened, text = tempfile.mkstemp(
                prefix=f".{path.name}.", suffix=_SUFFIX, dir=path.parent
            )
            os.close(opened)
            name = Path(text)
        if sys.platform == "win32":
            return name, None
        try:
            return name, hold(name)
        except (
            BlockingIOError,
            FileNotFoundError,
        ):  # another process took it for a leftover before it was locked
            continue
        except OSError:  # a file system without locks
            return name, None
