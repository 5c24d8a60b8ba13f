"""Decisions as tables: a data frame, and the rows of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from .._engine.blocks import row_blocks
from .._frames import index_columns, same_rows
from .._validation.labels import as_labels, outcomes_by_class

if TYPE_CHECKING:
    from .policy import Decisions

PART = 1 << 16  # probabilities of the cases that are summarized or written at once
VALUES = ("expected_cost", "value_of_label", "value_of_knowledge")


def outcomes_decided_about(plan: Decisions, y_true: Any) -> np.ndarray:
    """The true class of each case (N,), or per label whether each label is present (N, K)."""
    (y_true,) = same_rows(plan.distribution, y_true=y_true)
    shape = tuple(plan.mean.shape[:-1])
    if plan.task == "multiclass":
        return as_labels(y_true, "y_true", plan.class_names, shape)
    return outcomes_by_class(y_true, plan.class_names, shape)


def decision_columns(
    plan: Decisions, truth: np.ndarray | None, rows: slice = slice(None)
) -> dict[str, Any]:
    """Columns with a value for each of some cases, or per label for each case and label: the truth
    (of all cases) if known, the probability, the action and its numbers.
    """
    names = np.asarray(plan.class_names, dtype=object)
    mean = to_numpy(plan.mean).reshape(-1, len(names))
    n, mean = len(mean), mean[rows].astype(float)

    def chosen(x: Any) -> np.ndarray:
        return to_numpy(x).reshape(n, -1)[rows].ravel()

    columns: dict[str, Any] = {}
    if plan.task == "per_label":
        columns["label"] = np.tile(names, len(mean))
        if truth is not None:
            columns["y_true"] = chosen(truth)
        columns["probability"] = mean.ravel()
    else:
        if truth is not None:
            columns["y_true"] = names[chosen(truth)]
        columns["most_probable"] = names[mean.argmax(axis=-1)]
        columns["probability"] = mean.max(axis=-1)
    columns["action"] = plan.names_of(chosen(plan.action))
    for name in VALUES:
        columns[name] = chosen(getattr(plan, name)).astype(float)
    return columns


def decision_csv_rows(plan: Decisions, ids: Any, y_true: Any) -> Iterator[Sequence[Any]]:
    """The header of a CSV file and its rows: `decision_columns` with the reason of each decision in
    one sentence; for choosing one class also with the probability ``p_…`` of each class.
    """
    truth = None if y_true is None else outcomes_decided_about(plan, y_true)
    labels: Sequence[str | None] = [None]
    if plan.task == "per_label":
        labels = plan.class_names
    n, k = plan.mean.shape
    for rows in row_blocks(n, k, PART):
        cases = np.arange(rows.start, rows.stop)
        columns: dict[str, Any] = index_columns(
            plan.mean.shape[:-1], ids, np.repeat(cases, len(labels))
        )
        columns |= decision_columns(plan, truth, rows)
        columns["reason"] = [plan.explain(i, label=label) for i in cases for label in labels]
        if plan.task == "multiclass":
            for name, p in zip(plan.class_names, to_numpy(plan.mean)[rows].T, strict=True):
                columns[f"p_{name}"] = p.astype(float)
        if rows.start == 0:
            yield list(columns)
        yield from zip(*columns.values(), strict=True)
