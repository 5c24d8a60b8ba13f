"""The paper's Figure 2 for any slice: CT, PET with the expert's outline, and label-wise bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from PIL import Image

from labelwise.plots import plot_labels
from labelwise.typing import Uncertainty

from ..plotting import pyplot, tidy
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
    images = part[np.array(indices)]
    # Everything but the air around the body.
    body = Image.fromarray((images[..., 1] > 40).any(axis=0))
    left, top, right, bottom = body.getbbox() or (0, 0, *body.size)
    frame = np.s_[top:bottom, left:right]
    width = 2.6 * (right - left) / (bottom - top)  # of an image 2.6 inches high
    figure, axes = pyplot().subplots(
        len(indices),
        3,
        squeeze=False,
        figsize=(2 * width + 3.2, 3.35 * len(indices) + 0.25),
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
        mask = part.lesions(i)[frame]
        if mask.any():
            pet.contour(mask.astype(float), [0.5], colors=OUTLINE, linewidths=1.1)
        for ax, name in ((ct, "CT"), (pet, "PET")):
            ax.set(xticks=[], yticks=[], xlabel=name)
            ax.spines[:].set_visible(False)
        ct.set_title(_title(part, i), loc="left")
        tidy(bars)
        truth = int(part.y[i]) if part.y[i] >= 0 else None
        plot_labels(u, i, y_true=truth, y_pred=int(y_pred[i]), ax=bars)
        bars.set_ylim(0, 1.05 * highest)
    handles, _ = axes[-1, 2].get_legend_handles_labels()
    handles.append(pyplot().Line2D([], [], color=OUTLINE, label="segmentation"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return cast("Figure", figure)


def _title(part: Part, i: int) -> str:
    """Patient, study and plane; for a held-back one also the diagnosis, which no bar shows."""
    patient, _, plane = str(part.ids[i]).partition("/")
    if part.y[i] < 0:
        patient += f": {part.diagnoses[part.studies[i]]}"
    return f"{patient}\n{plane}".replace("$", r"\$")
