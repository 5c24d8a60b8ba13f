"""Decisions as tables: a data frame, and the rows of a CSV file."""

from __future__ import annotations

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


def true_outcomes(plan: Decisions, y_true: Any) -> np.ndarray:
    """The true class of each case (N,), or per label whether each label is present (N, K)."""
    (y_true,) = same_rows(plan.distribution, y_true=y_true)
    shape = tuple(plan.mean.shape[:-1])
    if plan.task == "multiclass":
        return as_labels(y_true, "y_true", plan.class_names, shape)
    return outcomes_by_class(y_true, plan.class_names, shape)


def plan_frame(plan: Decisions, ids: Any, y_true: Any, library: str) -> Any:
    """A row for each case, or per label for each case and label."""
    ids, y_true = same_rows(plan.distribution, ids=ids, y_true=y_true)
    k = len(plan.class_names)
    mean = to_numpy(plan.mean).astype(float).reshape(-1, k)
    names = np.asarray(plan.class_names, dtype=object)
    columns: dict[str, Any] = {}
    rows_per_case = 1
    if plan.task == "per_label":
        rows_per_case = k
        columns["label"] = np.tile(names, len(mean))
        if y_true is not None:
            columns["y_true"] = true_outcomes(plan, y_true).reshape(-1)
        columns["probability"] = mean.reshape(-1)
    else:
        if y_true is not None:
            columns["y_true"] = names[true_outcomes(plan, y_true)]
        columns["most_probable"] = names[mean.argmax(axis=-1)]
        columns["probability"] = mean.max(axis=-1)
    columns["action"] = plan.action_names.reshape(-1)
    for name in VALUES:
        columns[name] = to_numpy(getattr(plan, name)).astype(float).reshape(-1)
    shape = tuple(plan.mean.shape[:-1])
    known = plan.distribution.ids
    return instance_frame(columns, shape, library, ids=ids, known=known, repeat=rows_per_case)


def case_columns(plan: Decisions, ids: Any, y_true: Any) -> dict[str, Any]:
    """A column for each thing to tell about a case: the truth if known, the likely and the chosen
    action, its numbers, the reason in one sentence, and the probability ``p_…`` of each class. Per
    label, several labels in one cell are joined by semicolons.
    """
    probs = to_numpy(plan.mean).astype(float)
    names = np.asarray(plan.class_names, dtype=object)
    columns: dict[str, Any] = {"id": ids}
    if plan.task == "multiclass":
        if y_true is not None:
            columns["y_true"] = names[true_outcomes(plan, y_true)]
        columns["most_probable"] = names[probs.argmax(axis=-1)]
        columns["action"] = plan.action_names
    else:
        action = to_numpy(plan.action)
        chosen = {"above_half": probs > 0.5, "act": action == 1}
        chosen |= {"abstain": action == ABSTAIN, "ask": action == ASK}
        if y_true is not None:
            chosen = {"y_true": true_outcomes(plan, y_true), **chosen}
        for name, rows in chosen.items():
            columns[name] = ["; ".join(names[row]) for row in rows]
    for name in VALUES:
        values = to_numpy(getattr(plan, name)).astype(float)
        columns[name] = values.reshape(len(probs), -1).sum(axis=1)
    columns["reason"] = list(map(plan.explain, range(len(probs))))
    for name, of_class in zip(names, probs.T, strict=True):
        columns[f"p_{name}"] = of_class
    return columns
