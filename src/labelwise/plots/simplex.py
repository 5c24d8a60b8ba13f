"""The second-order distribution of one instance over three classes, as a triangle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from ..distributions import Distribution
from ._style import EPISTEMIC, new_axes

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
    exact = q.finite
    draws = to_numpy(q.members[0] if q.members else q.sample(n_samples, rng=rng))
    points = draws.reshape(draws.shape[0], -1, 3)[:, i] @ CORNERS
    ax = new_axes(ax, (3.8, 3.6))
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="#444444", linewidth=1)
    for share in (0.25, 0.5, 0.75):
        for a in range(3):
            ends = np.array(
                [share * CORNERS[a] + (1 - share) * CORNERS[b] for b in range(3) if b != a]
            )
            ax.plot(*ends.T, color="#E2E2E2", linewidth=0.6, zorder=0)
    _regions(ax, q[np.unravel_index(i, q.batch_shape)] if q.batch_shape else q)
    size, alpha = (28, 0.8) if exact else (4, 0.18)
    ax.scatter(
        points[:, 0],
        points[:, 1],
        s=size,
        alpha=alpha,
        color=EPISTEMIC,
        edgecolors="none",
        label="members" if exact else "sample",
    )
    center = mean[i] @ CORNERS
    ax.scatter(
        center[0],
        center[1],
        marker="X",
        s=90,
        color="black",
        edgecolors="white",
        zorder=3,
        label="mean",
    )
    names = q.class_names or ("0", "1", "2")
    for corner, name, side, height in zip(
        CORNERS, names, ("right", "left", "center"), ("top", "top", "bottom"), strict=True
    ):
        ax.annotate(
            name.replace("$", r"\$"),
            corner,
            (0, 5 if height == "bottom" else -5),
            textcoords="offset points",
            ha=side,
            va=height,
        )
    ax.legend(frameon=False, fontsize=9, loc="upper right")
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
        place = points @ CORNERS
        ax.tricontourf(
            place[:, 0],
            place[:, 1],
            density,
            levels=[*levels, 1.0],
            colors=["#D6E8F4", "#9CC7E3"],
            zorder=0,
        )
