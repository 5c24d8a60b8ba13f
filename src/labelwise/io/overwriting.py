"""No output may be a file that is read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .._errors import InputError


def refuse_overwriting(
    output: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]],
    *,
    replaced: bool = True,
) -> None:
    """Refuse an output that is one of the inputs, by whatever name: also through a link, and also a
    file in a folder that is read.

    Parameters
    ----------
    output : path
        What will be written.
    inputs : iterable of paths
        What is read. Of a folder, everything in it is.
    replaced : bool
        A file, or a folder such as a .zarr store, is replaced as a whole. If not, ``output`` is a
        folder that files are added to: it may be inside a folder that is read, or around one, but
        not be one.

    Raises
    ------
    InputError
        Before anything is written. A new output is never refused: nothing can be lost.
    """
    output = Path(output)
    if not output.exists():
        return
    for given in map(Path, inputs):
        paths = [given]
        if replaced:
            paths += given.rglob("*")
        for path in paths:
            if _is_same_file(output, path):
                other_name = ""
                if output != path:
                    other_name = f", the same as {str(path)!r},"
                raise InputError(
                    f"{str(output)!r}{other_name} is read and would be overwritten; choose another "
                    "output"
                )
        # Of folders only stores are replaced.
        if output.suffix == ".zarr" and any(
            _is_same_file(output, parent) for parent in given.resolve().parents
        ):
            raise InputError(
                f"{str(output)!r} would be overwritten, and with it {str(given)!r}, which is read; "
                "choose another output"
            )


def refuse_overwriting_source(output: Path, source: Path | None) -> None:
    """Refuse to replace the file that predictions were read from, and may still be mapped from.

    Of several files only their folder is known, and not everything in it was read: then nothing is
    refused.
    """
    if source is not None and (source.is_file() or source.suffix == ".zarr"):
        refuse_overwriting(output, [source])


def _is_same_file(one: Path, other: Path) -> bool:
    """Whether two names stand for the same file or folder."""
    try:
        return one.samefile(other)
    except OSError:  # there is none of this name, or none that can be read
        return False
