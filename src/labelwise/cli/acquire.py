"""``labelwise acquire``: which cases of a pool to label next."""

from __future__ import annotations

from pathlib import Path

import click

from .._frames import index_columns
from ._input import Given, read_costs, read_predictions, unlabeled_predictions
from ._output import check_csv, echo, echo_json, json_option, terminal_line, write_csv_output
from ._paths import file_option, output_option
from ._tags import candidates, read_tags

EXPLAINED = 5  # choices


@click.command()
@unlabeled_predictions
@click.option("--budget", required=True, type=click.IntRange(1), help="Number of cases to label.")
@click.option(
    "--label",
    help="Choose cases where the members disagree about this class.  [default: all classes]",
)
@file_option("costs", "Weight the classes by the cost of missing them (.toml).")
@click.option(
    "--batch",
    type=click.Choice(["top", "balanced"]),
    default="top",
    help="The highest scores, or classes taking turns.",
)
@file_option(
    "tags", "Tags of cases (tags.csv of a report), matched by id; for --only and --exclude."
)
@click.option("--only", metavar="TAG", multiple=True, help="Choose among cases with this tag.")
@click.option("--exclude", metavar="TAG", multiple=True, help="Choose no case with this tag.")
@output_option("Table of the chosen cases (.csv); - for standard output.", dash=True)
@json_option("sentences")
def command(
    predictions: Given,
    budget: int,
    label: str | None,
    costs_file: Path | None,
    batch: str,
    tags_file: Path | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Choose the cases of PREDICTIONS, a pool without labels, to label next.

    Those about which the members disagree most come first: a case counts by its label-wise
    epistemic uncertainty, divided by the prevalence of the class in the pool.

    \b
    Examples:
      labelwise acquire preds.npz --label cat --budget 100 -o next.csv
      labelwise acquire preds.npz --budget 100 --batch balanced --costs costs.toml -o next.csv
      labelwise acquire preds.npz --budget 100 --tags tags.csv --exclude blurred -o next.csv
    """
    from ..decisions import acquire

    if (tags_file is None) != (not only and not exclude):
        raise ValueError("give --tags FILE together with --only TAG or --exclude TAG")
    to_pipe = check_csv(output, "the chosen cases")
    loaded = read_predictions(predictions, quiet=as_json or to_pipe)
    costs = None
    if costs_file is not None:
        costs = read_costs(costs_file)
    allowed = None
    if tags_file is not None:
        allowed = candidates(read_tags(tags_file, loaded), only, exclude)
    choice = acquire(loaded, costs, budget=budget, label=label, batch=batch, candidates=allowed)
    columns = {
        "rank": range(1, budget + 1),
        **index_columns(choice.score.shape, loaded.ids, choice.indices),
        "score": choice.score[choice.indices],
        "label": choice.label,
    }
    rows = list(zip(*columns.values(), strict=True))
    if output is not None and write_csv_output(output, [list(columns), *rows]):
        return
    if as_json:
        chosen = [dict(zip(columns, row, strict=True)) for row in rows]
        echo_json({"cases": len(loaded), "chosen": chosen})
        return
    title = f"{budget:,} of {len(loaded):,} cases to label next"
    if label:
        title += f", for {label}"
    echo(title)
    for j in range(min(EXPLAINED, budget)):
        sentence = choice.explain(j)
        if loaded.ids is not None:
            sentence = f"{rows[j][1]}: {sentence}"
        echo(terminal_line(sentence))
    if output is not None:
        echo(f"Written to {output}")
