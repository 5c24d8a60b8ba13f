"""The style of the lab's figures: the colors of `labelwise.plots`, distinguishable in print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALEATORIC = "#D55E00"
EPISTEMIC = "#0072B2"
TOTAL = "#444444"
_PARTS = {"total": TOTAL, "aleatoric": ALEATORIC, "epistemic": EPISTEMIC}
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def pyplot() -> Any:
    """matplotlib.pyplot, loaded when it is used."""
    import matplotlib.pyplot

    return matplotlib.pyplot


def tidy(ax: Axes) -> None:
    """Remove non-data ink."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)


def line(i: int, name: str = "") -> dict[str, Any]:
    """Color and dashes of the i-th curve; total, aleatoric and epistemic have fixed colors."""
    color = _PARTS.get(name, _COLORS[i % len(_COLORS)])
    dashes = _DASHES[(i // len(_COLORS) + i) % len(_DASHES)]
    return {"color": color, "linestyle": dashes, "linewidth": 1.6}
