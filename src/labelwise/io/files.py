"""Files that a user names: found, opened, and named in every error."""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._errors import InputError


def format_of(path: Path) -> str:
    """The ending that tells the format, in lower case."""
    return path.suffix.lower()


def find_files(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], formats: Collection[str]
) -> list[Path]:
    """The files of the members; of a folder those of a known format, model2 before model10."""
    if isinstance(path, str | os.PathLike):
        path = [path]
    paths = list(map(Path, path))
    if not paths:
        raise ValueError("there are no prediction files; name at least one")
    if len(paths) == 1 and paths[0].is_dir() and paths[0].suffix != ".zarr":
        folder = paths[0]
        paths = [file for file in folder.glob("[!.]*") if format_of(file) in formats]
        paths.sort(key=lambda file: [part.zfill(20) for part in re.split(r"([0-9]+)", file.name)])
        if not paths:
            raise ValueError(
                f"the folder {str(folder)!r} holds no prediction files ({', '.join(formats)})"
            )
    for one in paths:
        if format_of(one) not in formats:
            raise ValueError(
                f"predictions are read from {', '.join(formats)}, or a folder of such files; "
                f"got {one.name or str(one)!r}"
            )
        check_there(one, "prediction")
    kinds = sorted(set(map(format_of, paths)))
    if len(kinds) > 1:
        raise ValueError(f"the members must be files of one format; got {', '.join(kinds)}")
    return paths


def check_there(path: Path, kind: str) -> None:
    """Refuse a missing file; of a mistyped one, the file that was probably meant is said."""
    if not path.exists():
        raise FileNotFoundError(f"there is no {kind} file {str(path)!r}{similar_file(path)}")


def similar_file(path: Path) -> str:
    """The end of a message about a missing file: the file that was probably meant."""
    try:
        there = sorted(os.listdir(path.parent))
    except OSError:
        return ""
    # an ending that both have says nothing about the rest of a name
    stems = [Path(name).stem for name in there if Path(name).suffix == path.suffix]
    for close in difflib.get_close_matches(path.stem, stems, n=1):
        return f". Did you mean {str(path.with_stem(close))!r}?"
    return ""


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse what is no file: a pipe would block, and a device may never end."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode) and Path(path).suffix != ".zarr":
        raise IsADirectoryError(f"{os.fspath(path)} is a folder; expected a file")
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError(
            f"{os.fspath(path)} is not a regular file but a pipe or a device; save its content "
            "to a file first"
        )


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8, with any line ends."""
    with reading(path):
        check_regular(path)
        return Path(path).read_text(encoding="utf-8")


def read_toml(path: str | Path) -> dict[str, Any]:
    """The content of a TOML file."""
    with reading(path):
        return tomllib.loads(read_text(path))


def read_json(path: str | Path) -> Any:
    """The content of a JSON file."""
    with reading(path):
        return json.loads(read_text(path))


def file_name(path: str | os.PathLike[str]) -> str:
    """What to call a file or folder in a message.

    >>> file_name("predictions/model1.csv"), file_name(".")
    ('model1.csv', 'the current folder')
    """
    return Path(path).name or "the current folder"


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error of the block into one sentence that names the file ``path``.

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
    except InputError as error:
        if name in str(error):
            raise
        raise error.found_in(name) from error
    except Exception as error:
        # Libraries raise a plain OSError on damage, too; one of the system has a number or a kind.
        damaged = type(error) is OSError and error.errno is None
        expected = isinstance(error, ValueError | TypeError | OSError) and not damaged
        if expected and (name in str(error) or getattr(error, "filename", None) is not None):
            raise
        sentence = str(error).partition("\n")[0] or type(error).__name__
        if isinstance(error, UnicodeDecodeError) and error.encoding == "utf-8":
            sentence = f"not a text file in UTF-8 ({error.reason}); save it as UTF-8"
        if not expected:
            raise ValueError(
                f"{name} is damaged, or not in the format that its name says ({sentence})"
            ) from error
        if isinstance(error, ValueError):
            raise InputError(sentence, where=name) from error
        if isinstance(error, OSError):
            raise OSError(f"{name}: {sentence}") from error
        raise TypeError(f"{name}: {sentence}") from error
