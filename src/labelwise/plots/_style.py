"""Shared style of all plots, with colors that are distinguishable for color-blind readers and in
print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lazy import imported
from .._tables import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALEATORIC = "#D55E00"
EPISTEMIC = "#0072B2"
TOTAL = "#444444"
TRUTH = "#00785A"
BARS: dict[str, dict[str, Any]] = {
    "epistemic": {"color": EPISTEMIC, "linewidth": 0},
    "aleatoric": {"color": ALEATORIC, "linewidth": 0, "hatch": "////", "edgecolor": "white"},
}
"""The two parts of a bar; hatches distinguish them without color."""
REFERENCE: dict[str, Any] = {"color": "#999999", "linewidth": 1}
"""Lines to compare with: chance, perfect calibration."""
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to install it."""
    return imported("matplotlib.pyplot", "Plotting needs matplotlib", "plots")


def new_axes(ax: Axes | None, size: tuple[float, float] = (5.0, 3.6)) -> Axes:
    """``ax``, or new axes in a new figure."""
    if ax is not None:
        return ax
    new = pyplot().figure(figsize=size, layout="constrained").add_subplot()
    tidy_axes(new)
    return new


def tidy_axes(ax: Axes) -> None:
    """Remove non-data ink."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)


def tick_text(name: str, longest: int = 24) -> str:
    """A class name as text: cut if it is long, and a dollar sign starts no formula."""
    return shortened(name, longest).replace("$", r"\$")


def name_bars(ax: Axes, names: Sequence[str], *, upright: bool = False) -> None:
    """Names below vertical bars, turned unless they are short."""
    ax.set_xticks(range(len(names)), names)
    if not upright:
        ax.tick_params(axis="x", rotation=45)
        for tick in ax.get_xticklabels():
            tick.set(ha="right", rotation_mode="anchor")


def stack_bars(ax: Axes, epistemic: np.ndarray, aleatoric: np.ndarray) -> None:
    """Vertical bars: epistemic uncertainty at the bottom, aleatoric on top."""
    place = np.arange(len(epistemic))
    ax.bar(place, epistemic, 0.8, label="epistemic", **BARS["epistemic"])
    ax.bar(place, aleatoric, 0.8, epistemic, label="aleatoric", **BARS["aleatoric"])


def add_legend(ax: Axes, **options: Any) -> None:
    """A small legend without a frame."""
    ax.legend(frameon=False, fontsize=9, **options)


def line_style(i: int, name: str = "") -> dict[str, Any]:
    """Color and dashes of the i-th curve, distinguishable in black and white; total, aleatoric and
    epistemic have fixed colors.
    """
    parts = {"total": TOTAL, "aleatoric": ALEATORIC, "epistemic": EPISTEMIC}
    return {
        "color": parts.get(name, CYCLE[i % len(CYCLE)]),
        "linestyle": DASHES[i % len(DASHES)],  # one fewer than colors: all pairs occur
        "linewidth": 1.6,
    }
