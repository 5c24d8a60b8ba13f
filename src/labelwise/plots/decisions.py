"""The value of more information about decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._arrays import to_numpy
from ..decisions.policy import Decisions
from ._style import REFERENCE, add_legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTIONS = {
    "predict": ("#5B6B7D", "o"),
    "act": ("#00785A", "o"),
    "leave": ("#C9D0D8", "s"),
    "abstain": ("#C7831A", "^"),
    "ask": ("#8F4A8B", "D"),
}
"""Color and marker of each action."""


def plot_values(plan: Decisions, *, ax: Axes | None = None) -> Axes:
    """Value of an expert's answer against that of knowing the probabilities (if the spread is
    right), for each case (or label).

    Above the dashed line, drawn if all cases share one price of asking, the answer saves more than
    it costs.
    """
    ax = new_axes(ax, (4.6, 4.0))
    names = plan.action_names
    if plan.task == "multiclass":
        names = np.where(to_numpy(plan.action) >= 0, "predict", names)
    answer, knowledge = to_numpy(plan.value_of_label), to_numpy(plan.value_of_knowledge)
    for name, (color, marker) in ACTIONS.items():
        x, y = knowledge[names == name], answer[names == name]
        if x.size:
            ax.scatter(x, y, s=14, c=color, marker=marker, alpha=0.6, edgecolors="none", label=name)
    price = plan.problem.ask
    if price is not None:
        ax.axhline(price, linestyle="--", label="price of asking", **REFERENCE)
    knowing = "value of knowing the probabilities, if the spread is right"
    ax.set(xlabel=knowing, ylabel="value of an expert's answer")
    add_legend(ax)
    return ax
