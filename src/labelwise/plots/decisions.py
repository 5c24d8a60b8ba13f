"""Actions by class, and the value of more information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from ..decisions import Decisions
from . import _style
from ._style import add_legend, new_axes, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTIONS = {
    "multiclass": (
        ("predict", _style.PREDICT, ""),
        ("abstain", _style.ABSTAIN, "////"),
        ("ask", _style.ASK, "...."),
    ),
    "per_label": (
        ("act", _style.ACT, ""),
        ("leave", "#C9D0D8", ""),
        ("abstain", _style.ABSTAIN, "////"),
        ("ask", _style.ASK, "...."),
    ),
}


def plot_decisions(plan: Decisions, *, max_classes: int = 20, ax: Axes | None = None) -> Axes:
    """Number of cases per action, by most probable class (``"multiclass"``) or by label
    (``"per_label"``).

    With more than ``max_classes`` classes, those with the highest expected cost are shown.
    """
    cost, mean = to_numpy(plan.expected_cost), to_numpy(plan.mean)
    if mean.ndim != 2:
        raise ValueError(f"`plan` must be about cases on one axis; got shape {mean.shape[:-1]}")
    k = len(plan.class_names)
    label = np.broadcast_to(np.arange(k), mean.shape)
    if plan.task == "multiclass":
        label = np.argmax(mean, axis=-1)
    names = _action_names(plan)
    paid = np.bincount(label.ravel(), weights=cost.ravel(), minlength=k)
    shown = np.argsort(-paid, kind="stable")[:max_classes]
    shown = shown[::-1]  # bars are drawn from the bottom up
    ax = new_axes(ax, (5.0, 0.32 * len(shown) + 1.2))
    left = np.zeros(len(shown))
    for name, color, hatch in ACTIONS[plan.task]:
        number = np.bincount(label[names == name], minlength=k)[shown]
        style: Any = {"color": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        ax.barh(np.arange(len(shown)), number, 0.8, left, label=name, **style)
        left = left + number
    ax.set_yticks(range(len(shown)), [tick_text(plan.class_names[i]) for i in shown])
    ax.set_xlabel("cases")
    ax.set_ylabel("most probable class" if plan.task == "multiclass" else "label")
    ax.set_axisbelow(True)
    ax.grid(visible=False, axis="y")
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    add_legend(ax, above=True)
    return ax


def plot_values(plan: Decisions, *, ax: Axes | None = None) -> Axes:
    """Value of an expert's answer against that of knowing the probabilities (if the spread is
    right), for each case (or label).

    Above the dashed line, drawn if all cases share one price of asking, the answer saves more than
    it costs.
    """
    ax = new_axes(ax, (4.6, 4.0))
    names = _action_names(plan)
    answer, knowledge = to_numpy(plan.value_of_label), to_numpy(plan.value_of_knowledge)
    for (name, color, _), marker in zip(ACTIONS[plan.task], "os^D", strict=False):
        here = names == name
        if np.any(here):
            style: Any = {"s": 14, "marker": marker, "color": color, "alpha": 0.6}
            ax.scatter(knowledge[here], answer[here], edgecolors="none", label=name, **style)
    price = plan.problem.ask
    if price is not None and np.unique(price).size == 1:
        height = float(np.ravel(price)[0])
        ax.axhline(height, color="#444444", linewidth=1, linestyle="--", label="price of asking")
    ax.set_xlabel("value of knowing the probabilities, if the spread is right")
    ax.set_ylabel("value of an expert's answer")
    add_legend(ax)
    return ax


def _action_names(plan: Decisions) -> np.ndarray:
    """As `Decisions.action_names`, with "predict" for all classes."""
    names = plan.action_names
    if plan.task == "multiclass":
        names = np.where(to_numpy(plan.action) >= 0, "predict", names)
    return names
