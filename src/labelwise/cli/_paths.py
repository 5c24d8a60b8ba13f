"""The paths of a command: what it reads and what it writes. No output may be a file that is
read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import click

from ..io.overwriting import refuse_overwriting
from ._output import printable

__all__ = [
    "DATA_FOLDER",
    "READ_FILE",
    "READ_FOLDER",
    "READ_PREDICTIONS",
    "WRITE_FILE",
    "WRITE_FILE_OR_DASH",
    "WRITE_FOLDER",
    "Command",
    "Group",
    "InputName",
    "InputPath",
    "OutputPath",
    "PredictionPath",
    "will_read",
    "will_write",
]

_READ, _WRITTEN = "labelwise.read", "labelwise.written"  # keys of click's Context.meta


class InputPath(click.Path):
    """A file or folder that the command reads."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if ctx is not None:
            ctx.meta.setdefault(_READ, []).extend(self.read_files(path))
        return path

    def read_files(self, path: Path) -> list[Path]:
        """What is read of it; of a folder, everything."""
        return [path]


class PredictionPath(InputPath):
    """A prediction file, or a folder of them: other files may lie beside them, such as a report."""

    def read_files(self, path: Path) -> list[Path]:
        from ..io.load import readable_files

        return readable_files(path)


class InputName(click.types.StringParamType):
    """A known name, or else a file or folder that the command reads."""

    def __init__(self, known: Callable[[], Collection[str]]) -> None:
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ctx is not None and value not in self.known():
            ctx.meta.setdefault(_READ, []).append(Path(value))
        return value


class OutputPath(click.Path):
    """A file that the command writes, or, with ``replaced=False``, a folder that it adds files
    to.
    """

    def __init__(self, *, replaced: bool = True, **options: Any) -> None:
        super().__init__(path_type=Path, **options)
        self.replaced = replaced

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if ctx is not None and str(path) != "-":
            ctx.meta.setdefault(_WRITTEN, []).append((path, self.replaced))
        return path


READ_FILE, READ_FOLDER, READ_PREDICTIONS = InputPath(), InputPath(file_okay=False), PredictionPath()
DATA_FOLDER = click.Path(path_type=Path, file_okay=False)
"""A folder of data sets beside other files: it is not read as a whole. The command tells which of
its files are, with `will_read`.
"""
WRITE_FILE, WRITE_FILE_OR_DASH = OutputPath(), OutputPath(allow_dash=True)
WRITE_FOLDER = OutputPath(file_okay=False, replaced=False)


class Command(click.Command):
    """A command that refuses to overwrite what it reads, before it does any work."""

    def get_help(self, ctx: click.Context) -> str:
        return printable(super().get_help(ctx))

    def invoke(self, ctx: click.Context) -> Any:
        _check(ctx)
        return super().invoke(ctx)


class Group(click.Group):
    """Commands that belong together."""

    command_class = Command

    def get_help(self, ctx: click.Context) -> str:
        return printable(super().get_help(ctx))


def will_read(*paths: Path) -> None:
    """Tell of files that are read without being typed, such as those of a data set."""
    ctx = click.get_current_context()
    ctx.meta.setdefault(_READ, []).extend(paths)
    _check(ctx)


def will_write(path: Path) -> Path:
    """Tell of a file that is written without being typed, such as one with a default name."""
    ctx = click.get_current_context()
    ctx.meta.setdefault(_WRITTEN, []).append((path, True))
    _check(ctx)
    return path


def _check(ctx: click.Context) -> None:
    read = ctx.meta.get(_READ, [])
    for path, replaced in ctx.meta.get(_WRITTEN, []):
        refuse_overwriting(path, read, replaced=replaced)
