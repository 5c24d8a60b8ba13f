"""Where the commands read from: a file, or standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


class PredictionFile(click.Path):
    """A prediction file; ``-`` is an .npz file from standard input, kept in a temporary file until the command ends."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value != "-" or ctx is None:
            return super().convert(value, param, ctx)
        folder = tempfile.TemporaryDirectory(prefix="labelwise-")
        ctx.call_on_close(folder.cleanup)
        path = Path(folder.name) / "stdin.npz"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return path


def sha256_option() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """``--sha256``."""

    def parse(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
        pairs = [value.partition("=") for value in values]
        if not all(equals for _, equals, _ in pairs):
            raise click.BadParameter("expected FILE=CHECKSUM, such as cifar10h-counts.npy=5ab4...")
        return {name: checksum for name, _, checksum in pairs}

    words = "SHA-256 of a file that is downloaded, where its publisher gives none; repeatable."
    return click.option("--sha256", multiple=True, metavar="FILE=CHECKSUM", callback=parse, help=words)


def predictions_argument() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """``PREDICTIONS``."""
    return click.argument("predictions", type=PredictionFile())
