"""Files and folders that are there whole or not at all: written under a unique temporary name, then
renamed. Of several processes that write one output, the last to finish wins.

What is replaced keeps its mode, and a symbolic link stays: the file that it leads to is replaced.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str], *, inside: Path | None = None) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends well, and vanishes when it
    does not.

    Until then it is beside ``path``, or ``inside`` a folder of the same file system.
    """
    path = check_place(Path(path))
    with _new_files_for(path):
        handle, name = tempfile.mkstemp(".tmp", f".{path.name}.", inside or path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _take_over_mode(temporary, path)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def make_folder_for(path: Path, folder: Path) -> None:
    """Make a ``folder`` beside ``path`` if it is not there, for this user alone: what will be in
    ``path`` may be private.
    """
    with _new_files_for(path):
        folder.mkdir(0o700, exist_ok=True)


@contextmanager
def _new_files_for(path: Path) -> Iterator[None]:
    """Say in words that no temporary file or folder can be made beside ``path``."""
    try:
        yield
    except OSError as error:
        raise type(error)(
            f"cannot write {str(path)!r}: its folder takes no new files ({error.strerror})"
        ) from error


def check_place(path: Path, *, folder: bool = False) -> Path:
    """Where a file (or a ``folder``) will be; refuses a place where none can be written.

    A symbolic link stays: what it leads to is the place.
    """
    if path.is_dir() and not folder:
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder")
    if path.exists() and not path.is_file() and not folder:  # /dev/null would become a file
        raise OSError(f"cannot write {str(path)!r}: it is a pipe or a device, not a file")
    place = _final_place(path)
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {place.name!r}: there is no folder {str(place.parent)!r}"
        )
    return place


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, whole or not at all; text in UTF-8."""
    with replacing(path) as file:
        if isinstance(content, str):
            content = content.encode()
        file.write(content)


@contextmanager
def replacing_folder(path: Path, *, inside: Path) -> Iterator[Path]:
    """A new, empty folder that takes the place of ``path`` when the block ends well.

    It is made ``inside`` a folder of the same file system, where what it replaces is set aside. If
    that folder is removed meanwhile (see `remove_at_once`), nothing is replaced: writers that make
    missing folders again would leave only the files written since.
    """
    path = _final_place(path)
    work = Path(tempfile.mkdtemp(dir=inside))
    new, aside, still_here = work / "new", work / "replaced", work / "still_here"
    new.mkdir()
    still_here.touch()
    try:
        yield new
        if not still_here.exists():
            raise FileNotFoundError(f"{str(work)!r} was removed while it was written to")
        _take_over_mode(new, path)
        while True:
            with suppress(FileNotFoundError):  # there may be nothing to replace
                path.rename(aside)
            try:
                new.rename(path)
                break
            except OSError:
                if not (new.exists() and path.exists()):
                    raise
                shutil.rmtree(aside)  # another process has just put its own there: replace that
    finally:
        if aside.exists() and not path.exists():
            aside.rename(path)
        shutil.rmtree(work, ignore_errors=True)


def remove_at_once(folder: Path) -> None:
    """Remove a folder that others may be working in: they find all of it or nothing."""
    moved = folder.with_name(f"{folder.name}.removed-{os.getpid()}")
    with suppress(OSError):  # another process may have been faster
        folder.rename(moved)
    shutil.rmtree(moved, ignore_errors=True)


def _final_place(path: Path) -> Path:
    """Where a symbolic link leads; any other path as it is."""
    if path.is_symlink():
        return Path(os.path.realpath(path))
    return path


def _take_over_mode(new: Path, old: Path) -> None:
    """Give ``new`` the mode of what it replaces; where there is nothing yet, the one that the umask
    asks for: 0600 of a temporary file would hide the result from the user's group.
    """
    try:
        mode = stat.S_IMODE(old.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = (0o777 if new.is_dir() else 0o666) & ~mask
    new.chmod(mode)
