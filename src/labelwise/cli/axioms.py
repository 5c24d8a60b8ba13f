"""``labelwise axioms``: which of the paper's axioms does a loss satisfy?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from ._input import Choice
from ._output import echo, echo_json, echo_table, json_option

if TYPE_CHECKING:
    from ..losses import LossName


@click.command()
@click.option(
    "--loss",
    type=Choice(["log", "squared", "brier", "spherical", "zero_one", "joint"]),
    default="log",
    help="Label-wise measures of a loss; joint: the classical entropy measures.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Random seed for the search.")
@json_option("a table")
def command(loss: LossName | Literal["joint"], seed: int, as_json: bool) -> None:
    """Check the axioms A0-A7 by a search for counterexamples, and show those found.

    \b
    Example:
      labelwise axioms --loss squared
    """
    from ..axioms import check

    table = check(loss, rng=seed)
    failed = [r for r in table if not r.holds]
    if as_json:
        keys = ("axiom", "measure", "verdict", "trials")
        echo_json(
            [
                {key: getattr(r, key) for key in keys}
                | {"counterexample": r.counterexample and str(r.counterexample)}
                for r in table
            ]
        )
        return
    cells = {(r.axiom, r.measure): r.verdict for r in table}
    axioms = list(dict.fromkeys(r.axiom for r in table))
    echo_table(
        table.name,
        ("axiom", "TU", "AU", "EU"),
        [(a, *(cells.get((a, m), "–") for m in ("TU", "AU", "EU"))) for a in axioms],
    )
    for r in failed:
        echo(f"{r.axiom} {r.measure}: {r.counterexample}")
