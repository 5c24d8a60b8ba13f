"""Label-wise uncertainty of single instances as bars, optionally beside their images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._arrays import Array, channels_first, to_numpy
from ..decomposition import Uncertainty
from ._style import TRUTH, name_bars, new_axes, pyplot, stack_bars, tick_text, tidy_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_labels(
    u: Uncertainty,
    i: int | None = None,
    *,
    y_true: int | None = None,
    y_pred: int | None = None,
    max_labels: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Bars of one instance: epistemic uncertainty at the bottom, aleatoric on top; true label in
    green, prediction underlined.

    Parameters
    ----------
    u : Uncertainty
        One instance, (K,), or several, (N, K), with ``i`` to choose one.
    y_true, y_pred : int, optional
        Positions of the true and predicted labels.
    max_labels : int
        Maximum number of labels: the most uncertain ones, plus the true and predicted labels.
    """
    epistemic, aleatoric = _bars_of_instance(u.epistemic, i), _bars_of_instance(u.aleatoric, i)
    ax = new_axes(ax, (max(3.0, 0.42 * min(len(u.class_names), max_labels) + 1), 2.8))
    shown = np.arange(len(epistemic))
    if len(shown) > max_labels:
        highest = np.argsort(-(epistemic + aleatoric), kind="stable")[:max_labels]
        always = [k for k in (y_true, y_pred) if k is not None]
        shown = np.unique([*highest, *always])
    stack_bars(ax, epistemic[shown], aleatoric[shown])
    names = {k: tick_text(u.class_names[k], 18) for k in shown.tolist()}
    longest = max(map(len, names.values()))
    if y_pred in names:
        names[y_pred] = "".join(f"{letter}\u0332" for letter in names[y_pred])
    name_bars(ax, [*names.values()], upright=longest <= 2 or len(names) * longest <= 30)
    for k, tick in zip(shown, ax.get_xticklabels(), strict=True):
        if k == y_true:
            tick.set_color(TRUTH)
            tick.set_fontweight("bold")
    unit = ""
    if getattr(u.loss, "base", None) == 2 and np.ndim(u.unit) == 0:
        unit = " (bits)"
    top = np.max((epistemic + aleatoric)[shown], initial=0.0)
    ax.set(ylabel=f"uncertainty{unit}", ylim=(0, 1.05 * top or 1))
    return ax


def plot_gallery(
    images: Array,
    u: Uncertainty,
    indices: Sequence[int],
    *,
    y_true: Array | None = None,
    y_pred: Array | None = None,
    titles: Sequence[str] | None = None,
) -> Figure:
    """Images with their label-wise bars beside them, two pairs in a row.

    ``images`` are (N, H, W), (N, H, W, C) or (N, C, H, W), ``u`` is (N, K); ``y_true`` and
    ``y_pred`` hold positions of labels for all N.
    """
    plt = pyplot()
    chosen = [int(i) for i in indices]
    if not chosen:
        raise ValueError("`indices` must name at least one instance to show")
    rows = -(-len(chosen) // 2)
    figure, axes = plt.subplots(
        rows,
        4,
        figsize=(9.2, 2.1 * rows),
        layout="constrained",
        squeeze=False,
        width_ratios=[1, 2, 1, 2],
    )
    for ax in axes.flat:
        ax.set_axis_off()
    pictures = to_numpy(images)
    if channels_first(pictures.shape):
        pictures = np.moveaxis(pictures, 1, -1)
    if titles is None:
        titles = [f"#{i}" for i in chosen]
    named = list(zip(chosen, titles, strict=True))
    for (left, right), (i, title) in zip(axes.reshape(-1, 2), named, strict=False):
        left.imshow(pictures[i], cmap="gray", interpolation="nearest")  # colors stay as they are
        left.set_title(title, fontsize=9)
        right.set_axis_on()
        tidy_axes(right)
        truth, guess = (None if x is None else int(to_numpy(x)[i]) for x in (y_true, y_pred))
        plot_labels(u, i, y_true=truth, y_pred=guess, max_labels=12, ax=right)
        right.set_ylabel("")
        right.tick_params(labelsize=8)
    handles, words = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _bars_of_instance(part: Array, i: int | None) -> np.ndarray:
    values = to_numpy(part).astype(float)
    if values.ndim == 1 and i is None:
        return values
    if values.ndim != 2 or i is None:
        raise ValueError(
            "`u` must hold one instance, (K,), or several, (N, K), with `i` to choose one; got "
            f"shape {values.shape}, i = {i!r}"
        )
    if not -len(values) <= i < len(values):
        raise ValueError(f"`i` must be one of the {len(values)} instances; got {i}")
    return values[i]
