"""Costs in the form of the page: for each class what missing it and a false alarm cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..decisions import Costs
from ..decisions.costs import TASKS
from ..decisions.problem import Problem
from ..io import Predictions


def page_costs(costs: Costs, cases: Predictions) -> dict[str, Any]:
    """The costs that the page starts with, by task, and the task that it shows first."""
    if not isinstance(costs, Costs):
        raise TypeError(f"`costs` must be lw.decisions.Costs(...); got {type(costs).__name__}")
    tasks = [
        task
        for task in TASKS
        if costs.fits(task) and not (task == "multiclass" and cases.multilabel)
    ]
    if not tasks:
        raise ValueError(
            "these costs are a `matrix` for choosing one class, but the labels may occur together. "
            "Give `default`, `missed` and "
            "`false_alarm`, or `false_positive` and `false_negative`"
        )
    tables: dict[str, Any] = {}
    for task in tasks:
        problem, _ = costs.problem(task, cases.n_classes, cases.class_names)
        if task == "per_label":
            tables[task] = {"missed": problem.table[:, 1, 0], "alarm": problem.table[:, 0, 1]}
        else:
            missed, alarm = _missed_and_alarm(problem.table)
            tables[task] = {"missed": missed, "alarm": alarm}
    prices = {name: _one_price(problem, name) for name in ("abstain", "ask", "error")}
    return {"task": tasks[0], "tables": tables, **prices}


def _one_price(problem: Problem, name: str) -> float | None:
    price = getattr(problem, name)
    if price is None:
        return None
    values = np.unique(price)
    if len(values) > 1:
        word = "expert_error" if name == "error" else name
        raise ValueError(
            f"the page has one `{word}` for all labels; got {len(values)} different ones. Use "
            "`labelwise decide`"
        )
    return float(values[0])


def _missed_and_alarm(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parts of a cost matrix with C[k, j] = missed[k] + alarm[j] off the diagonal; the false alarms
    are as small as possible.
    """
    k = len(table)
    others = [next(i for i in range(k) if i not in (0, j)) if k > 2 else 0 for j in range(k)]
    alarm = (
        np.zeros(k)
        if k == 2
        else np.asarray(
            [0.0 if j == 0 else table[i, j] - table[i, 0] for j, i in enumerate(others)]
        )
    )
    alarm = alarm - alarm.min()
    missed = np.asarray(
        [table[i, 1 if i == 0 else 0] - alarm[1 if i == 0 else 0] for i in range(k)]
    )
    whole = missed[:, None] + alarm
    np.fill_diagonal(whole, 0.0)
    if not np.allclose(whole, table, rtol=1e-9, atol=1e-12 * table.max(initial=0.0)) or np.any(
        missed < 0
    ):
        raise ValueError(
            "the page holds for each class what missing it and a false alarm cost, and a wrong "
            "prediction costs their sum; this `matrix` is "
            "not of that form. Use `labelwise decide`, or give `default`, `missed` and "
            "`false_alarm`"
        )
    return missed, alarm
