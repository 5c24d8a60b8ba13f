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


class Picture(NamedTuple):
    """What a figure shows, small enough to be kept."""

    title: str
    spacing: np.ndarray
    """Millimeters toward right, front and head."""
    planes: dict[str, list[list[np.ndarray]]]
    """By name, the planes across these axes; of outlines those of several masks."""


def cut_planes(details: Details) -> Picture:
    """Cut a structure through the place where epistemic uncertainty is highest."""
    from scipy.ndimage import uniform_filter

    grid, masks = details.case.grid, details.masks
    volumes = {part: [values] for part, values in details.parts.items() if values.any()}
    volumes |= {"members": masks.members, "mean": [masks.mean]}
    shown = details.components > 0
    if details.truth is not None:
        volumes["truth"] = [details.truth]
        shown |= details.truth
    if details.case.image is not None:
        volumes["image"] = [np.atleast_3d(details.case.image.read())]
    box = bounding_box(shown, np.ceil(MARGIN_MM / grid.spacing).astype(int).tolist())
    turn = nibabel().io_orientation(grid.affine)

    def turned(volume: np.ndarray) -> np.ndarray:
        """Axes toward right, front and head, for pictures only."""
        window = volume[(..., *box)].T if shown.any() else volume.T
        return np.asarray(nibabel().apply_orientation(window, turn))

    spacing = grid.spacing[::-1][np.argsort(turn[:, 0])]
    size = np.maximum(SMOOTHED_MM // spacing, 1).astype(int).tolist()
    doubt = uniform_filter(turned(details.parts["epistemic"]), size, mode="constant")
    place = np.unravel_index(int(doubt.argmax()), doubt.shape)
    planes = {}
    for name, several in volumes.items():
        planes[name] = [
            [np.take(turned(volume), place[axis], axis).T for volume in several]
            for axis in range(3)
        ]
    return Picture(f"{details.case.name}, {details.structure.name}", spacing, planes)


def draw(picture: Picture, path: Path) -> None:
    """Write a figure as PNG: image and outlines, epistemic and aleatoric uncertainty."""
    plt: Any = pyplot()
    planes = picture.planes
    parts = [part for part in SHORT.values() if part in planes]
    highest = max((x.max() for part in parts for (x,) in planes[part]), default=1)
    figure, axes = plt.subplots(
        3, 1 + len(parts), figsize=(3 * len(parts) + 4, 9), squeeze=False, layout="constrained"
    )
    for axis, row in enumerate(axes):
        height, width = [step for i, step in enumerate(picture.spacing) if i != axis][::-1]
        mean = planes["mean"][axis][0]
        image = planes.get("image", [[np.zeros(mean.shape)]] * 3)[axis][0]
        row[0].imshow(image, cmap="gray", origin="lower", aspect=height / width)
        row[0].set_ylabel(PLANES[axis])
        for name, (color, width) in LINES.items():
            for mask in planes.get(name, [[]] * 3)[axis]:
                if mask.any() and min(mask.shape) > 1:
                    row[0].contour(mask, [0.5], colors=color, linewidths=width)
        for ax, part in zip(row[1:], parts, strict=True):
            shown = ax.imshow(
                planes[part][axis][0], "magma", vmin=0, vmax=highest, origin="lower",
                aspect=row[0].get_aspect(),
            )  # fmt: skip
        for ax in row:
            ax.set(xticks=[], yticks=[])
            if axis > 0:  # as radiologists see it: the patient's right is on the left
                ax.invert_xaxis()
    for ax, title in zip(axes[0], ["outlines", *parts], strict=True):
        ax.set_title(title)
    if parts:
        figure.colorbar(shown, ax=axes.ravel().tolist(), shrink=0.5)
    figure.suptitle(tick_text(picture.title, 70))
    handles = [plt.Line2D([], [], color=LINES[x][0], label=x) for x in LINES if x in planes]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=100)
    plt.close(figure)
