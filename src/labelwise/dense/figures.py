"""Three planes through the worst place of a structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..io.atomic import replacing
from ..plots._style import TRUTH, pyplot, tick_text
from .images import nibabel
from .structures import SHORT, Details, bounding_box

MARGIN_MM = 10.0
SMOOTHED_MM = 5.0  # a place is worse than a voxel
PLANES = ("sagittal, P to A", "coronal, R to L", "axial, R to L")
LINES = {"members": ("#56B4E9", 0.7), "mean": ("#E69F00", 1.4), "truth": (TRUTH, 1.4)}
PARTS = tuple(SHORT.values())


class Picture(NamedTuple):
    """What a figure shows, small enough to be kept."""

    title: str
    spacing: np.ndarray
    """Millimeters toward right, front and head."""
    planes: list[dict[str, list[np.ndarray]]]
    """Across each of these axes, the planes by name: of outlines those of several masks."""


def cut_planes(details: Details) -> Picture:
    """Cut a structure through the place where epistemic uncertainty is highest."""
    from scipy.ndimage import uniform_filter

    grid, masks, truth = details.case.grid, details.masks, details.truth
    shown = details.numbers > 0
    volumes = {part: [details.parts[part]] for part in PARTS}
    volumes |= {"image": [], "members": masks.members, "mean": [masks.mean], "truth": []}
    if truth is not None:
        volumes["truth"] = [truth]
        shown |= truth
    if details.case.image is not None:
        image = details.case.image.read()
        volumes["image"] = [image.reshape(-1, *grid.shape)[0]]  # the first of several channels
    box = bounding_box(shown, np.ceil(MARGIN_MM / grid.spacing).astype(int).tolist())
    turn = nibabel().io_orientation(grid.affine)
    for name, several in volumes.items():  # axes toward right, front and head, for pictures only
        volumes[name] = [nibabel().apply_orientation(x[box].T, turn) for x in several]
    spacing = grid.spacing[::-1][np.argsort(turn[:, 0])]
    size = np.maximum(SMOOTHED_MM // spacing, 1).astype(int).tolist()
    doubt = uniform_filter(volumes["epistemic"][0], size, mode="constant")
    planes = []
    for axis, place in enumerate(np.unravel_index(doubt.argmax(), doubt.shape)):
        cut = {name: [np.take(x, place, axis).T for x in volumes[name]] for name in volumes}
        planes.append(cut)
    return Picture(f"{details.case.name}, {details.name}", spacing, planes)


def draw(picture: Picture, path: Path) -> None:
    """Write a figure as PNG: image and outlines, epistemic and aleatoric uncertainty."""
    plt: Any = pyplot()
    figure, axes = plt.subplots(3, 3, figsize=(10, 9), layout="constrained")
    highest = max(cut[part][0].max() for cut in picture.planes for part in PARTS)
    for axis, (cut, row) in enumerate(zip(picture.planes, axes, strict=True)):
        width, height = np.delete(picture.spacing, axis)
        for image in cut["image"] or [np.zeros(cut["mean"][0].shape)]:
            row[0].imshow(image, "gray", origin="lower")
        for name, (color, thickness) in LINES.items():
            for mask in cut[name]:
                if mask.any() and min(mask.shape) > 1:
                    row[0].contour(mask, [0.5], colors=color, linewidths=thickness)
        for ax, part in zip(row[1:], PARTS, strict=True):
            shown = ax.imshow(cut[part][0], "magma", vmin=0, vmax=highest or 1, origin="lower")
            ax.set_title(part)
        row[0].set(ylabel=PLANES[axis], title="outlines")
        for ax in row:
            ax.set(xticks=[], yticks=[], aspect=height / width)
            if axis > 0:  # as radiologists see it: the patient's right is on the left
                ax.invert_xaxis()
    figure.colorbar(shown, ax=axes, shrink=0.5)
    figure.suptitle(tick_text(picture.title, 70))
    drawn = [name for name in LINES if picture.planes[0][name]]
    handles = [plt.Line2D([], [], color=LINES[name][0], label=name) for name in drawn]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=100)
    plt.close(figure)
