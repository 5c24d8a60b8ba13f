"""``labelwise axioms``: which of the paper's axioms does a loss satisfy?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from ._output import echo

if TYPE_CHECKING:
    from ..losses import LossName


@click.command()
@click.option(
    "--loss",
    type=click.Choice(["log", "squared", "brier", "spherical", "zero_one", "joint"]),
    default="log",
    help="Label-wise measures of a loss; joint: the classical entropy measures.",
)
def command(loss: LossName | Literal["joint"]) -> None:
    """Check the axioms A0-A7 by a search for counterexamples, and show those found.

    \b
    Example:
      labelwise axioms --loss squared
    """
    from ..axioms import check

    table = check(loss, rng=0)
    echo(str(table))
    for result in table:
        if not result.holds:
            echo(f"{result.axiom} {result.measure}: {result.counterexample}")
