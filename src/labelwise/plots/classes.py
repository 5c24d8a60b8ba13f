"""Uncertainty by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..decomposition import Uncertainty
from ..evaluation.classes import ByClass, by_class
from ._style import add_legend, name_bars, new_axes, stack_bars, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_by_class(by: ByClass | Uncertainty, *, ax: Axes | None = None) -> Axes:
    """Mean label-wise uncertainty by which the classes are ranked, the class with the highest
    first, with intervals of EU if available.

    An `Uncertainty` is summarized with `by_class` first, over all instances.
    """
    if isinstance(by, Uncertainty):
        by = by_class(by)
    if not isinstance(by, ByClass):
        raise TypeError(
            f"`by` must be lw.evaluation.by_class(u, y_true), or u itself; got {type(by).__name__}"
        )
    ax = new_axes(ax, (max(3.5, 0.5 * len(by.class_names) + 1.2), 3.2))
    means = by.ranked_means
    where = "over all instances" if by.own is None else "over its own instances"
    epistemic = np.nan_to_num(means.epistemic.value[by.order])
    aleatoric = np.nan_to_num(means.aleatoric.value[by.order])
    stack_bars(ax, epistemic, aleatoric)
    if np.ndim(means.epistemic.low):  # there are intervals
        ends = np.stack([means.epistemic.low, means.epistemic.high])[:, by.order]
        place, bars = np.arange(len(epistemic)), np.abs(ends - epistemic)
        ax.errorbar(place, epistemic, bars, fmt="none", ecolor="black", capsize=2, linewidth=1)
    name_bars(ax, [tick_text(name, 18) for name in by.ranking])
    ax.set_ylabel(f"mean uncertainty\n{where}")
    add_legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)  # above the axes
    return ax
