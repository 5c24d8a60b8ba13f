"""Rejection curves, out-of-distribution detection and reliability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .._arrays import Array, to_numpy
from ..calibration.reliability import ReliabilityCurve
from ..evaluation import detection_scores
from ..evaluation.rejection import RejectionCurve
from ._style import REFERENCE, add_legend, line_style, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_REJECTED = 0.98  # the end is noisy


def plot_rejection(
    curves: RejectionCurve | Mapping[str, RejectionCurve],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Accuracy, risk or utility of the kept instances against the share rejected, with confidence
    bands if available; to compare with, random rejection and the oracle of the first curve.
    """
    ax = new_axes(ax)
    named = curves if isinstance(curves, Mapping) else {"": curves}
    if not named:
        raise ValueError("`curves` must hold at least one curve")
    first = next(iter(named.values()))
    for i, (name, curve) in enumerate(named.items()):
        kept = curve.rejected <= MOST_REJECTED
        style = line_style(i, name)
        ax.plot(100 * curve.rejected[kept], curve.value[kept], label=name or None, **style)
    ax.axhline(first.random, label="random", **REFERENCE)
    kept = first.rejected <= MOST_REJECTED
    ax.plot(100 * first.rejected[kept], first.oracle[kept], ":", label="oracle", **REFERENCE)
    ax.autoscale(False)  # bands are wide where few are left
    for i, (name, curve) in enumerate(named.items()):
        if curve.band is not None:
            shade = {"color": line_style(i, name)["color"], "alpha": 0.15, "linewidth": 0}
            ax.fill_between(100 * curve.band.rejected, curve.band.low, curve.band.high, **shade)
    mean = first.kind
    if first.kind != "accuracy":
        mean = f"mean {first.kind}"
    ax.set(xlabel="rejected (%)", ylabel=f"{mean} of the rest", xlim=(0, 100))
    add_legend(ax)
    return ax


def plot_detection(
    score_in: Array,
    score_out: Array,
    *,
    names: tuple[str, str] = ("in-distribution", "out-of-distribution"),
    ax: Axes | None = None,
) -> Axes:
    """Histograms of a score on both sets, each with unit area, on common bins; the title gives the
    AUROC.
    """
    ax = new_axes(ax)
    inside, outside = (to_numpy(x).astype(float).ravel() for x in (score_in, score_out))
    bins = np.histogram_bin_edges(np.concatenate([inside, outside]), bins=40).tolist()
    for i, (scores, name) in enumerate(zip((inside, outside), names, strict=True)):
        color = line_style(i)["color"]
        look = {"facecolor": (color, 0.55), "edgecolor": color, "linewidth": 1.2}
        ax.hist(scores, bins, density=True, histtype="stepfilled", label=name, **look)
    auroc = detection_scores(inside, outside).auroc
    ax.set_title(f"AUROC {float(auroc.value):.3f}", fontsize=10)
    ax.set(xlabel="score", ylabel="density")
    add_legend(ax)
    return ax


def plot_reliability(
    curves: ReliabilityCurve | Mapping[str, ReliabilityCurve], *, ax: Axes | None = None
) -> Axes:
    """Observed frequency against mean forecast, with intervals; the diagonal is perfect
    calibration.
    """
    ax = new_axes(ax, (4.0, 3.8))
    named = curves if isinstance(curves, Mapping) else {"": curves}
    ax.plot([0, 1], [0, 1], **REFERENCE)
    for i, (name, curve) in enumerate(named.items()):
        bars = np.stack([curve.frequency - curve.low, curve.high - curve.frequency])
        label = f"{name} (error {curve.error:.3f})".strip()
        style = line_style(i) | {"marker": "o", "markersize": 4, "capsize": 2}
        ax.errorbar(curve.forecast, curve.frequency, np.abs(bars), label=label, **style)
    ax.set(xlabel="forecast probability", ylabel="observed frequency", aspect="equal")
    ax.axis((0, 1, 0, 1))
    add_legend(ax)
    return ax
