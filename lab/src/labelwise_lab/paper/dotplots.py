"""Dot-plots of the results page: the paper's numbers and ours, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .intervals import simultaneous
from .provenance import TITLES, Results, in_words
from .published_tables import TABLE_1
from .results_folder import save_figure
from .scores import MEASURES

__all__ = ["draw"]


def draw(folder: Results, pictures: Path) -> list[Path]:
    """Write the pictures whose results are there; returns their paths."""
    made = []
    for name, maker in (("results-table1.png", _table_1), ("results-arc.png", _areas)):
        figure = maker(folder)
        if figure is not None:
            pictures.mkdir(parents=True, exist_ok=True)
            save_figure(figure, pictures / name)
            made.append(pictures / name)
    return made


def _table_1(folder: Results) -> Any:
    """A panel for each pair of sets: mean ± deviation of each measure, and our single runs as
    dots.
    """
    from ..plotting import line, pyplot, tidy

    panels = [
        (data, other)
        for data, pairs in TABLE_1.items()
        for other in pairs
        if list(_ours(folder, data, other))
    ]
    if not panels:
        return None
    figure, axes = pyplot().subplots(
        1, len(panels), figsize=(3.5 * len(panels), 3.3), layout="constrained", squeeze=False
    )
    for ax, (data, other) in zip(axes[0], panels, strict=True):
        tidy(ax)
        series = [
            (
                "paper",
                {
                    m: {"mean": x[0], "sd": x[1], "runs": []}
                    for m, x in TABLE_1[data][other].items()
                },
            ),
            *_ours(folder, data, other),
        ]
        for i, (label, cells) in enumerate(series):
            for j, measure in enumerate(MEASURES):
                cell, height = cells[measure], j + 0.24 * (i - (len(series) - 1) / 2)
                style = {
                    "color": "#444444" if i == 0 else line(i - 1)["color"],
                    "marker": "D" if i == 0 else "o",
                    "markersize": 5,
                    "capsize": 3,
                }
                ax.errorbar(
                    cell["mean"],
                    height,
                    xerr=cell["sd"],
                    label=label if j == 0 else None,
                    linestyle="none",
                    **style,
                )
                ax.plot(
                    cell["runs"],
                    [height + 0.08] * len(cell["runs"]),
                    ".",
                    color=style["color"],
                    markersize=3,
                    alpha=0.6,
                )
        ax.set_yticks(range(len(MEASURES)), MEASURES if ax is axes[0, 0] else [""] * len(MEASURES))
        ax.invert_yaxis()
        ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        ax.grid(visible=False, axis="y")
        ax.set_title(f"{TITLES[data]} → {TITLES[other]}", fontsize=10)
        ax.set_xlabel("AUROC (EU), mean ± sd, runs", fontsize=9)
        ax.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return figure


def _ours(folder: Results, data: str, other: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, stored in folder.find("ood", data):
        cells = {m: stored["numbers"]["auroc"].get(f"{other} | {m} | epistemic") for m in MEASURES}
        if all(cells.values()):
            yield in_words(name, stored, with_data=False), cells


def _areas(folder: Results) -> Any:
    """Differences of the area between the measures, with simultaneous intervals; settings with
    several runs only.
    """
    from ..plotting import line, pyplot, tidy

    found = [(name, stored) for name, stored in folder.find("arc") if stored["about"]["runs"] > 1]
    if not found:
        return None
    figure, axes = pyplot().subplots(
        1, len(found), figsize=(6.4 * len(found), 3.2), layout="constrained", squeeze=False
    )
    for ax, (name, stored) in zip(axes[0], found, strict=True):
        tidy(ax)
        cells = stored["numbers"]["area difference"]
        pairs = list(dict.fromkeys(key.split(" | ")[0] for key in cells))
        for i, part in enumerate(("total", "aleatoric", "epistemic")):
            for j, pair in enumerate(pairs):
                at = simultaneous(cells[f"{pair} | {part}"], len(cells))
                style = {
                    "color": line(i, part)["color"],
                    "marker": "os^"[i],
                    "markersize": 5,
                    "capsize": 3,
                }
                reach = [[1000 * (at["mean"] - at["low"])], [1000 * (at["high"] - at["mean"])]]
                ax.errorbar(
                    1000 * at["mean"],
                    j + 0.2 * (i - 1),
                    xerr=reach,
                    linestyle="none",
                    label=part if j == 0 else None,
                    **style,
                )
        ax.axvline(0, color="#444444", linewidth=0.8)
        ax.set_yticks(range(len(pairs)), pairs)
        ax.invert_yaxis()
        ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        ax.grid(visible=False, axis="y")
        ax.set_title(in_words(name, stored), fontsize=10)
        ax.set_xlabel("difference of the area × 1000, simultaneous 95 % intervals", fontsize=9)
        ax.legend(frameon=False, fontsize=8)
    return figure
