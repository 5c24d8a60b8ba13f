"""What the commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import numpy as np


def echo_json(value: Any) -> None:
    """``value`` as JSON; numbers that JSON has no word for become null."""
    click.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return value


def echo_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table with numbers aligned right; names are shown as text, whatever they contain."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        table.add_column(escape(column), justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(f"{x:.4g}" if isinstance(x, float | np.floating) else str(x)) for x in row))
    Console(soft_wrap=False).print(table)


@contextmanager
def progress_bar(word: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with the numbers of steps done and of all; it draws a bar on a terminal and nothing in a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn(word), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def loss_option(**options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """``--loss``."""
    return click.option(
        "--loss",
        type=click.Choice(["log", "squared", "brier", "spherical", "zero_one"]),
        help="What the uncertainty is measured in.  [default: log, in bits]",
        **options,
    )
