"""Decisions as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from .._labels import as_labels, outcomes_by_class
from .._tables import frame, index_columns

if TYPE_CHECKING:
    from .policy import Decisions

VALUES = ("expected_cost", "value_of_label", "value_of_knowledge")


def plan_frame(plan: Decisions, ids: Any, y_true: Any, library: str) -> Any:
    """A row for each case, or per label for each case and label."""
    mean = to_numpy(plan.mean).astype(float)
    shape, k = mean.shape[:-1], mean.shape[-1]
    cases, mean = index_columns(shape, ids), mean.reshape(-1, k)
    names = np.asarray(plan.class_names, dtype=object)
    columns: dict[str, Any]
    if plan.task == "per_label":
        columns = {name: np.repeat(x, k) for name, x in cases.items()} | {"label": np.tile(names, len(mean))}
        if y_true is not None:
            columns["y_true"] = outcomes_by_class(y_true, plan.class_names, shape).reshape(-1)
        columns["probability"] = mean.reshape(-1)
    else:
        columns = dict(cases)
        if y_true is not None:
            columns["y_true"] = names[as_labels(y_true, "y_true", plan.class_names, shape)]
        columns |= {"most_probable": names[mean.argmax(axis=-1)], "probability": mean.max(axis=-1)}
    columns["action"] = plan.action_names.reshape(-1)
    return frame({**columns, **{name: to_numpy(getattr(plan, name)).astype(float).reshape(-1) for name in VALUES}}, library)
