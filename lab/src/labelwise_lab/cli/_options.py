"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable

import click

__all__ = ["sha256_option"]


def sha256_option() -> Callable[[Callable[..., None]], Callable[..., None]]:
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
