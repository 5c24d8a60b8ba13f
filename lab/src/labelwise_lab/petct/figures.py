"""The paper's Figure 2 for any slice: CT, PET with the expert's outline, and label-wise bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from labelwise import Uncertainty
from labelwise.plots import plot_labels

from ..plotting import pyplot, tidy
from ..text import shortened
from ..validation import to_numpy
from .manifest import Part, Prepared

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUTLINE = "#E69F00"
_SUV_BLACK = 10.0  # uptake drawn in black


def plot_slices(
    prepared: Prepared, part: Part, u: Uncertainty, indices: Sequence[int], *, y_pred: np.ndarray
) -> Figure:
    """One row per slice: CT, PET with the segmentation outlined, label-wise uncertainty; true class
    in green, prediction underlined.

    Parameters
    ----------
    prepared, part
        The prepared folder and the part of it to which the slices belong.
    u : Uncertainty
        (N, K), for all slices of ``part``.
    indices : sequence of int
        Slices to draw, as indices into ``part``.
    y_pred : array (N,)
        Predicted classes.
    """
    if not len(indices):
        raise ValueError("`indices` must name at least one slice to show")
    images = part.images[np.array(indices)]
    frame = _frame(images[..., 1])
    rows, columns = images[0, ..., 0][frame].shape
    height, width = 2.6, 2.6 * columns / rows  # of an image, in inches
    figure, axes = pyplot().subplots(
        len(indices),
        3,
        squeeze=False,
        figsize=(2 * width + 3.2, len(indices) * (height + 0.75) + 0.25),
        width_ratios=[width, width, 2.6],
        layout="constrained",
    )
    suv_max = prepared.manifest["settings"]["suv_max"]
    # One scale for all rows, at least a quarter of the maximum: small uncertainty must look small.
    highest = max(to_numpy(u.total)[indices].max(), 0.25 * np.max(u.maximum))
    for (ct, pet, bars), i, image in zip(axes, indices, images, strict=True):
        ct.imshow(image[frame][..., 1], cmap="gray", vmin=0, vmax=255)
        uptake = image[frame][..., 0] * (suv_max / 255)
        pet.imshow(uptake, cmap="gray_r", vmin=0, vmax=min(_SUV_BLACK, suv_max))
        mask = part.images.lesions(i)[frame]
        if mask.any():
            pet.contour(mask.astype(float), [0.5], colors=OUTLINE, linewidths=1.1)
        for ax, name in ((ct, "CT"), (pet, "PET")):
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            ax.set_xlabel(name, fontsize=8)
        ct.set_title(_title(part, i), fontsize=8, loc="left")
        tidy(bars)
        truth = int(part.y[i]) if part.y[i] >= 0 else None
        plot_labels(u, i, y_true=truth, y_pred=int(y_pred[i]), ax=bars)
        bars.set_ylim(0, 1.05 * highest)
        bars.tick_params(labelsize=8)
        bars.yaxis.label.set_fontsize(8)
    handles, _ = axes[-1, 2].get_legend_handles_labels()
    outline = pyplot().Line2D([], [], color=OUTLINE, linewidth=1.1, label="segmentation")
    figure.legend(
        handles=[*handles, outline],
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=8,
    )
    return cast("Figure", figure)


def _title(part: Part, i: int) -> str:
    """Patient, plane and study; of a held-back one also the diagnosis, which is none of the bars."""
    name, _, plane = str(part.ids[i]).rpartition("#")
    patient, _, study = name.partition("/")
    first = f"{patient}, plane {plane}"
    if part.y[i] < 0:
        first += f": {part.diagnoses[name]}"
    return f"{first}\n{shortened(study, 44)}".replace("$", r"\$")


def _frame(ct: np.ndarray) -> tuple[slice, slice]:
    """Rows and columns around everything but air in all images, with a margin."""
    body = np.any(ct > 40, axis=0)
    margin = max(1, len(body) // 40)
    ranges = []
    for axis in (1, 0):
        inside = np.flatnonzero(body.any(axis=axis))
        if len(inside) == 0:
            inside = np.arange(len(body))
        ranges.append(slice(max(0, inside[0] - margin), inside[-1] + margin + 1))
    return ranges[0], ranges[1]
