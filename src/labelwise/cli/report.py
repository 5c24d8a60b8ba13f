"""``labelwise report``: write an interactive HTML report about predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._input import (
    Given,
    predictions_argument,
    read_costs,
    read_events,
    read_predictions,
    read_sets,
)
from ._output import echo, echo_data, progress_bar
from ._paths import InputPath, OutputPath, PredictionPath
from ._votes import find_votes


@click.command()
@predictions_argument
@click.option(
    "-o",
    "--output",
    type=OutputPath(allow_dash=True),
    help="Page to write (.html); - for standard output.  [default: NAME-report.html]",
)
@click.option(
    "--ood",
    multiple=True,
    type=PredictionPath(),
    help="Predictions for out-of-distribution cases to detect; may be repeated.",
)
@click.option(
    "--events",
    "events_file",
    type=InputPath(),
    help="Groups of classes as events (.toml: name = [classes]).",
)
@click.option(
    "--ordinal",
    is_flag=True,
    help="The classes are ordered grades: use the cuts between them as events.",
)
@click.option(
    "--costs", "costs_file", type=InputPath(), help="Costs that the page starts with (.toml)."
)
@click.option(
    "--sets",
    "sets_file",
    type=InputPath(),
    help="Fitted prediction sets (labelwise sets fit) to evaluate.",
)
@click.option("--title", help="Heading of the page.  [default: the file's name]")
@click.option(
    "--metadata",
    "metadata_file",
    type=InputPath(),
    help="More about the cases (.csv): any columns, groups and votes, matched by id.",
)
@click.option("--no-ids", is_flag=True, help="Leave out all ids, and number the groups.")
def command(
    predictions: Given,
    output: Path | None,
    ood: tuple[Path, ...],
    events_file: Path | None,
    ordinal: bool,
    costs_file: Path | None,
    sets_file: Path | None,
    title: str | None,
    metadata_file: Path | None,
    no_ids: bool,
) -> None:
    """Write an interactive report about PREDICTIONS: one HTML file that works offline.

    Every number on it opens its cases: which classes are confused and what the members disagree
    about, accuracy after referring the most uncertain cases, and decisions at given costs.
    `y_true`, `ids`, `groups`, `votes` and `images` in the file add more, and so does --metadata.

    \b
    Examples:
      labelwise report preds.npz -o report.html
      labelwise report preds.npz -o report.html --ood digits.npz
      labelwise report preds.npz -o report.html --costs costs.toml
      labelwise report preds.npz -o report.html --metadata cases.csv
      labelwise report model1.csv model2.csv model3.csv -o report.html
      labelwise report grades.npz -o report.html --ordinal
      labelwise report preds.npz -o - --events groups.toml > report.html
    """
    from ..report import build_report, write_report

    if ordinal and events_file is not None:
        raise ValueError("give --events or --ordinal, not both")
    output = output or predictions.beside("-report.html")
    quiet = str(output) == "-"
    loaded = read_predictions(predictions, quiet=quiet)
    events: Any = None
    if ordinal:
        from ..events import ordinal as cuts

        events = cuts(loaded.class_names or loaded.n_classes)
    elif events_file is not None:
        events = read_events(events_file)
    others = {path.stem: read_predictions(predictions.other(path), quiet=quiet) for path in ood}
    if len(others) < len(ood):
        raise ValueError("--ood files must have different names")
    options = find_votes(predictions, None)
    if costs_file is not None:
        options["costs"] = read_costs(costs_file)
    if sets_file is not None:
        options["sets"] = read_sets(sets_file)
    if no_ids:
        options["ids"] = False
    title = title or predictions.files[0].stem
    with progress_bar("report") as progress:
        options |= {"progress": progress, "title": title, "metadata": metadata_file}
        options |= {"events": events, "ood": others}
        if quiet:
            echo_data(build_report(loaded, **options).html)
            return
        report = write_report(output, loaded, **options)
    for note in report.data["notes"][len(loaded.notes) :]:
        echo(f"  {note}", err=True)
    size = output.stat().st_size
    echo(f"{report.data['n']:,} cases, {size / 1e6:.1f} MB")
    if report.data["id_note"]:
        echo(report.data["id_note"])
    echo(f"Open {output} in a browser.")
