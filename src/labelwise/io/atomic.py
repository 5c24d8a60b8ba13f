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
    check_place(Path(path))
    path = final_place(Path(path))
    try:
        handle, name = tempfile.mkstemp(".tmp", f".{path.name}.", inside or path.parent)
    except OSError as error:
        raise no_new_files(path, error) from error
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


def no_new_files(path: Path, error: OSError) -> OSError:
    """The same error, of a temporary file or folder beside ``path``, in words."""
    sentence = f"cannot write {str(path)!r}: its folder takes no new files ({error.strerror})"
    return type(error)(sentence)


def check_place(path: Path, *, folder: bool = False) -> None:
    """Refuse a place where no file (or no ``folder``) can be written."""
    if path.is_dir() and not folder:
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder")
    if path.exists() and not path.is_file() and not folder:  # /dev/null would become a file
        raise OSError(f"cannot write {str(path)!r}: it is a pipe or a device, not a file")
    place = final_place(path)
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {place.name!r}: there is no folder {str(place.parent)!r}"
        )


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
    path = final_place(path)
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


def final_place(path: Path) -> Path:
    """Where a symbolic link leads, so that it stays and its target is updated; any other path as it
    is.
    """
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
