"""Costs in the form of the page: for each class what missing it and a false alarm cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..decisions import Costs
from ..decisions.cost_values import costs_per_class
from ..decisions.costs import check_is_costs
from ..io import Predictions


def page_costs(costs: Costs, cases: Predictions) -> dict[str, Any]:
    """The costs that the page starts with."""
    check_is_costs(costs)
    if costs.matrix is not None and not cases.multilabel:
        table = costs.problem("multiclass", cases.n_classes, cases.class_names)[0].table
        missed, alarm = table.max(axis=1), np.zeros(len(table))
        if np.any(table != missed[:, None] * (1 - np.eye(len(table)))):
            raise ValueError(
                "the page holds for each class what missing it and a false alarm cost; in this "
                "`matrix` the cost of missing a class depends on what is predicted instead. Use "
                "`labelwise decide`, or give `default`, `missed` and `false_alarm`"
            )
    else:
        problem, names = costs.problem("per_label", cases.n_classes, cases.class_names)
        missed, alarm = problem.table[:, 1, 0], problem.table[:, 0, 1]
        if not cases.multilabel:  # where a false alarm is counted once, as what was missed
            alarm = costs_per_class("false_alarm", costs.false_alarm, names, 0.0)
    return {
        "missed": missed,
        "alarm": alarm,
        "abstain": costs.abstain,
        "ask": costs.ask,
        "error": costs.expert_error,
    }
