"""Options and paths that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from labelwise.cli import InputPath, OutputPath

__all__ = [
    "DATA_FOLDER",
    "READ_FILE",
    "READ_FOLDER",
    "WRITE_FILE",
    "WRITE_FOLDER",
    "json_option",
    "loss_option",
    "sha256_option",
]

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

READ_FILE, READ_FOLDER = InputPath(), InputPath(file_okay=False)
WRITE_FILE, WRITE_FOLDER = OutputPath(), OutputPath(file_okay=False, replaced=False)
# A folder of data sets beside other files: it is not read as a whole. The command tells which of
# its files are, with `will_read`.
DATA_FOLDER = click.Path(path_type=Path, file_okay=False)


def json_option() -> Decorator:
    """``--json``, as the argument ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def loss_option(**options: Any) -> Decorator:
    """``--loss``."""
    return click.option(
        "--loss",
        type=click.Choice(["log", "squared", "brier", "spherical", "zero_one"]),
        show_default=False,
        help="Loss that defines the uncertainty.  [default: log, in bits]",
        **options,
    )


def sha256_option() -> Decorator:
    """``--sha256``."""

    def parse(
        ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
    ) -> dict[str, str]:
        pairs = [value.partition("=") for value in values]
        if not all(equals for _, equals, _ in pairs):
            raise click.BadParameter("expected FILE=CHECKSUM, such as cifar10h-counts.npy=5ab4...")
        return {name: checksum for name, _, checksum in pairs}

    words = "SHA-256 of a file that is downloaded, where its publisher gives none; repeatable."
    return click.option(
        "--sha256", multiple=True, metavar="FILE=CHECKSUM", callback=parse, help=words
    )
