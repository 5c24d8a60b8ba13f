"""``labelwise decide``: the cheapest action for each case at given costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._input import (
    Given,
    predictions_argument,
    read_costs,
    read_predictions,
    warnings_as_notes,
)
from ._output import (
    check_csv,
    echo,
    echo_json,
    json_option,
    terminal_line,
    write_csv_output,
)
from ._paths import file_option, output_option

EXPLAINED = 5  # the costliest cases


@click.command()
@predictions_argument
@file_option("costs", "Costs by class name (.toml).", required=True)
@click.option(
    "--task",
    metavar="[multiclass|per_label]",
    help=(
        "Choose one class, or act on each label.  [default: multiclass; per_label where labels may "
        "occur together]"
    ),
)
@output_option("Table of the decisions (.csv); - for standard output.", dash=True)
@json_option()
def command(
    predictions: Given,
    costs_file: Path,
    task: Any,
    output: Path | None,
    as_json: bool,
) -> None:
    """Choose the cheapest action for each case of PREDICTIONS: predict, abstain or ask an expert.

    With true labels it tells what the decisions change for each class, what that costs and saves,
    and whether it costs what was expected. The table has one row per case (per label: per case and
    label) with the reason. On the page of `labelwise report --costs` you can explore costs and
    export them.

    \b
    Examples:
      labelwise decide preds.npz --costs costs.toml -o decisions.csv
      labelwise decide preds.npz --costs costs.toml -o - | head

    \b
    A costs file:
      default = 1             # what an error costs
      ask = 0.5               # price of asking an expert
      expert_error = 0.02
      abstain = 0.8
      [missed]
      melanoma = 20           # missing it is worse

    \b
    Or in full, for choosing one class:
      class_names = ["nevus", "melanoma"]
      matrix = [[0, 1], [20, 0]]      # row: truth, column: prediction
    """
    import numpy as np

    from ..decisions import decide
    from ..decisions.frames import decision_csv_rows

    loaded = read_predictions(predictions, quiet=check_csv(output, "decisions") or as_json)
    costs = read_costs(costs_file)
    with warnings_as_notes():  # such as that the probabilities are badly calibrated
        plan = decide(loaded, costs, task=task, y_true=loaded.y_true)
    rows = decision_csv_rows(plan, loaded.ids, loaded.y_true)
    if output is not None and write_csv_output(output, rows):
        return
    ids = loaded.ids
    if ids is None:
        ids = np.arange(len(loaded))
    per_case = plan.expected_cost.reshape(len(loaded), -1).sum(axis=1)
    # asked cases often cost the same: first those where the answer saves most
    per_answer = plan.value_of_label.reshape(len(loaded), -1).sum(axis=1)
    worst = np.lexsort((-per_answer, -per_case))[:EXPLAINED].tolist()
    story = None
    if loaded.y_true is not None:
        story = plan.summary(loaded.y_true, groups=loaded.groups)
    if as_json:
        names, counts = np.unique(plan.action_names, return_counts=True)
        result = {
            "cases": len(loaded),
            "task": plan.task,
            "actions": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "expected_cost": per_case.mean(),
            "value_of_label": plan.value_of_label.mean(),
            "value_of_knowledge": plan.value_of_knowledge.mean(),
            "break_even": plan.break_even,
            "summary": story,
            "explanations": {str(ids[i]): plan.explain(i) for i in worst},
        }
        echo_json(result)
        return
    echo(repr(plan))
    if story is not None:
        echo(f"\n{story}")
    for i in worst:
        echo(terminal_line(f"{ids[i]}: {plan.explain(i)}"))
    if output is not None:
        echo(f"Written to {output}")
