"""Decisions as tables: a data frame, and the rows of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from .._frames import same_rows
from .._tables import instance_frame
from .._validation.labels import as_labels, outcomes_by_class

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


def decision_columns(plan: Decisions, y_true: Any) -> dict[str, Any]:
    """Columns with a value for each case, or per label for each case and label: the truth if known,
    the probability, the action and its numbers.
    """
    mean = to_numpy(plan.mean).reshape(-1, len(plan.class_names))
    names = np.asarray(plan.class_names, dtype=object)
    columns: dict[str, Any] = {}
    if plan.task == "per_label":
        columns["label"] = np.tile(names, len(mean))
        if y_true is not None:
            columns["y_true"] = true_outcomes(plan, y_true).reshape(-1)
        columns["probability"] = mean.reshape(-1).astype(float)
    else:
        if y_true is not None:
            columns["y_true"] = names[true_outcomes(plan, y_true)]
        columns["most_probable"] = names[mean.argmax(axis=-1)]
        columns["probability"] = mean.max(axis=-1).astype(float)
    columns["action"] = plan.action_names.reshape(-1)
    for name in VALUES:
        columns[name] = to_numpy(getattr(plan, name)).astype(float).reshape(-1)
    return columns


def decision_frame(plan: Decisions, ids: Any, y_true: Any, library: str) -> Any:
    """`decision_columns` as a data frame."""
    ids, y_true = same_rows(plan.distribution, ids=ids, y_true=y_true)
    shape = tuple(plan.mean.shape[:-1])
    known = plan.distribution.ids
    repeat = len(plan.class_names) if plan.task == "per_label" else 1
    columns = decision_columns(plan, y_true)
    return instance_frame(columns, shape, library, ids=ids, known=known, repeat=repeat)


def decision_csv_rows(plan: Decisions, ids: Any, y_true: Any) -> Iterator[Sequence[Any]]:
    """The header of a CSV file and its rows: `decision_columns` with the reason of each decision in
    one sentence; for choosing one class also with the probability ``p_…`` of each class.
    """
    plan.value_of_knowledge  # noqa: B018 - once for all parts
    for rows, part in plan.parts():
        columns = _csv_columns(part, ids[rows], None if y_true is None else y_true[rows])
        if rows.start == 0:
            yield list(columns)
        yield from zip(*columns.values(), strict=True)


def _csv_columns(plan: Decisions, ids: Any, y_true: Any) -> dict[str, Any]:
    names, cases = plan.class_names, range(len(plan.mean))
    if plan.task == "per_label":
        columns = {"id": np.repeat(ids, len(names)), **decision_columns(plan, y_true)}
        columns["reason"] = [plan.explain(i, label=name) for i in cases for name in names]
        return columns
    columns = {"id": ids, **decision_columns(plan, y_true)}
    columns["reason"] = list(map(plan.explain, cases))
    for k, name in enumerate(names):
        columns[f"p_{name}"] = to_numpy(plan.mean)[:, k].astype(float)
    return columns
