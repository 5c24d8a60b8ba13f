"""The style of the lab's figures: the colors of `labelwise.plots`, distinguishable in print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

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


def tidy(ax: Axes, grid: Literal["x", "y", "both"] = "y") -> None:
    """Remove non-data ink; keep a faint grid across one axis."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)


def panels(
    n: int,
    *,
    width: float,
    height: float,
    grid: Literal["x", "y", "both"] = "y",
    **options: Any,
) -> tuple[Any, list[Any]]:
    """A figure with ``n`` tidy panels side by side, each ``width`` wide."""
    figure, axes = pyplot().subplots(
        1, n, figsize=(width * n, height), layout="constrained", squeeze=False, **options
    )
    for ax in axes[0]:
        tidy(ax, grid)
    return figure, list(axes[0])


def reach(value: float, low: float | None, high: float | None) -> list[list[float]] | None:
    """How far an interval reaches below and above its value, as matplotlib wants it."""
    if low is None or high is None:
        return None
    return [[value - low], [high - value]]


def line(i: int, name: str = "") -> dict[str, Any]:
    """Color and dashes of the i-th curve; total, aleatoric and epistemic have fixed colors."""
    color = _PARTS.get(name, _COLORS[i % len(_COLORS)])
    dashes = _DASHES[(i // len(_COLORS) + i) % len(_DASHES)]
    return {"color": color, "linestyle": dashes, "linewidth": 1.6}
