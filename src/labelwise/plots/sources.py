"""Where the members' disagreement comes from, as stacked bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..sources import Sources
from ._style import CYCLE, add_legend, name_bars, new_axes, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HATCHES = ("", "////", "....", "xxxx", "----")


def plot_sources(sources: Sources, *, max_labels: int = 20, ax: Axes | None = None) -> Axes:
    """Stacked bars of the mean epistemic uncertainty of each label by source, most uncertain label
    first.

    Factors whose main effect is significant at the 5 % level have a star.
    """
    if not isinstance(sources, Sources):
        raise TypeError(f"`sources` must be what u.sources() returns; got {type(sources).__name__}")
    means = sources.means
    order = np.argsort(-means.sum(axis=0), kind="stable")[:max_labels]
    ax = new_axes(ax, (max(3.5, 0.45 * len(order) + 1.5), 3.2))
    place, heights = np.arange(len(order)), means[:, order]
    bottoms = np.cumsum(heights, axis=0) - heights
    for i, name in enumerate(sources.names):
        label = tick_text(name) + (" *" if name in sources.found else "")
        style: dict[str, Any] = {
            "color": CYCLE[i % len(CYCLE)],
            "hatch": HATCHES[i % len(HATCHES)],
            "edgecolor": "white",
            "linewidth": 0,
        }
        ax.bar(place, heights[i], 0.8, bottoms[i], label=label, **style)
    name_bars(ax, [tick_text(sources.class_names[k]) for k in order])
    ax.set_ylabel("epistemic uncertainty, mean")
    add_legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)  # above the axes
    return ax
