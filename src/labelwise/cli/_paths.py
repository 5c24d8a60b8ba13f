"""The paths of a command: what it reads and what it writes. No output may be a file that is
read, which is checked before any work is done.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..io.overwriting import refuse_overwriting

__all__ = [
    "InputPath",
    "OutputPath",
    "PredictionPath",
    "file_option",
    "output_option",
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
            _remember_paths(ctx, _READ, self.read_files(path))
        return path

    def read_files(self, path: Path) -> list[Path]:
        """What is read of it; of a folder, everything."""
        return [path]


class PredictionPath(InputPath):
    """A prediction file, or a folder of them: other files may lie beside them, such as a report."""

    def read_files(self, path: Path) -> list[Path]:
        from ..io.load import readable_files

        return readable_files(path)


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
            _remember_paths(ctx, _WRITTEN, [(path, self.replaced)])
        return path


def file_option(name: str, help: str, **options: Any) -> Callable[[Any], Any]:
    """``--name FILE`` for a file that is read, as the argument ``name_file``."""
    return click.option(f"--{name}", f"{name}_file", type=InputPath(), help=help, **options)


def output_option(help: str, *, dash: bool = False, **options: Any) -> Callable[[Any], Any]:
    """``-o`` for the file that is written; with ``dash``, - for standard output."""
    path = OutputPath(allow_dash=dash)
    return click.option("-o", "--output", type=path, help=help, **options)


def will_read(*paths: Path) -> None:
    """Tell of files that are read without being typed, such as those of a data set."""
    _remember_paths(click.get_current_context(), _READ, list(paths))


def will_write(path: Path) -> Path:
    """Tell of a file that is written without being typed, such as one with a default name."""
    _remember_paths(click.get_current_context(), _WRITTEN, [(path, True)])
    return path


def _remember_paths(ctx: click.Context, kind: str, paths: list[Any]) -> None:
    """Remember paths, and refuse the command if it would overwrite what it reads."""
    ctx.meta.setdefault(kind, []).extend(paths)
    for path, replaced in ctx.meta.get(_WRITTEN, []):
        refuse_overwriting(path, ctx.meta.get(_READ, []), replaced=replaced)
