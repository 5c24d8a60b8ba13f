"""The paper's Figure 2 for any slice: CT, PET with the expert's outline, and label-wise bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
_SUV_BLACK = 10.0
"""Uptake drawn in black."""


def plot_slices(
    prepared: Prepared,
    part: Part,
    u: Uncertainty,
    indices: Sequence[int] | np.ndarray,
    *,
    y_pred: np.ndarray,
    titles: Sequence[str] | None = None,
    columns: int = 1,
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
    titles : sequence of str, optional
        Defaults to patient, study and plane.
    columns : int
        Number of slices side by side.
    """
    chosen = [int(i) for i in indices]
    if not chosen:
        raise ValueError("`indices` must name at least one slice to show")
    plt = pyplot()
    rows = -(-len(chosen) // columns)
    images = part.images[np.array(chosen)]
    top, bottom, left, right = _frame(images[..., 1])
    shape = (right - left) / (bottom - top)
    height = 2.6 if rows == 1 else 2.2  # of an image, in inches
    width = max(0.6, height * shape)
    figure: Figure = plt.figure(
        figsize=(columns * (2 * width + 3.2), rows * (height + 0.75) + 0.25), layout="constrained"
    )
    grid = figure.add_gridspec(rows, 3 * columns, width_ratios=[width, width, 2.6] * columns)
    suv = float(prepared.manifest["settings"]["suv_max"])
    # One scale for all rows, at least a quarter of the maximum: small uncertainty must look small.
    limit = 1.05 * max(float(np.max(to_numpy(u.total)[chosen])), 0.25 * float(np.max(u.maximum)))
    bars: Any = None
    for place, i in enumerate(chosen):
        row, column = divmod(place, columns)
        ct, pet, bars = (figure.add_subplot(grid[row, 3 * column + j]) for j in range(3))
        _draw_images(
            ct,
            pet,
            images[place, top:bottom, left:right],
            part.images.lesions(i)[top:bottom, left:right],
            suv,
        )
        tidy(bars)
        truth = int(part.y[i]) if part.y[i] >= 0 else None
        plot_labels(u, i, y_true=truth, y_pred=int(y_pred[i]), ax=bars)
        bars.set_ylim(0, limit)
        bars.tick_params(labelsize=8)
        bars.set_ylabel(bars.get_ylabel(), fontsize=8)
        ct.set_title(_title(part, i) if titles is None else titles[place], fontsize=8, loc="left")
    handles, labels = bars.get_legend_handles_labels()
    lines = [plt.Line2D([], [], color=OUTLINE, linewidth=1.1)]
    figure.legend(
        [*handles, *lines],
        [*labels, "segmentation"],
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=8,
    )
    return figure


def _draw_images(ct: Any, pet: Any, image: np.ndarray, mask: np.ndarray, suv: float) -> None:
    """CT and PET on their axes, the segmentation ``mask`` outlined; bytes of PET are shares of
    ``suv``.
    """
    ct.imshow(image[..., 1], cmap="gray", vmin=0, vmax=255)
    pet.imshow(image[..., 0] * (suv / 255), cmap="gray_r", vmin=0, vmax=min(_SUV_BLACK, suv))
    if mask.any():
        pet.contour(mask.astype(float), [0.5], colors=OUTLINE, linewidths=1.1)
    for ax, name in ((ct, "CT"), (pet, "PET")):
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
        ax.set_xlabel(name, fontsize=8)


def _title(part: Part, i: int) -> str:
    name, _, plane = str(part.ids[i]).rpartition("#")
    patient, _, study = name.partition("/")
    return f"{patient}, plane {plane}\n{shortened(study, 44)}".replace("$", r"\$")


def _frame(ct: np.ndarray) -> tuple[int, int, int, int]:
    """Common crop (top, bottom, left, right) around everything but air, with a margin."""
    body: np.ndarray = np.any(ct > 40, axis=0)
    size = len(body)
    if not body.any():
        return 0, size, 0, size
    rows, columns = np.flatnonzero(np.any(body, axis=1)), np.flatnonzero(np.any(body, axis=0))
    margin = max(1, size // 40)
    return (
        max(0, rows[0] - margin),
        min(size, rows[-1] + margin + 1),
        max(0, columns[0] - margin),
        min(size, columns[-1] + margin + 1),
    )
