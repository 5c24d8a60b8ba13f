"""Decisions as tables: a data frame, and the rows of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from .._frames import same_rows
from .._tables import instance_frame
from .._validation.labels import as_labels, outcomes_by_class
from .problem import ABSTAIN, ASK

if TYPE_CHECKING:
    from .policy import Decisions

VALUES = ("expected_cost", "value_of_label", "value_of_knowledge")


def plan_frame(plan: Decisions, ids: Any, y_true: Any, library: str) -> Any:
    """A row for each case, or per label for each case and label."""
    mean = to_numpy(plan.mean).astype(float)
    shape, k = mean.shape[:-1], mean.shape[-1]
    ids, y_true = same_rows(plan.distribution, ids=ids, y_true=y_true)
    mean = mean.reshape(-1, k)
    names = np.asarray(plan.class_names, dtype=object)
    columns: dict[str, Any]
    if plan.task == "per_label":
        columns = {"label": np.tile(names, len(mean))}
        if y_true is not None:
            columns["y_true"] = outcomes_by_class(y_true, plan.class_names, shape).reshape(-1)
        columns["probability"] = mean.reshape(-1)
    else:
        columns = {}
        if y_true is not None:
            columns["y_true"] = names[as_labels(y_true, "y_true", plan.class_names, shape)]
        columns |= {"most_probable": names[mean.argmax(axis=-1)], "probability": mean.max(axis=-1)}
    columns["action"] = plan.action_names.reshape(-1)
    columns |= {name: to_numpy(getattr(plan, name)).astype(float).reshape(-1) for name in VALUES}
    rows = k if plan.task == "per_label" else 1
    return instance_frame(
        columns, shape, library, ids=ids, known=plan.distribution.ids, repeat=rows
    )


def case_rows(plan: Decisions, ids: Any, y_true: Any) -> tuple[list[str], Iterator[list[Any]]]:
    """The header and a row for each case: the truth if known, the likely and the chosen action, its
    numbers, the reason in one sentence, and the probability ``p_…`` of each class. Per label,
    several labels in one cell are joined by semicolons.
    """
    p = to_numpy(plan.mean).astype(float)
    names = np.asarray(plan.class_names, dtype=object)
    values = {name: to_numpy(getattr(plan, name)).astype(float) for name in VALUES}
    columns: dict[str, Any] = {"id": ids}
    if plan.task == "multiclass":
        if y_true is not None:
            columns["y_true"] = names[as_labels(y_true, "y_true", plan.class_names, p.shape[:-1])]
        columns |= {"most_probable": names[p.argmax(axis=-1)], "action": plan.action_names}
    else:
        action = to_numpy(plan.action)
        labels: dict[str, np.ndarray] = {}
        if y_true is not None:
            labels["y_true"] = outcomes_by_class(y_true, plan.class_names, p.shape[:-1])
        labels |= {"above_half": p > 0.5, "act": action == 1}
        labels |= {"abstain": action == ABSTAIN, "ask": action == ASK}
        columns |= {name: ["; ".join(names[row]) for row in rows] for name, rows in labels.items()}
        values = {name: x.sum(axis=-1) for name, x in values.items()}
    columns |= values
    rows = ([*(x[i] for x in columns.values()), plan.explain(i), *p[i]] for i in range(len(p)))
    return [*columns, "reason", *(f"p_{name}" for name in names)], rows
