"""Files of the lab: written whole or not at all, one process at a time, and errors that name the
file.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import numpy as np

FOLDER_LOCK = ".labelwise.lock"
_TEMPORARY = ".labelwise.tmp"


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what a library raises about a damaged file into one sentence that names it."""
    name = Path(path).name
    try:
        yield
    except (ImportError, MemoryError, Warning):
        raise
    except (ValueError, TypeError, OSError) as error:
        if name in str(error) or getattr(error, "filename", None) is not None:
            raise
        raise ValueError(f"{name}: {error}") from error
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{name} is damaged, or not in the format that its name says ({reason})"
        ) from error


def refuse(path: str | os.PathLike[str], why: str) -> ValueError:
    """The error to raise for a file that cannot be used."""
    return ValueError(f"{os.fspath(path)}: {why}")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8, with any line ends."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        message = (
            f"{os.fspath(path)}: not a text file in UTF-8 ({error.reason} at byte {error.start})"
        )
        raise ValueError(message) from error


def read_json(path: str | os.PathLike[str]) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def read_npy(path: Path) -> np.ndarray:
    """The array of a .npy file, mapped."""
    with reading(path):
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def read_npz(
    path: Path, keys: Sequence[str] | Callable[[list[str]], Sequence[str]] | None = None
) -> dict[str, np.ndarray]:
    """Arrays of an .npz file: all, those that are named, or those that ``keys`` chooses of the
    names there.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            wanted = list(archive.files)
            if callable(keys):
                wanted = list(keys(wanted))
            elif keys is not None:
                wanted = [key for key in keys if key in archive.files]
            return {key: archive[key] for key in wanted}
    except (OSError, MemoryError):
        raise
    except Exception as error:  # NumPy, zipfile, zlib, lzma and bz2 each raise their own
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"{path} is not a readable .npz file ({reason})") from error


def write_npy(file: IO[bytes], array: np.ndarray) -> None:
    """One array in .npy format."""
    np.lib.format.write_array(file, array, allow_pickle=False)


def write_compressed_npz(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """An archive compressed by bzip2, a tenth smaller than deflate; equal arrays give equal
    bytes.
    """
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            entry = zipfile.ZipInfo(f"{key}.npy")
            entry.compress_type = zipfile.ZIP_BZIP2
            with archive.open(entry, "w") as member:
                write_npy(member, array)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends well, and vanishes when it
    does not.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name!r}: there is no folder {str(path.parent)!r}"
        )
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(
            name, 0o666 & ~_umask()
        )  # mkstemp's 0600 would hide the result from the user's group
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, whole or not at all; text in UTF-8."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A new, empty folder that takes the place of ``path`` when the block ends well."""
    name = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=_TEMPORARY, dir=path.parent))
    try:
        yield name
        name.chmod(0o777 & ~_umask())
        shutil.rmtree(path, ignore_errors=True)
        name.rename(path)
    except BaseException:
        shutil.rmtree(name, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def remove_all_leftovers(folder: Path) -> None:
    """Remove what killed processes have left in a folder that this process has locked."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, doing: str, otherwise: str) -> Iterator[None]:
    """Hold the file ``path``, which exists only for this purpose; the lock ends with the process,
    however it ends.

    While another process holds it, the error says which: "another process is {doing} (...); wait
    for it, or {otherwise}".
    """
    import fcntl

    handle = _hold(path)
    if handle is None:
        raise ValueError(f"another process is {doing}{_holder(path)}; wait for it, or {otherwise}")
    try:
        with suppress(OSError):  # on a full disk without a name: what comes next may make room
            holder = {"pid": os.getpid(), "since": f"{datetime.now():%Y-%m-%d %H:%M:%S}"}
            os.ftruncate(handle, 0)
            os.write(handle, json.dumps(holder).encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _hold(path: Path) -> int | None:
    """The open, locked file; ``None`` if another process holds it."""
    import fcntl

    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        # The process that held the file before may have removed it between our two calls.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text(encoding="utf-8"))
        return f" (process {holder['pid']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):  # it has only just begun, or ended
        return ""


def end_with_parent() -> None:
    """End this process when its parent is gone: after ``kill -9`` nobody else would."""
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


def usable_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
