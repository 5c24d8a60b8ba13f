"""Costs in the form of the page: for each class what missing it and a false alarm cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..decisions import Costs
from ..decisions.cost_values import costs_per_class
from ..decisions.costs import TASKS, check_is_costs
from ..io import Predictions


def page_costs(costs: Costs, cases: Predictions) -> dict[str, Any]:
    """The costs that the page starts with, by task, and the task that it shows first."""
    check_is_costs(costs)
    tasks = list(TASKS)
    if cases.multilabel:
        tasks = ["per_label"]
    if costs.matrix is not None:  # which is for choosing one class
        tasks = [task for task in tasks if task == "multiclass"]
    if not tasks:
        raise ValueError(
            "these costs are a `matrix` for choosing one class, but the labels may occur together. "
            "Give `default`, `missed` and `false_alarm`"
        )
    tables: dict[str, Any] = {}
    for task in tasks:
        if costs.matrix is not None:
            problem, _ = costs.problem(task, cases.n_classes, cases.class_names)
            missed, alarm = _missed_and_alarm(problem.table)
        else:
            missed, alarm = _costs_by_class(costs, task, cases)
        tables[task] = {"missed": missed, "alarm": alarm}
    prices = {"abstain": costs.abstain, "ask": costs.ask, "error": costs.expert_error}
    return {"task": tasks[0], "tables": tables, **prices}


def _costs_by_class(costs: Costs, task: str, cases: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """What missing each class and a false alarm cost, without a K × K matrix."""
    problem, names = costs.problem("per_label", cases.n_classes, cases.class_names)
    missed, alarm = problem.table[:, 1, 0], problem.table[:, 0, 1]
    if task == "multiclass":  # where a false alarm is counted once, as what was missed
        alarm = costs_per_class("false_alarm", costs.false_alarm, names, 0.0)
    return missed, alarm


def _missed_and_alarm(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parts of a cost matrix with C[k, j] = missed[k] + alarm[j] off the diagonal; the false alarms
    are as small as possible.
    """
    k = len(table)
    alarm = np.zeros(k)
    if k > 2:
        for j in range(1, k):
            other = 1 if j == 2 else 2  # a third class, that is missed by predicting 0 or j
            alarm[j] = table[other, j] - table[other, 0]
    alarm = alarm - alarm.min()
    missed = table[:, 0] - alarm[0]
    missed[0] = table[0, 1] - alarm[1]
    whole = missed[:, None] + alarm
    np.fill_diagonal(whole, 0.0)
    same = np.allclose(whole, table, rtol=1e-9, atol=1e-12 * table.max(initial=0.0))
    if not same or np.any(missed < 0):
        raise ValueError(
            "the page holds for each class what missing it and a false alarm cost, and a wrong "
            "prediction costs their sum; this `matrix` is not of that form. Use `labelwise "
            "decide`, or give `default`, `missed` and `false_alarm`"
        )
    return missed, alarm
