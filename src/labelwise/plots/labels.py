"""Label-wise uncertainty of single instances as bars, optionally beside their images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, channels_first, to_numpy
from .._tables import shortened
from ..decomposition import Uncertainty
from ._style import BARS, TRUTH, new_axes, pyplot, tidy

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
    epistemic, aleatoric = (_row(part, i) for part in (u.epistemic, u.aleatoric))
    ax = new_axes(ax, (max(3.0, 0.42 * min(len(u.class_names), max_labels) + 1), 2.8))
    shown = _shown(
        epistemic + aleatoric, max_labels, [k for k in (y_true, y_pred) if k is not None]
    )
    place = np.arange(len(shown))
    ax.bar(place, epistemic[shown], 0.8, label="epistemic", **BARS["epistemic"])
    ax.bar(place, aleatoric[shown], 0.8, epistemic[shown], label="aleatoric", **BARS["aleatoric"])
    words = [shortened(u.class_names[k].replace("$", r"\$"), 18) for k in shown]
    names = [
        "".join(f"{letter}\u0332" for letter in word) if k == y_pred else word
        for k, word in zip(shown, words, strict=True)
    ]
    upright = max(map(len, words)) <= 2 or len(words) * max(map(len, words)) <= 30
    turned: dict[str, Any] = (
        {} if upright else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    )
    ax.set_xticks(place, names, **turned)
    for k, tick in zip(shown, ax.get_xticklabels(), strict=True):
        if k == y_true:
            tick.set_color(TRUTH)
            tick.set_fontweight("bold")
    ax.set_ylabel("uncertainty" + _unit(u))
    top = float(np.max((epistemic + aleatoric)[shown], initial=0.0))
    ax.set_ylim(0, top * 1.05 if top > 0 else 1)
    return ax


def plot_gallery(
    images: Array,
    u: Uncertainty,
    indices: Sequence[int],
    *,
    y_true: Array | None = None,
    y_pred: Array | None = None,
    columns: int = 2,
    titles: Sequence[str] | None = None,
) -> Figure:
    """Images with their label-wise bars beside them, ``columns`` pairs in a row.

    ``images`` are (N, H, W), (N, H, W, C) or (N, C, H, W), ``u`` is (N, K); ``y_true`` and
    ``y_pred`` hold positions of labels for all N.
    """
    plt = pyplot()
    chosen = [int(i) for i in indices]
    if not chosen:
        raise ValueError("`indices` must name at least one instance to show")
    rows = -(-len(chosen) // columns)
    figure: Figure
    figure, axes = plt.subplots(
        rows,
        2 * columns,
        figsize=(4.6 * columns, 2.1 * rows),
        layout="constrained",
        squeeze=False,
        width_ratios=[1, 2] * columns,
    )
    for ax in axes.flat:
        ax.set_axis_off()
    pictures = to_numpy(images)
    pictures = np.moveaxis(pictures, 1, -1) if channels_first(pictures.shape) else pictures
    pictures = pictures[..., 0] if pictures.ndim == 4 and pictures.shape[-1] == 1 else pictures
    for place, i in enumerate(chosen):
        left, right = axes[place // columns, 2 * (place % columns) : 2 * (place % columns) + 2]
        left.imshow(
            pictures[i], cmap="gray" if pictures[i].ndim == 2 else None, interpolation="nearest"
        )
        left.set_title(titles[place] if titles else f"#{i}", fontsize=9)
        right.set_axis_on()
        tidy(right)
        truth, guess = (None if x is None else int(to_numpy(x)[i]) for x in (y_true, y_pred))
        plot_labels(u, i, y_true=truth, y_pred=guess, max_labels=12, ax=right)
        right.set_ylabel("")
        right.tick_params(labelsize=8)
    handles, words = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _row(part: Array, i: int | None) -> np.ndarray:
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
    return np.asarray(values[i])


def _shown(total: np.ndarray, max_labels: int, always: list[int]) -> np.ndarray:
    if len(total) <= max_labels:
        return np.arange(len(total))
    return np.unique(
        np.concatenate(
            [np.argsort(-total, kind="stable")[:max_labels], np.array(always, dtype=int)]
        )
    )


def _unit(u: Uncertainty) -> str:
    base: Any = getattr(u.loss, "base", None)
    return " (bits)" if base == 2 and np.ndim(u.unit) == 0 else ""
