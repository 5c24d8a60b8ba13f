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
    if as_json:
        found = []
        for result in table:
            record = {
                key: getattr(result, key) for key in ("axiom", "measure", "verdict", "trials")
            }
            record["counterexample"] = result.counterexample and str(result.counterexample)
            found.append(record)
        echo_json(found)
        return
    rows: dict[str, dict[str, str]] = {}
    for result in table:
        row = rows.setdefault(
            result.axiom, {"axiom": result.axiom, "TU": "–", "AU": "–", "EU": "–"}
        )
        row[result.measure] = result.verdict
    echo_table(
        table.name, ("axiom", "TU", "AU", "EU"), [tuple(row.values()) for row in rows.values()]
    )
    for result in table:
        if not result.holds:
            echo(f"{result.axiom} {result.measure}: {result.counterexample}")
