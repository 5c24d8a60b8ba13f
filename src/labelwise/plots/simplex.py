"""The second-order distribution of one instance over three classes, as a triangle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from ..distributions import Distribution
from ._style import EPISTEMIC, add_legend, new_axes, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def plot_simplex(
    q: Distribution,
    i: int = 0,
    *,
    n_samples: int = 2000,
    rng: int | np.random.Generator | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """The second-order distribution Q of instance ``i`` on the simplex of three classes; a cross
    marks its mean.

    Shows the members of an ensemble or a sample of a continuous distribution; for a Dirichlet also
    its 50 % and 90 % highest-density regions.
    """
    if not q.exclusive or q.n_classes != 3:
        raise ValueError(
            f"the simplex needs K = 3 mutually exclusive classes; got {type(q).__name__} with K = "
            f"{q.n_classes}"
        )
    mean = to_numpy(q.mean()).reshape(-1, 3)
    if not 0 <= i < len(mean):
        raise ValueError(f"`i` must be one of the {len(mean)} instances; got {i}")
    draws = to_numpy(q.members[0] if q.members else q.sample(n_samples, rng=rng))
    points = draws.reshape(draws.shape[0], -1, 3)[:, i] @ CORNERS
    ax = new_axes(ax, (3.8, 3.6))
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="#444444", linewidth=1)
    for share in (0.25, 0.5, 0.75):
        for a in range(3):
            ends = share * CORNERS[a] + (1 - share) * np.delete(CORNERS, a, axis=0)
            ax.plot(*ends.T, color="#E2E2E2", linewidth=0.6, zorder=0)
    _regions(ax, q[np.unravel_index(i, q.batch_shape)] if q.batch_shape else q)
    dots: dict[str, Any] = {"s": 4, "alpha": 0.18, "label": "sample"}
    if q.finite:
        dots = {"s": 28, "alpha": 0.8, "label": "members"}
    ax.scatter(*points.T, color=EPISTEMIC, edgecolors="none", **dots)
    cross: dict[str, Any] = {"marker": "X", "s": 90, "color": "black", "edgecolors": "white"}
    ax.scatter(*(mean[i] @ CORNERS), zorder=3, label="mean", **cross)
    names = q.class_names or ("0", "1", "2")
    for corner, name, side, height in zip(
        CORNERS, names, ("right", "left", "center"), ("top", "top", "bottom"), strict=True
    ):
        ax.annotate(
            tick_text(name),
            corner,
            (0, 5 if height == "bottom" else -5),
            textcoords="offset points",
            ha=side,
            va=height,
        )
    add_legend(ax, loc="upper right")
    return ax


def _regions(ax: Axes, q: Distribution[Any], steps: int = 150) -> None:
    """Shade the 50 % and 90 % highest-density regions of one instance's distribution, found on a
    grid.
    """
    first, second = np.meshgrid(np.arange(steps), np.arange(steps))
    inside = first + second < steps
    a, b = ((x[inside] + 1 / 3) / steps for x in (first, second))
    points = np.stack([a, b, 1 - a - b], axis=-1)
    height = q.log_density(points)
    if height is None:
        return
    density = np.exp(height - height.max())
    order = np.argsort(-density)
    held = np.cumsum(density[order]) / density.sum()
    levels = [density[order][np.searchsorted(held, share)] for share in (0.9, 0.5)]
    if levels[0] < levels[1] < 1:
        colors = ["#D6E8F4", "#9CC7E3"]
        place = (points @ CORNERS).T
        ax.tricontourf(*place, density, levels=[*levels, 1.0], colors=colors, zorder=0)
