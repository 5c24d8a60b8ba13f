"""Three planes through the worst place of a structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Array
from ..io.atomic import replacing
from ..plots._style import TRUTH, pyplot, tick_text
from .images import nibabel
from .structures import SHORT, Details

SMOOTHED_MM = 2.0  # a place is worse than a voxel
PLANES = ("sagittal, P to A", "coronal, R to L", "axial, R to L")
LINES = {"members": ("#56B4E9", 0.7), "mean": ("#E69F00", 1.4), "truth": (TRUTH, 1.4)}
PARTS = tuple(SHORT.values())


Plane = tuple[float, dict[str, Array]]
"""Height ÷ width of its voxels, and what it shows, by name: several (n, rows, columns) of members,
else one.
"""


def cut_planes(details: Details) -> list[Plane]:
    """Cut a structure through the place where epistemic uncertainty is highest, across the axes
    toward right, front and head.
    """
    from scipy.ndimage import gaussian_filter

    case, box = details.predicted.case, details.box
    volumes = details.masks | {part: details.uncertainty[part][None] for part in PARTS}
    if case.image is not None:
        volumes["image"] = case.image.read().reshape(-1, *case.grid.shape)[:1]
    turn = nibabel().io_orientation(case.grid.affine)  # toward right, front and head
    spacing = case.grid.spacing[::-1][turn[:, 0].argsort()]
    shown = {}
    for name, several in volumes.items():
        shown[name] = nibabel().apply_orientation(several[:, *box].T, turn)
    doubt = gaussian_filter(shown["epistemic"][..., 0], SMOOTHED_MM / spacing, mode="constant")
    planes = []
    for axis, place in enumerate(np.unravel_index(doubt.argmax(), doubt.shape)):
        width, height = np.delete(spacing, axis)
        cut = {name: np.take(x, place, axis).T for name, x in shown.items()}
        planes.append((height / width, cut))
    return planes


def draw(planes: list[Plane], title: str, path: Path) -> None:
    """Write a figure as PNG: image and outlines, epistemic and aleatoric uncertainty."""
    plt: Any = pyplot()
    figure, axes = plt.subplots(3, 3, figsize=(10, 9), layout="constrained")
    highest = max(cut[part].max() for _, cut in planes for part in PARTS) or 1
    for axis, (aspect, cut) in enumerate(planes):
        outlines, *others = row = axes[axis]
        outlines.imshow(cut.get("image", 0 * cut["mean"])[0], "gray", origin="lower")
        outlines.set(ylabel=PLANES[axis], title="outlines")
        for name, (color, thickness) in LINES.items():
            for mask in cut[name]:
                if mask.any() and min(mask.shape) > 1:
                    outlines.contour(mask, [0.5], colors=color, linewidths=thickness)
            if len(cut[name]) and axis == 0:
                outlines.plot([], [], color=color, label=name)
        for ax, part in zip(others, PARTS, strict=True):
            heat = ax.imshow(cut[part][0], "magma", vmin=0, vmax=highest, origin="lower")
            ax.set_title(part)
        for ax in row:
            ax.set(xticks=[], yticks=[], aspect=aspect)
            if axis > 0:  # as radiologists see it: the patient's right is on the left
                ax.invert_xaxis()
    figure.colorbar(heat, ax=axes, shrink=0.5)
    figure.suptitle(tick_text(title, 70))
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=100)
    plt.close(figure)
