"""Opening what a user names: regular files only, and never more of them in memory than their size
allows.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._errors import InputError

__all__ = [
    "FLOOR",
    "LONGEST_TEXT",
    "RATIO",
    "allowed",
    "file_name",
    "format_of",
    "open_regular",
    "open_text_file",
    "read_bytes",
    "read_json",
    "read_text",
    "read_toml",
    "reading",
]

FLOOR, RATIO = 1 << 28, 100
"""The arrays of a file may take ``FLOOR`` bytes in all, or ``RATIO`` times the file's size if that
is more.

Predictions, images and labels compress 2 to 30 times; what asks for more is a bomb or has a wrong
header.
"""
LONGEST_TEXT = 1 << 22
"""Bytes of a text file such as a table of costs: those of 500 × 500 classes fit."""
# The parser's memory grows with the square of a key's length in words: a.a.a. ... of 400 kB takes
# all there is; a table takes some kB.
_LONG_KEY = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){8}""")
_TABLE = re.compile(r"^[ \t]*+\[", re.MULTILINE)
_MOST_TABLES = 5000


def allowed(stored: int) -> int:
    """How many bytes a file of ``stored`` bytes may take in memory, all its arrays together."""
    return max(FLOOR, RATIO * stored)


def format_of(path: Path) -> str:
    """The ending that tells the format, in lower case; with a compression also that before it, such
    as ``.csv.gz``.
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() + suffix if suffix == ".gz" else suffix


def open_regular(path: str | os.PathLike[str]) -> io.BufferedReader:
    """The file, open for reading, if it is a regular one: a pipe would block, and a device may
    never end.
    """
    # O_NONBLOCK: opening a pipe must not wait for its writer. It means nothing for regular files.
    handle = os.open(
        path,
        os.O_RDONLY
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_CLOEXEC", 0)
        | getattr(os, "O_BINARY", 0),
    )
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{os.fspath(path)} is a folder; expected a file")
        if not stat.S_ISREG(mode):
            raise ValueError(
                f"{os.fspath(path)} is not a regular file but a pipe or a device; save its content "
                "to a file first"
            )
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


@contextmanager
def open_text_file(path: Path, largest: int) -> Iterator[io.BufferedReader]:
    """A text file of at most ``largest`` bytes, open for reading its bytes; one that ends in .gz is
    unpacked.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise ValueError(
                f"{path.name} has {size:,} bytes; tables of more than {largest:,} are refused. "
                "Save it as .npy or .parquet"
            )
        if path.suffix.lower() != ".gz":
            yield file
            return
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(_Limited(unpacked, path.name, min(allowed(size), largest)))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path.name} is damaged, or not a file of gzip ({error})") from error


class _Limited(io.RawIOBase):
    """What a compressed file unpacks to, as long as it is not far more than the file's size
    allows.
    """

    def __init__(self, file: gzip.GzipFile, name: str, most: int) -> None:
        self._file, self._name, self._left = file, name, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(
                f"{self._name} unpacks to far more than its size; such files are refused"
            )
        buffer[: len(data)] = data
        return len(data)


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """The whole file, if it has at most ``most`` bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise ValueError(
                f"{os.fspath(path)} has {size:,} bytes; more than {most:,} are refused"
            )
        content = file.read(size + 1)  # memory for so many is taken at once
    if len(content) != size:
        raise ValueError(f"{os.fspath(path)} is not a regular file, or changed while it was read")
    return content


def read_text(path: str | os.PathLike[str], most: int = LONGEST_TEXT) -> str:
    """The text of a file in UTF-8, with any line ends."""
    try:
        return read_bytes(path, most).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{os.fspath(path)}: not a text file in UTF-8 ({error.reason} at byte {error.start})"
        ) from error


def read_toml(path: str | Path) -> dict[str, Any]:
    """The content of a TOML file."""
    text = read_text(path)
    if _LONG_KEY.search(text):
        raise ValueError(
            f"{os.fspath(path)}: a key has more than 8 words joined by dots; such files are refused"
        )
    if sum(1 for _ in _TABLE.finditer(text)) > _MOST_TABLES:
        raise ValueError(
            f"{os.fspath(path)}: it has more than {_MOST_TABLES:,} tables; such files are refused"
        )
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(f"{os.fspath(path)}: it is nested too deeply") from error
    except ValueError as error:
        last = f"at line {text.rstrip().count(chr(10)) + 1}, the last"
        raise ValueError(
            f"{os.fspath(path)}: {str(error).replace('at end of document', last)}"
        ) from error


def read_json(path: str | Path, most: int = LONGEST_TEXT) -> Any:
    """The content of a JSON file."""
    text = read_text(path, most)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(f"{os.fspath(path)}: it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def file_name(path: str | os.PathLike[str]) -> str:
    """What to call a file or folder in a message.

    >>> file_name("predictions/model1.csv"), file_name(".")
    ('model1.csv', 'the current folder')
    """
    path = Path(path)
    if path.name:
        return path.name
    return str(path) if path.is_absolute() else "the current folder"


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error of the block into one that names the file ``path``.

    Raises
    ------
    ValueError
        Instead of anything that is not one of the following: the file is damaged, or not in the
        format that its name says.
    ValueError, TypeError, OSError, ImportError, MemoryError
        As they came, with the file's name before them if they do not name it.
    """
    name = file_name(path)
    try:
        yield
    except (ImportError, MemoryError, Warning):
        raise
    except OSError as error:
        if error.filename is not None or name in str(error):
            raise
        raise OSError(f"{name}: {error}") from error
    except InputError as error:
        if name in str(error):
            raise
        raise error.found_in(name) from error
    except TypeError as error:
        if name in str(error):
            raise
        raise TypeError(f"{name}: {error}") from error
    except ValueError as error:
        if name in str(error):
            raise
        raise InputError(str(error), where=name) from error
    except Exception as error:
        if isinstance(error, RecursionError):
            raise ValueError(f"{name} is damaged: it is nested too deeply") from error
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ValueError(
            f"{name} is damaged, or not in the format that its name says ({why})"
        ) from error
