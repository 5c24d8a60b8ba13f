"""``labelwise sets``: prediction sets with a guarantee for each class."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._errors import listed
from ._input import (
    Given,
    predictions_argument,
    read_events,
    read_predictions,
    read_sets,
    unlabeled_predictions,
)
from ._output import check_csv, echo, echo_json, json_option, write_csv_output
from ._paths import file_option, output_option

if TYPE_CHECKING:
    from ..io import Predictions
    from ..typing import LabelThresholds, SetPredictor

SETS = file_option("sets", "Fitted sets (labelwise sets fit).", required=True)


@click.group()
def command() -> None:
    """Prediction sets that contain the true class with a guaranteed probability, for each class.

    \b
    Examples:
      labelwise sets fit calibration.npz -o sets.npz --coverage 0.9
      labelwise sets evaluate test.npz --sets sets.npz
      labelwise sets predict new.npz --sets sets.npz -o sets.csv
    """


@command.command()
@predictions_argument
@output_option("File for the fitted sets (.npz).", required=True)
@click.option(
    "--coverage",
    type=float,
    default=0.9,
    help="Guaranteed probability that the set holds the true class.",
)
@click.option(
    "--guarantee",
    type=click.Choice(["class", "marginal"]),
    default="class",
    help="For each class, or for all cases.",
)
@file_option("events", "Pools of classes to guarantee for (.toml: name = [classes]).")
@click.option(
    "--miss-rate",
    type=float,
    default=0.1,
    help="For labels that may occur together: share of present labels answered no.",
)
@click.option(
    "--false-alarm-rate",
    type=float,
    default=0.1,
    help="Likewise: share of absent labels answered yes.",
)
def fit(
    predictions: Given,
    output: Path,
    events_file: Path | None,
    guarantee: str,
    **options: Any,
) -> None:
    """Fit prediction sets on labeled calibration cases PREDICTIONS.

    The cases must have been used neither for training nor for choosing the model. If the file has
    `groups` (patients), whole groups are the unit. Where labels may occur together, thresholds for
    yes, no and unsure are fitted for each label.
    """
    from ..sets import fit_labels, fit_sets

    loaded = read_predictions(predictions, labeled=True)
    rates = {key: options.pop(key) for key in ("miss_rate", "false_alarm_rate")}
    fitted: Any
    if loaded.multilabel:
        fitted = fit_labels(loaded, loaded.y_true, groups=loaded.groups, **rates)
    else:
        fitted = fit_sets(
            loaded,
            loaded.y_true,
            guarantee=guarantee if events_file is None else read_events(events_file),
            groups=loaded.groups,
            **options,
        )
    fitted.save(output)
    echo(repr(fitted))
    echo(f"Written to {output}")


@command.command()
@unlabeled_predictions
@SETS
@output_option("Table (.csv); - for standard output.", dash=True, required=True)
def predict(predictions: Given, sets_file: Path, output: Path) -> None:
    """Write the prediction set of each case of PREDICTIONS: its classes and its size."""
    loaded = read_predictions(predictions, quiet=check_csv(output, "sets"))
    fitted = read_sets(sets_file)
    result = fitted.predict(loaded)
    _say_if_by_position(loaded, fitted)
    columns = result.columns(ids=loaded.ids)
    if write_csv_output(output, chain([list(columns)], zip(*columns.values(), strict=True))):
        return
    echo(repr(result))
    echo(f"Written to {output}")


@command.command()
@predictions_argument
@SETS
@json_option("a table")
def evaluate(predictions: Given, sets_file: Path, as_json: bool) -> None:
    """Coverage and size of the sets of labeled cases PREDICTIONS, for each class, with intervals.

    If the file has `groups` (patients), intervals allow for dependence within groups.
    """
    loaded = read_predictions(predictions, quiet=as_json, labeled=True)
    fitted = read_sets(sets_file)
    found = fitted.evaluate(loaded, loaded.y_true, groups=loaded.groups)
    _say_if_by_position(loaded, fitted)
    if as_json:
        echo_json({"guarantee": found.guarantee, "rows": found.to_records()})
    else:
        echo(repr(found))


def _say_if_by_position(loaded: Predictions, fitted: SetPredictor | LabelThresholds) -> None:
    """Say that classes without names were taken in the order of those the sets were fitted for."""
    if loaded.names != fitted.class_names:  # other names have been refused
        echo(f"classes matched by position, as {listed(fitted.class_names)}", err=True)
