"""Uncertainty by class: means and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..decomposition import Uncertainty
from ..evaluation import ByClass, by_class
from ._style import BARS, line, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_by_class(by: ByClass | Uncertainty, *, ax: Axes | None = None) -> Axes:
    """Mean label-wise uncertainty of each class by the ranking rule, the class with the highest
    first, with intervals of EU if available.

    An `Uncertainty` is summarized with `by_class` first, over all instances.
    """
    by = _by_class(by)
    ax = new_axes(ax, (max(3.5, 0.5 * len(by.class_names) + 1.2), 3.2))
    means = by.everywhere if by.rule == "ratio" else by.own if by.rule == "own" else by.likely
    if means is None:
        raise ValueError("`by` has no class means to draw")
    order = [by.class_names.index(name) for name in by.ranking]
    epistemic, aleatoric = (
        np.nan_to_num(np.asarray(x.value)[order]) for x in (means.epistemic, means.aleatoric)
    )
    place = np.arange(len(order))
    ax.bar(place, epistemic, 0.8, label="epistemic", **BARS["epistemic"])
    ax.bar(place, aleatoric, 0.8, epistemic, label="aleatoric", **BARS["aleatoric"])
    low, high = means.epistemic.low, means.epistemic.high
    if (
        low is not None
        and high is not None
        and np.all(np.isfinite(low))
        and np.all(np.isfinite(high))
    ):
        bars = np.clip(
            [epistemic - np.asarray(low)[order], np.asarray(high)[order] - epistemic], 0, None
        )
        ax.errorbar(place, epistemic, bars, fmt="none", ecolor="black", capsize=2, linewidth=1)
    ax.set_xticks(
        place,
        [by.class_names[k].replace("$", r"\$")[:18] for k in order],
        rotation=45,
        ha="right",
        rotation_mode="anchor",
    )
    where = {
        "own": "over its own instances",
        "likely": "where it is likely",
        "ratio": "over all instances",
    }[by.rule]
    ax.set_ylabel(f"mean uncertainty\n{where}")
    ax.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return ax


def plot_ecdf(
    by: ByClass | Uncertainty,
    measure: str = "epistemic",
    *,
    class_names: Sequence[str] | None = None,
    own: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Empirical distribution function of each class's uncertainty."""
    by = _by_class(by)
    ax = new_axes(ax)
    for i, name in enumerate(by.class_names if class_names is None else class_names):
        values, shares = by.ecdf(name, measure, own=own)
        ax.step(
            np.r_[values[:1], values],
            np.r_[0, shares],
            where="post",
            label=name.replace("$", r"\$"),
            **line(i),
        )
    ax.set_xlabel(f"{measure} uncertainty")
    ax.set_ylabel("share of instances")
    ax.set_ylim(0, 1.01)
    ax.legend(frameon=False, fontsize=8)
    return ax


def _by_class(by: ByClass | Uncertainty) -> ByClass:
    if isinstance(by, Uncertainty):
        return by_class(by)
    if not isinstance(by, ByClass):
        raise TypeError(
            f"`by` must be lw.evaluation.by_class(u, y_true), or u itself; got {type(by).__name__}"
        )
    return by
