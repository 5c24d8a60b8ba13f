"""Three planes through the worst place of a structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._lazy import imported
from ..io.atomic import replacing
from ..plots._style import TRUTH, pyplot, tick_text
from .predictions import Votes, read_values
from .structures import Details, bounding_box

MARGIN_MM = 10.0
SMOOTHED_MM = 5.0  # a place is worse than a voxel
PARTS = ("epistemic", "aleatoric")
MEAN, MEMBER, ON_WHITE = "#E69F00", "#56B4E9", "#999999"
PLANES = ("sagittal", "coronal", "axial")  # across the axes toward right, front and head
ENDS = (("L", "R"), ("P", "A"), ("I", "S"))


class Plane(NamedTuple):
    """One cut; arrays are (horizontal, vertical)."""

    image: np.ndarray | None
    parts: dict[str, np.ndarray]
    mean: np.ndarray
    members: list[np.ndarray]
    truth: np.ndarray | None
    spacing: np.ndarray
    """Millimeters along both axes."""


class Picture(NamedTuple):
    """What a figure shows of a structure, small enough to be kept."""

    title: str
    planes: list[Plane]
    place: list[int]
    """The worst place in the planes' window, toward right, front and head."""
    highest: float


def cut_planes(details: Details) -> Picture:
    """Cut a structure through its worst place, with axes toward right, front and head."""
    case = details.predicted.case
    worst = worst_place(details)
    turn = _Turn(case.grid.affine)
    window = turn.window(details, worst)
    image = None
    if case.image is not None:
        image = read_values(case.image)
        image = image[0] if image.ndim == 4 else image
    parts = {part: details.parts[part] for part in PARTS if part in details.parts}
    if isinstance(details.predicted, Votes):
        parts.pop("aleatoric", None)  # 0 everywhere
    center = turn.voxel(worst, case.grid.shape)
    place = [i - edge.start for i, edge in zip(center, window, strict=True)]
    spacing = case.grid.spacing[turn.axes]
    planes = []
    for axis in range(3):
        cut: list[Any] = list(window)
        cut[axis] = center[axis]

        def plane(volume: np.ndarray, cut: tuple[Any, ...] = tuple(cut)) -> np.ndarray:
            return np.array(turn(volume)[cut])

        planes.append(
            Plane(
                None if image is None else plane(image).astype(float),
                {part: plane(volume) for part, volume in parts.items()},
                plane(details.masks.mean),
                [plane(mask) for mask in details.masks.members],
                None if details.truth is None else plane(details.truth),
                np.delete(spacing, axis),
            )
        )
    highest = max(float(volume.max()) for volume in parts.values())
    x, y, z = case.grid.world(worst)
    title = f"{case.name}, {details.structure.name} at ({x:.0f}, {y:.0f}, {z:.0f}) mm"
    return Picture(title, planes, place, highest)


def worst_place(details: Details) -> tuple[int, ...]:
    """The voxel around which epistemic uncertainty is highest."""
    from scipy.ndimage import uniform_filter

    epistemic = details.parts["epistemic"]
    size = [max(1, int(SMOOTHED_MM / step)) for step in details.predicted.case.grid.spacing]
    box = bounding_box(epistemic > epistemic.max() / 2, size) or (slice(None),) * 3
    smooth = uniform_filter(epistemic[box], size, mode="constant")
    index = np.unravel_index(int(smooth.argmax()), smooth.shape)
    return tuple(int(i) + (edge.start or 0) for i, edge in zip(index, box, strict=True))


