"""Three planes through the worst place of a structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from ..io.atomic import replacing
from ..plots._style import TRUTH, pyplot, tick_text
from .images import nibabel
from .structures import SHORT, Details

SMOOTHED_MM = 5.0  # a place is worse than a voxel; at least three voxels
PLANES = ("sagittal, P to A", "coronal, R to L", "axial, R to L")
LINES = {"members": ("#56B4E9", 0.7), "mean": ("#E69F00", 1.4), "truth": (TRUTH, 1.4)}
PARTS = tuple(SHORT.values())


class Picture(NamedTuple):
    """What a figure shows, small enough to be kept."""

    title: str
    spacing: Array
    """Millimeters toward right, front and head."""
    planes: list[dict[str, Array]]
    """Across each of these axes, by name: several (n, rows, columns) of members, else one."""


def cut_planes(details: Details) -> Picture:
    """Cut a structure through the place where epistemic uncertainty is highest."""
    from scipy.ndimage import uniform_filter

    grid, box = details.case.grid, details.box
    volumes = details.masks | {part: [details.uncertainty[part][box]] for part in PARTS}
    if details.case.image is not None:
        channels = details.case.image.read().reshape(-1, *grid.shape)
        volumes["image"] = [channels[0][box]]
    turn = nibabel().io_orientation(grid.affine)

    def turned(several: list[Array]) -> Array:
        """Axes toward right, front and head, for pictures only; the last counts volumes."""
        return np.asarray(nibabel().apply_orientation(np.stack(several).T, turn))

    shown = {name: turned(several) for name, several in volumes.items()}
    spacing = grid.spacing[::-1][np.argsort(turn[:, 0])]
    size = np.maximum(SMOOTHED_MM // spacing, 3).astype(int).tolist()
    doubt = uniform_filter(shown["epistemic"][..., 0], size, mode="constant")
    planes = []
    for axis, place in enumerate(np.unravel_index(doubt.argmax(), doubt.shape)):
        planes.append({name: np.take(x, place, axis).T for name, x in shown.items()})
    return Picture(f"{details.case.name}, {details.name}", spacing, planes)


def draw(picture: Picture, path: Path) -> None:
    """Write a figure as PNG: image and outlines, epistemic and aleatoric uncertainty."""
    plt: Any = pyplot()
    figure, axes = plt.subplots(3, 3, figsize=(10, 9), layout="constrained")
    highest = max(cut[part].max() for cut in picture.planes for part in PARTS) or 1
    for axis, (cut, row) in enumerate(zip(picture.planes, axes, strict=True)):
        width, height = np.delete(picture.spacing, axis)
        row[0].imshow(cut.get("image", 0 * cut["mean"])[0], "gray", origin="lower")
        for name, (color, thickness) in LINES.items():
            for mask in cut.get(name, ()):
                if mask.any() and min(mask.shape) > 1:
                    row[0].contour(mask, [0.5], colors=color, linewidths=thickness)
        row[0].set(ylabel=PLANES[axis], title="outlines")
        for ax, part in zip(row[1:], PARTS, strict=True):
            shown = ax.imshow(cut[part][0], "magma", vmin=0, vmax=highest, origin="lower")
            ax.set_title(part)
        for ax in row:
            ax.set(xticks=[], yticks=[], aspect=height / width)
            if axis > 0:  # as radiologists see it: the patient's right is on the left
                ax.invert_xaxis()
    figure.colorbar(shown, ax=axes, shrink=0.5)
    figure.suptitle(tick_text(picture.title, 70))
    for name, (color, _) in LINES.items():
        if name in picture.planes[0]:
            axes[0, 0].plot([], [], color=color, label=name)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=100)
    plt.close(figure)
