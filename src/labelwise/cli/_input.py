"""Where the commands read from: a file, or standard input. Every file that a command opens itself is opened here."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..io.files import reading

if TYPE_CHECKING:
    from ..decisions import Costs
    from ..io import Predictions


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


def read_predictions(path: Path) -> Predictions:
    """Predictions of any format, opened."""
    from ..io import load_predictions

    return load_predictions(path)


def read_costs(path: Path) -> Costs:
    """Costs from a TOML file."""
    from ..decisions import Costs

    with reading(path):
        return Costs.from_toml(path)


def read_events(path: Path) -> dict[str, list[str]]:
    """Groups of classes from a TOML file."""
    from ..io.files import read_toml

    with reading(path):
        groups = read_toml(path)
        for name, classes in groups.items():
            if not isinstance(classes, list):
                raise ValueError(f'{name!r} must be a list of classes, such as ["lung", "lymphoma"]; got {classes!r:.100}')
    return groups


def check_manifest(folder: Path, *parts: str) -> None:
    """Refuse prepared slices whose manifest lacks what is needed of these ``parts``, before any work is done."""
    from ..petct.manifest import FILE, open_prepared

    with reading(folder / FILE):
        prepared = open_prepared(folder)
        for needed in ("class_names", "statistics", "size"):
            getattr(prepared, needed)
        for part in parts:
            prepared.part(part)