class _Turn:
    """Views of volumes whose axes point toward right, front and head, for pictures only."""

    def __init__(self, affine: np.ndarray) -> None:
        nibabel: Any = imported("nibabel", "figures need nibabel", "medical")
        orientation = nibabel.io_orientation(affine)
        self.axes = np.argsort(orientation[:, 0])
        self.flipped = [axis for axis in range(3) if orientation[self.axes[axis], 1] < 0]

    def __call__(self, volume: np.ndarray) -> np.ndarray:
        return np.flip(volume.transpose(self.axes), self.flipped)

    def voxel(self, voxel: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
        """Where a voxel is in the view."""
        found = []
        for axis, stored in enumerate(self.axes):
            i = voxel[stored]
            found.append(shape[stored] - 1 - i if axis in self.flipped else i)
        return found

    def window(self, details: Details, worst: tuple[int, ...]) -> tuple[slice, ...]:
        """A box around the structure, its truth and the worst place."""
        shown = details.components > 0
        if details.truth is not None:
            shown |= details.truth
        shown[worst] = True
        spacing = details.predicted.case.grid.spacing
        margin = [int(np.ceil(MARGIN_MM / step)) for step in spacing[self.axes]]
        box = bounding_box(self(shown), margin)
        if box is None:  # cannot be: the worst place is shown
            return (slice(0, None),) * 3
        return box


def draw(picture: Picture, path: Path) -> None:
    """Write a figure as PNG: image and outlines, epistemic and aleatoric uncertainty."""
    plt = pyplot()
    parts = list(picture.planes[0].parts)
    columns = 1 + len(parts)
    figure, axes = plt.subplots(
        3, columns, figsize=(2.9 * columns + 0.9, 9.2), squeeze=False, layout="constrained"
    )
    shown = None
    for axis, (row, plane) in enumerate(zip(axes, picture.planes, strict=True)):
        _draw_outlines(row[0], plane)
        for ax, part in zip(row[1:], parts, strict=True):
            shown = _show(ax, plane, plane.parts[part], "magma", (0, picture.highest or 1))
            _contour(ax, plane.mean, "white", 0.6)
        _annotate(row, axis, picture.place)
    for ax, words in zip(axes[0], ("outlines", *parts), strict=True):
        ax.set_title(words, fontsize=10)
    if shown is not None:
        figure.colorbar(shown, ax=axes[:, 1:].ravel().tolist(), shrink=0.5, pad=0.02)
    figure.suptitle(tick_text(picture.title, 70), fontsize=11)
    plane = picture.planes[0]
    lines = {"members": _member_color(plane), "mean": MEAN}
    if plane.truth is not None:
        lines["truth"] = TRUTH
    handles = [plt.Line2D([], [], color=color, label=name) for name, color in lines.items()]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=100)
    plt.close(figure)


def _draw_outlines(ax: Any, plane: Plane) -> None:
    if plane.image is None:
        _show(ax, plane, np.zeros_like(plane.mean, float), "Greys", (0, 1))
    else:
        low, high = np.percentile(plane.image, [1, 99])
        _show(ax, plane, plane.image, "gray", (low, max(high, low + 1e-9)))
    for mask in plane.members:
        _contour(ax, mask, _member_color(plane), 0.6)
    _contour(ax, plane.mean, MEAN, 1.4)
    if plane.truth is not None:
        _contour(ax, plane.truth, TRUTH, 1.4)


def _member_color(plane: Plane) -> str:
    return ON_WHITE if plane.image is None else MEMBER


def _show(ax: Any, plane: Plane, values: np.ndarray, colors: str, limits: Any) -> Any:
    low, high = limits
    aspect = plane.spacing[1] / plane.spacing[0]
    return ax.imshow(
        values.T, origin="lower", cmap=colors, vmin=low, vmax=high, aspect=aspect,
        interpolation="nearest",
    )  # fmt: skip


def _contour(ax: Any, mask: np.ndarray, color: str, width: float) -> None:
    if mask.any() and not mask.all() and min(mask.shape) > 1:
        ax.contour(mask.T.astype(float), [0.5], colors=color, linewidths=width)


def _annotate(row: Any, axis: int, place: list[int]) -> None:
    """The plane, its ends, and a cross through the worst place."""
    horizontal, vertical = (i for i in range(3) if i != axis)
    for ax in row:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.axvline(place[horizontal], color="#BBBBBB", linewidth=0.4, linestyle=":")
        ax.axhline(place[vertical], color="#BBBBBB", linewidth=0.4, linestyle=":")
        if horizontal == 0:  # as radiologists see it: the patient's right is on the left
            ax.invert_xaxis()
    left, right = ENDS[horizontal]
    if horizontal == 0:
        left, right = right, left
    row[0].set_xlabel(f"{left}   {PLANES[axis]}   {right}", fontsize=9)
    row[0].set_ylabel("   ".join(ENDS[vertical]), fontsize=9)
