"""``labelwise decide``: the cheapest action for each case at given costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._input import Given, predictions_argument, read_costs, read_predictions
from ._output import echo, echo_data, echo_json, echo_table, one_line

if TYPE_CHECKING:
    import numpy as np

    from ..decisions import Decisions


@click.command()
@predictions_argument()
@click.option("--costs", "costs_file", required=True, type=click.Path(path_type=Path), help="Costs by class name (.toml).")
@click.option(
    "--task",
    type=click.Choice(["multiclass", "per_label"]),
    help="Choose one class, or act on each label.  [default: multiclass; per_label where labels may occur together]",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, allow_dash=True), help="Write the decisions as .csv; - for standard output."
)
@click.option("--show", type=click.IntRange(0), default=5, show_default=True, help="Number of costliest cases to explain.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(predictions: Given, costs_file: Path, task: str | None, output: Path | None, show: int, as_json: bool) -> None:
    """Choose the cheapest action for each case of PREDICTIONS: predict, abstain or ask an expert.

    With `y_true` in the file, the realized cost is compared with other policies. On the page of `labelwise report` you can explore costs
    interactively and export them as a costs file.

    \b
    Examples:
      labelwise decide preds.npz --costs costs.toml -o decisions.csv
      labelwise decide preds.npz --costs costs.toml -o - | head

    \b
    Example of a costs file:
      class_names = ["nevus", "melanoma"]
      matrix = [[0, 1], [20, 0]]      # row: truth, column: prediction
      abstain = 0.8
      ask = 0.5
      expert_error = 0.02
    """
    import numpy as np

    from ..decisions import decide, evaluate_policy
    from ..io.atomic import replacing

    to_pipe = str(output) == "-"
    if output is not None and output.suffix != ".csv" and not to_pipe:
        raise ValueError(f"decisions are written as .csv; got {output.name!r}")
    stored = read_predictions(predictions, quiet=as_json or to_pipe)
    if task is None:
        task = "per_label" if stored.multilabel else "multiclass"
        if stored.multilabel:
            echo("Note: the labels may occur together, so each is decided by itself (--task per_label)", err=True)
    plan = decide(stored.distribution(), read_costs(costs_file), task=task, y_true=stored.y_true)
    names, counts = np.unique(plan.action_names, return_counts=True)
    ids = np.arange(len(stored)) if stored.ids is None else np.asarray(stored.ids)
    per_case = plan.expected_cost if task == "multiclass" else plan.expected_cost.sum(-1)
    worst = np.argsort(-per_case, kind="stable")[:show]
    truth = stored.y_true
    if truth is not None and task == "per_label" and not stored.multilabel:
        truth = np.eye(stored.n_classes, dtype=int)[stored.true_class]
    report = None if truth is None else evaluate_policy(plan, truth)
    if to_pipe:
        echo_data(_csv(plan, ids, task))
        return
    if output is not None:
        with replacing(output) as file:
            file.write(_csv(plan, ids, task).encode())
    if as_json:
        echo_json(
            {
                "cases": len(stored),
                "task": task,
                "actions": dict(zip(names.tolist(), counts.tolist(), strict=True)),
                "expected_cost": float(per_case.mean()),
                "value_of_label": float(plan.value_of_label.mean()),
                "value_of_knowledge": float(plan.value_of_knowledge.mean()),
                "realized": None if report is None else {name: outcome.cost for name, outcome in report.outcomes.items()},
                "explanations": {str(ids[i]): plan.explain(int(i)) for i in worst},
            }
        )
        return
    echo_table(
        f"{len(stored):,} cases, expected cost {per_case.mean():.4g} each",
        ("action", "cases" if task == "multiclass" else "labels", "share"),
        [(name, count, f"{count / counts.sum():.1%}") for name, count in sorted(zip(names, counts, strict=True), key=lambda x: -x[1])],
    )
    if report is not None:
        echo(f"\nRealized cost, compared with other policies:\n{report}\n")
    for i in worst:
        echo(one_line(f"{ids[i]}: {plan.explain(int(i))}"))
    if output is not None:
        echo(f"Written to {output}")


def _csv(plan: Decisions, ids: np.ndarray, task: str) -> str:
    """One line per case (per label: per case and label)."""
    from ..io.csv import csv_text

    values = [plan.action_names, plan.expected_cost, plan.value_of_label, plan.value_of_knowledge]
    columns = ("action", "expected_cost", "value_of_label", "value_of_knowledge")
    if task == "multiclass":
        return csv_text(("id", *columns), ((ids[i], *(x[i] for x in values)) for i in range(len(ids))))
    rows = ((ids[i], label, *(x[i, k] for x in values)) for i in range(len(ids)) for k, label in enumerate(plan.class_names))
    return csv_text(("id", "label", *columns), rows)
